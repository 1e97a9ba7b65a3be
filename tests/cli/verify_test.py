"""ersctl verify: what it finds on real servers, what it leaves alone, what it
repairs, and its exit codes."""

import json
import unittest

from ctl_case import (BAD_USAGE, DONE, CtlCase, ask, block_keys, random_bytes)

NOT_WHOLE, OBJECTS_LOST = 5, 6


def counters(server):
    """Of everything that would change an item."""
    lines = ask(server, b"stats\r\n").decode().splitlines()
    facts = dict(line.split()[1:3] for line in lines
                 if line.startswith("STAT "))
    return {name: facts[name] for name in
            ("cmd_set", "cmd_touch", "cmd_meta", "delete_hits", "cas_hits",
             "total_items", "curr_items") if name != "cmd_meta"}


class VerifyCase(CtlCase):
    up = ("-n", "7")

    def setUp(self):
        super().setUp()
        self.members = self.servers.split(",")
        self.values = {"inline": b"short", "empty": b"",
                       "narrow": random_bytes(300_000, seed=1),
                       "wide": random_bytes(300_000, seed=2),
                       "long": random_bytes(9 << 20, seed=3)}
        for key, value in self.values.items():
            words = ["--width", "wide"] if key == "wide" else []
            self.put(key, value, *words)

    def verify(self, code, *words):
        result = self.run_ctl("verify", "--json", *words)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def first_present(self, key, kind):
        return next(b for b in self.ctl_json("stat", key)["blocks"]
                    if b["kind"] == kind and b["present"])

    def block_key(self, block):
        """The item of a block, which its number names."""
        ending = f".{block['block']:x}".encode()
        before = set(block_keys(block["server"]))
        return [key for key in before if key.endswith(ending)]

    def delete(self, server, key):
        self.assertEqual(ask(server, b"delete " + key + b"\r\n"),
                         b"DELETED\r\n")

    def drop(self, key, count):
        """`count` data blocks of an object of one stripe group."""
        before = {s: set(block_keys(s)) for s in self.members}
        self.ctl("rm", key)
        self.put(key, self.values[key])
        new = [(s, k) for s in self.members
               for k in set(block_keys(s)) - before[s]]
        for server, item in sorted(new)[:count]:
            self.delete(server, item)
        return len(new)


class WholeTest(VerifyCase):

    def test_all_is_whole_and_nothing_is_written(self):
        plain = self.members[0]
        ask(plain, b"set plain 0 0 5\r\nhello\r\n")
        before = [counters(s) for s in self.members]
        report = self.verify(DONE)
        self.assertEqual([counters(s) for s in self.members], before)
        self.assertEqual(report["objects"], len(self.values))
        self.assertEqual(report["damaged"], 0)
        self.assertEqual(set(report["faults"].values()), {0})
        self.assertEqual(report["blocks"], sum(
            len(self.ctl_json("stat", key)["blocks"]) for key in self.values))
        self.assertGreater(report["bytes"], 9 << 20)
        self.assertEqual(self.verify(DONE, "na.*")["objects"], 1)
        self.assertIn(b"checked 1 object, ", self.ctl("verify", "na.*"))
        self.assertEqual(self.verify(DONE, "no such")["objects"], 0)
        self.assertIn(b"all whole", self.ctl("verify"))
        self.refused(BAD_USAGE, "PATTERN", "verify", "(")
        self.refused(BAD_USAGE, "number of bytes", "verify", "--rate", "1.5")


class DamageTest(VerifyCase):

    def test_what_is_lost_is_found_left_alone_and_repaired(self):
        self.drop("narrow", 1)
        replica = self.ctl_json("stat", "inline")["replicas"][0]
        self.delete(replica, b"inline")
        before = [counters(s) for s in self.members]
        report = self.verify(NOT_WHOLE)
        self.assertEqual([counters(s) for s in self.members], before)
        self.assertEqual((report["damaged"], report["unreadable"]), (2, 0))
        self.assertEqual(report["faults"]["missing"], 1)
        self.assertEqual(report["faults"]["replicas-differ"], 1)
        self.assertEqual({f["key"]: f["fault"] for f in report["findings"]},
                         {"narrow": "missing", "inline": "replicas-differ"})
        text = self.run_ctl("verify").stdout.decode()
        self.assertIn("narrow: group 0 block", text)

        report = self.verify(DONE, "--repair")
        self.assertEqual((report["repaired"], report["repaired_blocks"]),
                         (2, 1))
        self.verify(DONE)
        for key, value in self.values.items():
            self.check(key, value)


class LostTest(VerifyCase):

    def test_what_cannot_be_read_has_a_code_of_its_own(self):
        self.drop("narrow", 99)
        report = self.verify(OBJECTS_LOST)
        self.assertEqual(report["unreadable"], 1)
        self.assertIn("narrow", {f["key"] for f in report["findings"]
                                 if f["fault"] == "unreadable"})
        self.verify(OBJECTS_LOST, "--repair")
        self.verify(DONE, "wide|long|inline|empty")


class ServerOutTest(VerifyCase):

    def test_a_server_that_is_out_is_reported_and_stays_in_the_view(self):
        views = ask(self.members[0], b"get ers!view\r\n")
        self.tool("kill", "3")
        report = self.verify(NOT_WHOLE)
        self.assertGreater(report["faults"]["out-of-reach"], 0)
        self.assertEqual(sum(report["faults"].values()),
                         report["faults"]["out-of-reach"])
        self.assertEqual(ask(self.members[0], b"get ers!view\r\n"), views)


if __name__ == "__main__":
    unittest.main()
