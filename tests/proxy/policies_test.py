"""Policies: cold objects are made wide and hot ones narrow, by themselves."""

import os
import signal
import threading
import time
import unittest
from urllib.parse import quote

from jobs_case import Api, JobsCase
from proxy_case import Link, USUAL, Proxy, random_bytes

VALUE = 20_000  # in blocks


class PoliciesTest(JobsCase):

    def configured(self, name, policies, *options):
        """(daemon, Api, file of its settings); writes `policies` there."""
        file = self.path(f"{name}.yaml")
        self.write(file, policies)
        proxy = Proxy(self.path(name), self.servers, "--admin", ":0",
                      "--config", file, *options)
        self.addCleanup(proxy.kill)
        return proxy, Api(proxy.addresses[-1]), file

    def write(self, file, policies):
        with open(file, "w", encoding="utf-8") as out:
            out.write(f"{USUAL}policies: {policies}\n")

    def objects(self, api, policy, outcome):
        return api.metrics()[
            "ersproxy_policy_objects_total"
            f'{{policy="{policy}",policy_outcome="{outcome}"}}']

    def is_wide(self, key):
        return self.widths(key).get(key) == "wide"

    def make_wide(self, link, key):
        answer = link.lines(f"ers transition {key} wide".encode())
        self.assertIn(b"STAT width wide", answer)

    def test_cold_objects_are_made_wide_and_others_not(self):
        with self.link() as link:
            for key in ("cold:1", "cold:2", "other:1"):
                link.set(key, random_bytes(VALUE, 1))
            link.set("cold:short", b"rides in its manifest")
        proxy, api, _ = self.configured(
            "widen", "{widen: {idle_s: 2, every_s: 1, prefix: 'cold:'}, "
            "leave_alone_s: 1}")
        self.until(lambda: self.is_wide("cold:1") and self.is_wide("cold:2"),
                   "they stay narrow")
        self.assertFalse(self.is_wide("other:1"))
        self.assertFalse(self.is_wide("cold:short"))
        self.until(lambda: self.objects(api, "widen", "changed") == 2,
                   api.metrics())
        self.assertEqual(self.objects(api, "narrow", "changed"), 0)
        self.until(lambda: api.metrics()[
            "ersproxy_policy_scan_timestamp_seconds"] > 0, "no scan has ended")
        status = api.ask("GET", "/status")[1]["policies"]
        self.assertEqual(status["widen"]["changed"], 2, status)
        self.assertGreater(status["widen"]["moved_bytes"], 0)
        with Link(proxy.addresses[0]) as link:
            self.assertEqual(link.get("cold:1"), random_bytes(VALUE, 1))

    def test_what_is_read_stays_narrow(self):
        for attempt in range(8):
            if self.stays_narrow(f"read{attempt}:"):
                return
        self.fail("this machine never reads a value all 3 s")

    def stays_narrow(self, prefix):
        """False: nothing was read for a while of what is read meanwhile, and
        it is wide. Of the 10 s of idleness the rest is for memcached, which
        may count reads some seconds late."""
        read, cold = prefix + "1", prefix + "cold"
        ends, ended = [], threading.Event()

        def keep_reading(link):
            while not ended.is_set():
                link.get(read)
                ends.append(time.monotonic())
                ended.wait(0.05)
        with self.link() as link:
            for key in (cold, read):
                link.set(key, random_bytes(VALUE, 2))
            ends.append(time.monotonic())
            reader = threading.Thread(target=keep_reading, args=(link,))
            reader.start()
            try:
                proxy, _, _ = self.configured(
                    prefix[:-1], "{widen: {idle_s: 10, every_s: 1, "
                    f"prefix: '{prefix}'}}, leave_alone_s: 0}}")
                self.until(lambda: self.is_wide(cold), "it stays narrow")
                wide = self.is_wide(read)
                listed = self.listed(read) if wide else ""
            finally:
                ended.set()
                reader.join()
            proxy.kill()
        gap = max(after - before for before, after in zip(ends, ends[1:]))
        self.assertTrue(not wide or gap >= 3, f"{gap} s; {listed}")
        return not wide

    def listed(self, key):
        """What each server knows of a key, and when it said so."""
        lines = []
        for name in self.servers.split(","):
            with Link(name) as server:
                server.send(b"lru_crawler metadump all\r\n")
                dump = server.until(b"END\r\n").split(b"\n")
            lines += [f"{name} at {time.time():.1f}: {line}" for line in dump
                      if f"{quote(key, safe='')}".encode() in line]
        return "\n".join(lines)

    def test_hot_objects_are_made_narrow_after_a_while(self):
        narrow = "{narrow: {hits: 20, within_s: 60, prefix: 'hot:'}, "
        proxy, api, file = self.configured(
            "narrow", narrow + "leave_alone_s: 600}", "--threads", "2")
        with Link(proxy.addresses[0]) as link, \
                Link(proxy.addresses[0]) as other:
            for key, length in (("hot:long", 300_000), ("hot:seldom", VALUE),
                                ("cool:1", VALUE), ("hot:1", VALUE)):
                link.set(key, random_bytes(length, 3))
                self.make_wide(link, key)
            # Just changed: it is left alone however often it is read.
            for _ in range(40):
                link.get("hot:1")
            self.until(lambda: self.objects(api, "narrow", "recent") > 0,
                       api.metrics())
            self.assertTrue(self.is_wide("hot:1"))
            self.write(file, narrow + "leave_alone_s: 5}")
            os.kill(proxy.process.pid, signal.SIGHUP)
            for _ in range(19):
                link.get("hot:seldom")

            # The hits of all threads count, those of mg without a bump not.
            def read(*keys):
                for key in keys:
                    for one in (link, other):
                        self.assertEqual(
                            one.get(key),
                            random_bytes(300_000 if key == "hot:long"
                                         else VALUE, 3))
                return [key for key in keys if self.is_wide(key)] == []
            self.until(lambda: read("hot:1", "hot:long"), "they stay wide")
            self.assertTrue(self.is_wide("hot:seldom"))
            for _ in range(40):
                link.get("cool:1")
            self.assertTrue(self.is_wide("cool:1"))
        self.until(lambda: self.objects(api, "narrow", "changed") == 2,
                   "two are changed")
        self.assertEqual(self.objects(api, "narrow", "failed"), 0)

    def test_policies_come_and_go_without_a_restart(self):
        with self.link() as link:
            link.set("turn:1", random_bytes(VALUE, 4))
        proxy, api, file = self.configured("turn", "{leave_alone_s: 1}")

        def reload(policies):
            self.write(file, policies)
            os.kill(proxy.process.pid, signal.SIGHUP)
        reload("{widen: {idle_s: 1, every_s: 1, prefix: 'turn:'}}")
        # leave_alone_s is back at its default: it is left alone, also by a
        # scan that finds it idle.
        idle = time.time() + 3
        self.until(lambda: api.metrics()[
            "ersproxy_policy_scan_timestamp_seconds"] > idle, "no scan ends")
        self.assertFalse(self.is_wide("turn:1"))
        reload("{widen: {idle_s: 1, every_s: 1, prefix: 'turn:'}, "
               "leave_alone_s: 1}")
        self.until(lambda: self.is_wide("turn:1"), "it stays narrow")
        reload("{narrow: {hits: 5, within_s: 60}, leave_alone_s: 1}")
        with Link(proxy.addresses[0]) as link:
            def narrow():
                for _ in range(5):
                    link.get("turn:1")
                return not self.is_wide("turn:1")
            self.until(narrow, "it stays wide")

    def test_reads_count_for_a_while_only(self):
        proxy, _, _ = self.configured(
            "while", "{narrow: {hits: 60, within_s: 1, prefix: 'while:'}, "
            "leave_alone_s: 0}")
        with Link(proxy.addresses[0]) as link:
            for key in ("while:often", "while:seldom"):
                link.set(key, random_bytes(VALUE, 5))
                self.make_wide(link, key)
            for _ in range(4):
                for _ in range(20):
                    link.get("while:seldom")
                begun = time.monotonic()
                self.until(lambda now=begun: time.monotonic() > now + 1.2,
                           "its reads are forgotten")

            def often():
                for _ in range(60):
                    link.get("while:often")
                return not self.is_wide("while:often")
            self.until(often, "it stays wide")
            self.assertTrue(self.is_wide("while:seldom"))

    def test_a_chain_goes_through_tiers(self):
        self.run_ctl("put", "tier:1", "-", "--scheme", "ers:2-3-4,1",
                     data=random_bytes(VALUE, 6))

        def width():
            return self.width_of("tier:1")
        self.assertEqual(width(), "2")
        proxy, api, file = self.configured(
            "tiers", "{widen: {every_s: 1, prefix: 'tier:', tiers: ["
            "{idle_s: 1, width: 3}, {idle_s: 31536000, width: wide}]}, "
            "leave_alone_s: 0}")

        def reload(policies):
            self.write(file, policies)
            os.kill(proxy.process.pid, signal.SIGHUP)
        self.until(lambda: width() == "3", "it stays narrow")
        reload("{widen: {every_s: 1, prefix: 'tier:', tiers: ["
               "{idle_s: 1, width: wide}]}, leave_alone_s: 0}")
        self.until(lambda: width() == "4", "it does not become wide")
        with Link(proxy.addresses[0]) as link:
            def read_until(goal):
                def read():
                    self.assertEqual(link.get("tier:1"),
                                     random_bytes(VALUE, 6))
                    return width() == goal
                self.until(read, f"it is never {goal}")
            reload("{narrow: {within_s: 3600, tiers: [{hits: 5, width: 3}, "
                   "{hits: 1000000, width: narrow}]}, leave_alone_s: 0}")
            read_until("3")
            reload("{narrow: {within_s: 3600, tiers: [{hits: 5, width: 3}, "
                   "{hits: 10, width: narrow}]}, leave_alone_s: 0}")
            read_until("2")
        self.assertEqual(self.objects(api, "widen", "changed"), 2)
        self.assertEqual(self.objects(api, "narrow", "changed"), 2)

    def width_of(self, key):
        """As `ers stat` names it."""
        with self.link() as link:
            return [line.split()[2].decode()
                    for line in link.lines(f"ers stat {key}".encode())
                    if line.startswith(b"STAT width ")][0]

    def keeps_rate(self, api, policy):
        """Of 400,000 bytes a second."""
        moved = f'ersproxy_policy_moved_bytes_total{{policy="{policy}"}}'
        self.until(lambda: api.metrics()[moved] > 0, "nothing moves")
        begun = time.monotonic()
        first = api.metrics()[moved]
        self.until(lambda: api.metrics()[moved] > first + 800_000, "too slow")
        took = time.monotonic() - begun
        # One object may be under way, and 0.1 s be saved up.
        self.assertGreater(took, 800_000 / 400_000 - 1)

    def test_the_rate_is_kept(self):
        with self.link() as link:
            for i in range(60):
                link.set(f"rate:{i}", random_bytes(100_000, i))
        _, api, _ = self.configured(
            "rate", "{widen: {idle_s: 1, every_s: 4, prefix: 'rate:', "
            "bytes_per_second: 400000, parallel: 1}, leave_alone_s: 1}")
        self.keeps_rate(api, "widen")

    def test_the_rate_is_kept_of_hot_objects_too(self):
        proxy, api, _ = self.configured(
            "hot-rate", "{narrow: {hits: 1, within_s: 60, prefix: 'rated:', "
            "bytes_per_second: 400000, parallel: 1}, leave_alone_s: 0}")
        with Link(proxy.addresses[0]) as link:
            keys = [f"rated:{i}" for i in range(60)]
            for i, key in enumerate(keys):
                link.set(key, random_bytes(100_000, i))
                self.make_wide(link, key)
            for key in keys:
                link.get(key)
        self.keeps_rate(api, "narrow")


if __name__ == "__main__":
    unittest.main()
