"""The way from a version whose stored format this one does not read, as
docs/guides/upgrade.md has it: export, delete the records, start, store again."""

import os
import subprocess
import sys
import time
import unittest

from proxy_case import DEADLINE_S, KIB, MIB, Link, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, ask

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
STORE_AGAIN = os.path.join(TOP, "examples", "clients", "store_again.py")
RECORDS = (b"ers!view", b"ers!peers")
ODD = "base64:d2l0aCBibGFuaw=="  # "with blank": no plain item's key
SIZES = (0, 1, 100, 4096, 5 * KIB, 70_000, MIB)
WEEKS_S = 50 * 86400  # of a life that memcached takes only as a time


def seconds_left(link, key):
    link.send(f"mg {key} t\r\n".encode())
    return int(link.line().removeprefix(b"HD t"))


def store_again(address, keys):
    """(exit code, what it printed, errors)"""
    done = subprocess.run(
        [sys.executable, "-B", STORE_AGAIN, address], input=keys, text=True,
        capture_output=True, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stdout, done.stderr


class UpgradeTest(ProxyCase):

    options = ("--scheme", "ers2:4,1,5")

    def store(self):
        """{key: (value, flags)}"""
        values = {}
        for size in SIZES:
            for flags in (0, 7):
                key = f"k{size}.{flags}"
                values[key] = (random_bytes(size, seed=size + flags), flags)
                self.assertEqual(self.link().set(
                    key, values[key][0], flags=flags,
                    exptime=3600 if flags else 0), b"STORED")
        link = self.link()
        link.send(b"mn\r\nms d2l0aCBibGFuaw== 3 b F5\r\nodd\r\n")
        self.assertEqual((link.line(), link.line()), (b"MN", b"HD"))
        self.ctl("transition", f"k{MIB}.7", "--to", "wide")
        return values

    def expect(self, values, address):
        with Link(address) as link:
            for key, (value, flags) in values.items():
                link.send(f"get {key}\r\n".encode())
                self.assertEqual(link.line(),
                                 f"VALUE {key} {flags} {len(value)}".encode())
                self.same(link.read(len(value) + 2), value + b"\r\n", key)
                self.assertEqual(link.line(), b"END")
                left = seconds_left(link, key)
                self.assertIn(left, range(3000, 3601) if flags else (-1,))

    def test_all_values_come_through_and_are_objects_again(self):
        values = self.store()
        # Every step of the page.
        keys = self.ctl("ls").decode()
        self.assertEqual(len(keys.splitlines()), len(values) + 1)
        left_out = self.run_ctl("export", "--all", "--dry-run")
        self.assertEqual(left_out.returncode, BAD_USAGE)
        self.assertIn(ODD.encode() + b": ", left_out.stdout)
        self.ctl("get", ODD, "-o", self.path("odd"))
        self.ctl("rm", ODD)
        self.ctl("export", "--all")
        self.proxy.terminate()
        self.assertEqual(self.proxy.wait(), 0)
        for server in self.servers.split(","):
            for record in RECORDS:
                ask(server, b"delete " + record + b"\r\n")
        state = self.environment()["XDG_STATE_HOME"]
        for folder, _, names in os.walk(state):
            for name in names:
                os.unlink(os.path.join(folder, name))
        proxy = self.start_proxy("new", *self.options)
        self.expect(values, proxy.addresses[0])
        self.assertEqual(self.ctl("ls"), b"")  # they are plain
        self.assertEqual(store_again(proxy.addresses[0], keys),
                         (0, f"gone: 1\nstored: {len(values)}\n", ""))
        self.assertEqual(len(self.ctl("ls").splitlines()), len(values))
        self.expect(values, proxy.addresses[0])
        self.assertEqual(self.ctl_json("verify")["damaged"], 0)
        # One server may die again.
        self.tool("kill", "2")
        self.expect(values, proxy.addresses[0])


class LateTest(ProxyCase):

    def test_what_ends_late_ends_no_sooner(self):
        with Link(self.address) as link:
            self.assertEqual(link.set("late", b"v", exptime=int(
                time.time()) + WEEKS_S), b"STORED")
            before = seconds_left(link, "late")
        self.assertEqual(store_again(self.address, "late\ngone\n"),
                         (0, "gone: 1\nstored: 1\n", ""))
        with Link(self.address) as link:
            self.assertLess(abs(seconds_left(link, "late") - before), 60)
            self.assertEqual(link.get("late"), b"v")


if __name__ == "__main__":
    unittest.main()
