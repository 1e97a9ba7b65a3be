"""Objects that are still listed, but whose blocks are lost: no command takes
them for gone."""

import itertools
import json
import time
import unittest

from ctl_case import (CLUSTER_ERROR, DEADLINE_S, DONE, NOT_FOUND, CtlCase,
                      ask, block_keys, random_bytes)

VALUE = random_bytes(400_000, seed=1)


class LostCase(CtlCase):
    up = ("-n", "6", "--no-evict")

    def fails(self, *words):
        """The report of a command for which one object is lost."""
        result = self.run_ctl(*words, "--json")
        self.assertEqual(result.returncode, CLUSTER_ERROR, result.stdout)
        self.assertIn("key", json.loads(result.stderr)["error"]["message"])
        return json.loads(result.stdout)


class TwoServersLostTest(LostCase):

    def setUp(self):
        super().setUp()
        self.put("lost", VALUE, "--scheme", "rs:4,1")
        self.put("whole", b"in its manifest", "--scheme", "rs:4,1")
        self.ctl("backup", "good")
        pair = self.pair()
        for number in pair:
            self.tool("kill", str(number))
        for number in pair:
            self.tool("start", str(number))
        self.await_going_on()

    def await_going_on(self):
        """As more servers than f have lost their memory, the others wait for 3
        s before they go on without that."""
        end = time.monotonic() + DEADLINE_S
        while (result := self.run_ctl("ls")).returncode != DONE:
            self.assertLess(time.monotonic(), end, result.stderr)
            # No event here shows that the time is over: try again.
            time.sleep(0.5)

    def pair(self):
        """Two servers with blocks of one object, which have not all its
        manifests, and none of the other one: an export needs the first."""
        lost, whole = (self.ctl_json("stat", key) for key in ("lost", "whole"))
        held = {block["server"] for block in lost["blocks"]}
        members = self.servers.split(",")
        return next(
            [members.index(server) + 1 for server in pair]
            for pair in itertools.combinations(
                sorted(held - set(whole["replicas"])), 2)
            if set(lost["replicas"]) - set(pair))

    def test_it_is_named_as_a_failure_and_restored(self):
        report = self.fails("backup", "rest")
        self.assertEqual((report["objects"], report["gone"],
                          report["failed"]), (1, 0, 1))
        for words in (("backup", "rest"), ("export", "--all", "--dry-run"),
                      ("transition", "--all", "--to", "rs:3,1"),
                      ("export", "lost", "whole", "--dry-run")):
            with self.subTest(words):
                report = self.fails(*words)
                self.assertEqual((report["gone"], report["failed"]), (0, 1))
                self.assertEqual([error["key"] for error in report["errors"]],
                                 ["lost"])
        # What is not there at all is gone, as before.
        result = self.run_ctl("export", "none", "--json")
        self.assertEqual(result.returncode, NOT_FOUND)
        self.assertEqual(json.loads(result.stdout)["gone"], 1)

        report = self.ctl_json("restore", "--keep", "good")
        self.assertEqual((report["restored"], report["kept"]), (1, 1))
        self.check("lost", VALUE)
        self.assertEqual(self.ctl_json("backup", "rest")["objects"], 2)


class LastGroupLostTest(LostCase):

    def test_a_part_of_an_object_is_told_from_a_whole_one(self):
        before = {s: set(block_keys(s)) for s in self.servers.split(",")}
        self.put("part", random_bytes(20 << 20, seed=2), "--scheme", "rs:4,1")
        blocks = [(int(key.rpartition(b".")[2], 16), server, key)
                  for server, known in before.items()
                  for key in set(block_keys(server)) - known]
        # The last ones are of the last group.
        for _number, server, key in sorted(blocks)[-2:]:
            ask(server, b"delete " + key + b"\r\n")
        self.put("short", b"x")
        report = self.fails("backup", "some")
        self.assertEqual((report["objects"], report["failed"]), (1, 1))
        for words, text in (
                (("restore", "--check", "some"), "1 object (1 bytes)"),
                (("restore", "some"), "restored 1 of 1 object")):
            said = self.ctl(*words).decode()
            self.assertIn(text, said)
            self.assertIn("1 more object is in the backup in part only", said)
        self.assertEqual(self.run_ctl("restore", "--keep", "some").returncode,
                         DONE)


if __name__ == "__main__":
    unittest.main()
