"""Processes whose own clocks are wrong, or are set: one time for all."""

import glob
import os
import time
import unittest

from proxy_case import SANITIZED, Proxy, ProxyCase, random_bytes

LIBRARY = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
LIVES_S = 1000
# What two processes may differ by, and a whole second that is shown.
APART_S = 3


@unittest.skipIf(SANITIZED, "a sanitizer's runtime is to be loaded first")
class ClocksTest(ProxyCase):
    up = ("-n", "6", "--no-evict")
    by_s = {"ahead": 40, "far_ahead": 3600, "behind": -40, "far_behind": -3600}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxies = {"right": cls.proxy}
        for name, seconds in cls.by_s.items():
            cls.clock(name, seconds)
            cls.proxies[name] = cls.start_proxy(name, env={
                "LD_PRELOAD": LIBRARY[0], "DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_TIMESTAMP_FILE": cls.clock_file(name),
                "FAKETIME_NO_CACHE": "1"})

    @classmethod
    def clock_file(cls, name):
        return os.path.join(cls.folder, f"clock-{name}")

    @classmethod
    def clock(cls, name, seconds):
        """Sets the clock of a process, now or before its start."""
        path = cls.clock_file(name)
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(f"{seconds:+d}\n")
        os.rename(path + ".new", path)

    def links(self):
        return {name: self.link(proxy.addresses[0])
                for name, proxy in self.proxies.items()}

    def left(self, link, key, lived_since):
        """Seconds to live: as many as asked for, less those that went by."""
        before = time.monotonic() - lived_since
        answer = link.ask(f"mg {key} t".encode())
        self.assertRegex(answer, rb"^HD t\d+$")
        after = time.monotonic() - lived_since
        seconds = int(answer[4:])
        self.assertGreaterEqual(seconds, LIVES_S - after - APART_S)
        self.assertLessEqual(seconds, LIVES_S - before + APART_S)

    def test_the_clocks_are_wrong(self):
        # Else nothing here is tested.
        for name in self.by_s:
            self.assertIn("libfaketime", self.maps(self.proxies[name]), name)

    @staticmethod
    def maps(proxy):
        with open(f"/proc/{proxy.process.pid}/maps", encoding="utf-8") as file:
            return file.read()

    def test_a_lock_is_granted_once(self):
        for name, link in self.links().items():
            with self.subTest(name):
                key = f"lock-{name}"
                self.assertEqual(link.store("add", key, b"mine", exptime=30),
                                 b"STORED")
                for other in self.links().values():
                    self.assertEqual(
                        other.store("add", key, b"other", exptime=30),
                        b"NOT_STORED")
                    self.assertEqual(other.get(key), b"mine")

    def test_lives_are_as_long_for_all(self):
        for name, link in self.links().items():
            for size in (10, 20_000):
                with self.subTest(name, size=size):
                    key = f"life-{name}-{size}"
                    since = time.monotonic()
                    self.assertEqual(
                        link.set(key, random_bytes(size, seed=1),
                                 exptime=LIVES_S), b"STORED")
                    for other in self.links().values():
                        self.left(other, key, since)
                    # As a Unix time, by the time that it shows.
                    at = int(link.stats()["time"]) + LIVES_S
                    since = time.monotonic()
                    self.assertEqual(
                        link.ask(f"touch {key} {at}".encode()), b"TOUCHED")
                    for other in self.links().values():
                        self.left(other, key, since)

    def test_what_has_ended_has_ended_for_all(self):
        for name, link in self.links().items():
            with self.subTest(name):
                self.assertEqual(link.set(f"ends-{name}", b"x", exptime=1),
                                 b"STORED")
                for other in self.links().values():
                    self.until(lambda other=other, key=f"ends-{name}":
                               other.get(key) is None, "it ends")

    def test_a_flush_takes_all_that_was_and_nothing_that_comes(self):
        for name, link in self.links().items():
            with self.subTest(name):
                for other, its in self.links().items():
                    self.assertEqual(its.set(f"old-{other}", b"x"), b"STORED")
                self.assertEqual(link.ask(b"flush_all"), b"OK")
                for its in self.links().values():
                    for other in self.proxies:
                        self.assertIsNone(its.get(f"old-{other}"))
                for other, its in self.links().items():
                    self.assertEqual(its.set(f"new-{other}", b"y"), b"STORED")
                for its in self.links().values():
                    for other in self.proxies:
                        self.assertEqual(its.get(f"new-{other}"), b"y")

    def test_a_step_ends_nothing_and_revives_nothing(self):
        name = "ahead"
        link, other = self.links()[name], self.links()["right"]
        self.addCleanup(self.clock, name, self.by_s[name])
        for step in (-3600, 7200, -7200, 0):
            with self.subTest(step):
                self.assertEqual(link.set("gone", b"x"), b"STORED")
                self.assertEqual(other.ask(b"flush_all"), b"OK")
                since = time.monotonic()
                self.assertEqual(link.set("step", b"1", exptime=LIVES_S),
                                 b"STORED")
                self.clock(name, step)
                for its in (link, other):
                    self.left(its, "step", since)
                    self.assertEqual(its.store("add", "step", b"2"),
                                     b"NOT_STORED")
                    self.assertIsNone(its.get("gone"))
                self.assertEqual(link.set("step", b"3"), b"STORED")
                self.assertEqual(link.ask(b"flush_all"), b"OK")
                for its in (link, other):
                    self.assertIsNone(its.get("step"))


if __name__ == "__main__":
    unittest.main()
