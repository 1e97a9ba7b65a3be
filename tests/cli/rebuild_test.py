"""ersctl rebuild: servers that lost their memory are backfilled without a daemon,
also when it is cut off and started again."""

import json
import subprocess
import time
import unittest

from ctl_case import (BAD_USAGE, CLUSTER_ERROR, DEADLINE_S, ERSCTL, CtlCase,
                      block_keys, random_bytes)

OBJECTS_LOST = 6
COUNT = 12


class RebuildCase(CtlCase):
    up = ("-n", "7")
    scheme = ("--scheme", "ers2:4,2,5")

    def setUp(self):
        super().setUp()
        self.members = self.servers.split(",")
        self.values = {f"v{i}": random_bytes(400_000, seed=i)
                       for i in range(COUNT)}
        self.values["inline"] = b"short"
        for key, value in self.values.items():
            self.put(key, value, *self.scheme)

    def lose(self, *numbers):
        for number in numbers:
            self.tool("kill", str(number))
        for number in numbers:
            self.tool("start", str(number))

    def rebuild(self, *words):
        return self.ctl_json("rebuild", *words)

    def states(self):
        return {s["name"]: s["state"]
                for s in self.ctl_json("servers")["servers"]}

    def whole(self):
        self.assertEqual(self.ctl_json("verify")["damaged"], 0)
        for key, value in self.values.items():
            self.check(key, value)


class WithoutDaemonTest(RebuildCase):

    def test_two_that_came_back_are_filled_and_two_more_may_die(self):
        self.assertEqual(self.rebuild()["backfilled"], [])
        self.lose(2, 5)
        lost = [self.members[1], self.members[4]]
        report = self.rebuild("--slice", "1000")
        self.assertEqual(sorted(report["backfilled"]), sorted(lost))
        self.assertEqual((report["out"], report["lost"]), ([], 0))
        stored = sum(len(block_keys(server)) for server in lost)
        self.assertEqual(report["blocks"], stored)
        self.assertGreater(report["bytes_written"], 0)
        self.assertEqual(set(self.states().values()), {"in_sync"})
        self.whole()
        self.assertIn(b"all servers are in sync", self.ctl("rebuild"))
        for number in (1, 7):
            self.tool("kill", str(number))
        for key, value in self.values.items():
            self.check(key, value)


class SilentTest(RebuildCase):

    def test_a_silent_server_is_named_and_the_other_is_filled(self):
        self.tool("kill", "3")
        # Before any process has missed it.
        result = self.run_ctl("rebuild", "--json")
        self.assertEqual(result.returncode, CLUSTER_ERROR, result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["out"]), 1)
        self.assertIn(b"does not answer", result.stderr)
        self.assertIn(b"start what does not answer", result.stderr)
        self.put("more", random_bytes(400_000, seed=99), *self.scheme)
        message = self.refused(CLUSTER_ERROR, self.members[2], "rebuild")
        self.assertIn("start it, with or without its memory", message)
        self.lose(4)
        result = self.run_ctl("rebuild", "--json")
        self.assertEqual(result.returncode, CLUSTER_ERROR, result.stderr)
        self.assertEqual(json.loads(result.stdout)["backfilled"],
                         [self.members[3]])
        self.assertIn(self.members[2].encode(), result.stderr)
        self.tool("start", "3")
        self.assertEqual(self.rebuild()["backfilled"], [self.members[2]])
        self.whole()


class CutOffTest(RebuildCase):

    def blocks(self):
        return len(block_keys(self.members[0]))

    def test_what_was_done_before_a_kill_stays_and_the_next_goes_on(self):
        before = self.blocks()
        self.lose(1)
        slow = subprocess.Popen(
            [ERSCTL, "rebuild", "--rate", "200000", "--parallel", "1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env=self.environment(), cwd=self.work)
        deadline = time.monotonic() + DEADLINE_S
        while self.blocks() < 2:
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(slow.poll())
        slow.kill()
        slow.wait()
        done = self.blocks()
        self.assertLess(done, before)
        self.assertEqual(self.states()[self.members[0]], "backfilling")
        report = self.rebuild()
        self.assertEqual(report["backfilled"], [self.members[0]])
        self.assertEqual(report["blocks"], before - done)
        self.whole()


class LostTest(RebuildCase):

    def test_what_too_many_lost_servers_held_is_counted(self):
        self.put("weak", random_bytes(400_000, seed=7), "--scheme",
                 "ers2:4,1,5")
        held = [b["server"] for b in self.ctl_json("stat", "weak")["blocks"]]
        self.lose(*sorted(self.members.index(s) + 1 for s in held[:2]))
        result = self.run_ctl("rebuild", "--json")
        self.assertEqual(result.returncode, OBJECTS_LOST, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["lost"], 1)
        self.assertEqual(sorted(report["backfilled"]), sorted(held[:2]))


class UsageTest(RebuildCase):

    def test_bad_options_are_refused(self):
        self.refused(BAD_USAGE, "number of bytes", "rebuild", "--rate", "-1")
        for number in ("-3", "1.5", "99999999999999999999999"):
            self.refused(BAD_USAGE, "whole number", "gc",
                         "--objects-per-second", number)
        self.refused(BAD_USAGE, "--slice", "rebuild", "--slice", "10")
        self.refused(BAD_USAGE, "--parallel", "rebuild", "--parallel", "0")


if __name__ == "__main__":
    unittest.main()
