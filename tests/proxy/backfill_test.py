"""Several servers that come back together: filled in one walk, within a rate,
with a report how far it is."""

import json
import re
import signal
import subprocess
import unittest
import urllib.request

from proxy_case import DEADLINE_S, MIB, USUAL, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, DONE, ERSCTL

COUNT = 24


class BackfillCase(ProxyCase):
    up = ("-n", "9")
    options = ("--scheme", "ers2:4,3,5")

    def setUp(self):
        super().setUp()
        self.members = self.servers.split(",")
        self.values = {f"v{i}": random_bytes(MIB, seed=i)
                       for i in range(COUNT)}
        self.values["short"] = b"short"
        # Walked last.
        self.values["zlong"] = random_bytes(9 * MIB, seed=99)
        for key, value in self.values.items():
            self.assertEqual(self.link().set(key, value), b"STORED")

    def all_right(self):
        for key, value in self.values.items():
            self.same(self.link().get(key), value, key)

    def whole(self):
        report = json.loads(self.ctl("verify", "--json"))
        self.assertEqual(report["objects"], len(self.values))
        self.assertEqual(report["damaged"], 0, report)

    def start_next(self, text=""):
        """A daemon that meets all lost servers at once, empty."""
        self.config = self.file("ersproxy.yaml",
                                (USUAL + text).encode())
        self.started = getattr(self, "started", 0) + 1
        self.next_one = self.start_proxy(
            f"next{self.started}", *self.options, "--config", self.config,
            "--admin", "127.0.0.1:0")
        self.address, self.admin = self.next_one.addresses

    def lose(self, *numbers):
        self.proxy.terminate()
        self.proxy.wait()
        for number in numbers:
            self.tool("kill", str(number))
        for number in numbers:
            self.tool("start", str(number))

    def filled(self, *numbers):
        return all(f"{self.members[number - 1]} is backfilled"
                   in self.next_one.said() for number in numbers)

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.admin}{path}",
                                    timeout=DEADLINE_S) as answer:
            return answer.read().decode()

    def backfill(self):
        return json.loads(self.get("/status"))["backfill"]

    def metric(self, name):
        found = re.search(rf"^{name} (\d+)", self.get("/metrics"), re.M)
        return int(found.group(1))


class SeveralTest(BackfillCase):

    def test_each_object_is_decoded_once_for_all_of_them(self):
        coded = sum(len(value) for value in self.values.values())
        # Where the machine stands still one may be met later than the others.
        for _ in range(5):
            self.lose(1, 5, 9)
            self.start_next()
            self.until(lambda: self.filled(1, 5, 9), "they are backfilled")
            self.whole()
            self.proxy = self.next_one
            read = self.metric("ersproxy_backfill_read_bytes_total")
            if read < 1.1 * coded:
                break
        self.assertLess(read, 1.1 * coded)
        self.assertGreater(self.metric("ersproxy_backfill_blocks_total"), COUNT)
        backfill = self.backfill()
        self.assertEqual((backfill["servers"], backfill["lost"]), ([], 0))
        self.assertEqual(backfill["bytes_read"], read)
        for number in (2, 3, 4):
            self.tool("kill", str(number))
        self.all_right()


class RateTest(BackfillCase):

    def test_it_reports_how_far_it_is_and_goes_as_fast_as_it_may(self):
        self.lose(2, 7)
        self.start_next("backfill:\n  bytes_per_second: 200000\n"
                        "  parallel: 1\n")
        self.until(lambda: self.backfill()["bytes_read"] > 0, "it moves bytes")
        both = {self.members[1], self.members[6]}
        self.until(lambda: set(self.backfill()["servers"]) == both,
                   "both are backfilled")
        backfill = self.backfill()
        self.assertEqual(backfill["bytes_per_second"], 200000)
        # A second one, where they were not met together.
        self.assertIn(backfill["walk"], (1, 2))
        self.assertLess(backfill["objects"], backfill["objects_total"])
        self.assertLessEqual(backfill["objects_total"], len(self.values))
        self.assertGreater(backfill["seconds_left"], 0)
        # An object takes seconds: what is left is known by now, not by its end.
        shown = [backfill]

        def longer_though_nothing_ended():
            shown.append(self.backfill())
            before, now = shown[-2:]
            return now["objects"] == before["objects"] and \
                now["seconds_left"] > before["seconds_left"]
        self.until(longer_though_nothing_ended, "the time left is another one")
        self.assertEqual(self.metric("ersproxy_backfill_servers"), 2)
        self.assertEqual(
            self.metric("ersproxy_backfill_limit_bytes_per_second"), 200000)
        self.assertFalse(self.filled(2) or self.filled(7))
        # At this rate it would take more than the test may.
        with open(self.config, "w", encoding="ascii") as file:
            file.write(USUAL + "backfill:\n  parallel: 4\n")
        self.next_one.process.send_signal(signal.SIGHUP)
        self.until(lambda: self.filled(2, 7), "they are backfilled")
        self.assertEqual(self.backfill()["bytes_per_second"], 0)
        self.whole()


class EndTest(BackfillCase):

    def test_it_ends_at_once_however_slow_it_is(self):
        self.lose(2)
        # A quarter of an hour for each object.
        self.start_next("backfill:\n  bytes_per_second: 1000\n")
        self.until(lambda: self.backfill()["bytes_read"] > 0, "it moves bytes")
        self.next_one.terminate()
        self.assertEqual(self.next_one.wait(), 0)


class BesideTest(BackfillCase):

    def test_one_fills_beside_the_daemon_and_another_watches_it(self):
        self.lose(3)
        self.start_next("backfill:\n  bytes_per_second: 200000\n")
        self.until(lambda: self.backfill()["servers"], "it backfills")
        watch = subprocess.Popen(
            [ERSCTL, "--proxy", self.admin, "rebuild", "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env=self.environment(), cwd=self.work)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.kill)
        # Each of these takes as long as a first scan of the watcher.
        for _ in range(4):
            self.assertIn("backfilling", self.ctl("servers").decode())
        self.assertIsNone(watch.poll())
        report = self.ctl_json("rebuild")
        self.assertEqual(report["backfilled"], [self.members[2]])
        shown = watch.communicate(timeout=DEADLINE_S)[0]
        self.assertEqual(watch.returncode, DONE)
        self.assertEqual(json.loads(shown)["lost"], 0)
        # It gave no server up meanwhile, nor backfilled any anew.
        self.whole()
        self.assertEqual(self.metric("ersproxy_backfill_objects_total"
                                     r'\{backfill_outcome="lost"\}'), 0)
        self.refused(BAD_USAGE, "backfill", "--proxy", self.admin, "rebuild",
                     "--rate", "5")
        self.all_right()


if __name__ == "__main__":
    unittest.main()
