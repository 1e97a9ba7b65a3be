"""The way from a version whose stored format this one does not read, as
docs/guides/upgrade.md has it: export, delete the records, start, store again."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

from proxy_case import (DEADLINE_S, KIB, MIB, USUAL, Link, ProxyCase,
                        random_bytes)
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, ask

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
STORE_AGAIN = os.path.join(TOP, "examples", "clients", "store_again.py")
RECORDS = (b"ers!view", b"ers!peers")
ODD = "base64:d2l0aCBibGFuaw=="  # "with blank": no plain item's key
ENCODED = "base64:YmFzZTY0Ong="  # "base64:x", which may be one's
SIZES = (0, 1, 100, 4096, 5 * KIB, 70_000, MIB)
WEEKS_S = 50 * 86400  # of a life that memcached takes only as a time


def seconds_left(link, key):
    link.send(f"mg {key} t\r\n".encode())
    return int(link.line().removeprefix(b"HD t"))


def store_again(address, keys, *words):
    """(exit code, what it printed, errors)"""
    done = subprocess.run(
        [sys.executable, "-B", STORE_AGAIN, address, *words], input=keys,
        text=True, capture_output=True, timeout=DEADLINE_S, check=False)
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
        values["base64:x"] = (b"x" * 9000, 0)
        link = self.link()
        self.assertEqual(link.set("base64:x", b"x" * 9000), b"STORED")
        link.send(b"mn\r\nms d2l0aCBibGFuaw== 3 b F5 T3600\r\nodd\r\n")
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

    def end(self, proxy):
        """And have nothing know of the cluster but the values."""
        proxy.terminate()
        self.assertEqual(proxy.wait(), 0)
        for server in self.servers.split(","):
            for record in RECORDS:
                ask(server, b"delete " + record + b"\r\n")
        state = self.environment()["XDG_STATE_HOME"]
        for folder, _, names in os.walk(state):
            for name in names:
                os.unlink(os.path.join(folder, name))

    def put_back(self, key, file, taken):
        left = int(taken["expiry"] - time.time())
        self.ctl("put", key, file, "--scheme", taken["scheme"], "--width",
                 taken["width"], "--flags", str(taken["flags"]), "--expire",
                 str(left))

    def test_all_values_come_through_and_are_objects_again(self):
        values = self.store()
        # Every step of the page.
        keys = self.ctl("ls").decode()
        self.assertEqual(len(keys.splitlines()), len(values) + 1)
        self.assertIn(ENCODED, keys)
        left_out = self.run_ctl("export", "--all", "--dry-run")
        self.assertEqual(left_out.returncode, BAD_USAGE)
        self.assertIn(ODD.encode() + b": ", left_out.stdout)
        taken = json.loads(self.ctl("get", ODD, "-o", self.path("odd"),
                                    "--json"))
        self.ctl("rm", ODD)
        self.ctl("export", "--all", "--dry-run")
        self.ctl("export", "--all")
        self.end(self.proxy)
        # By another placement most are not found. None is stored then.
        settings = f"{USUAL}placement: {{distribution: modula}}\n"
        wrong = self.start_proxy("wrong", *self.options, "--config",
                                 self.file("wrong.yaml", settings.encode()))
        code, printed, errors = store_again(wrong.addresses[0], keys, "--gone",
                                            "1")
        self.assertEqual((code, printed), (1, ""))
        self.assertRegex(errors, "(?m)^k[0-9]+.[07]: gone$")
        self.assertIn(f"of {len(values) + 1} keys are gone, and --gone is 1: "
                      "nothing was stored", errors)
        self.end(wrong)
        proxy = self.start_proxy("new", *self.options)
        self.expect(values, proxy.addresses[0])
        self.assertEqual(self.ctl("ls"), b"")  # they are plain
        code, printed, errors = store_again(proxy.addresses[0], keys)
        self.assertEqual((code, printed), (1, ""))
        self.assertIn(f"{ODD}: gone\n", errors)
        self.assertEqual(self.ctl("ls"), b"")
        self.assertEqual(
            store_again(proxy.addresses[0], keys, "--gone", "1"),
            (0, f"gone: 1\nstored: {len(values)}\n", f"{ODD}: gone\n"))
        self.assertEqual(len(self.ctl("ls").splitlines()), len(values))
        self.expect(values, proxy.addresses[0])
        self.put_back(ODD, self.path("odd"), taken)
        with Link(proxy.addresses[0]) as link:
            link.send(b"mg d2l0aCBibGFuaw== b v f t\r\n")
            words = link.line().split()
            self.assertEqual(words[:3], [b"VA", b"3", b"f5"])
            self.assertIn(int(words[3][1:]), range(3000, 3601))
            self.assertEqual(link.line(), b"odd")
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
        self.assertEqual(
            store_again(self.address, "late\ngone\n", "--gone", "1"),
            (0, "gone: 1\nstored: 1\n", "gone: gone\n"))
        with Link(self.address) as link:
            self.assertLess(abs(seconds_left(link, "late") - before), 60)
            self.assertEqual(link.get("late"), b"v")

    def test_keys_in_base64_are_asked_for_as_what_they_stand_for(self):
        long = "base64:" + "y" * 243  # in base64 it is no key of a line
        with Link(self.address) as link:
            link.send(b"ms d2l0aCBibGFuaw== 3 b F5\r\nodd\r\n")
            self.assertEqual(link.line(), b"HD")
            for key in ("base64:x", long):
                self.assertEqual(link.set(key, b"v" * 9000), b"STORED")
        listed = self.ctl("ls").decode()
        self.assertIn(ODD, listed)
        self.assertIn(ENCODED, listed)
        count = len(listed.splitlines())
        self.assertEqual(store_again(self.address, listed),
                         (0, f"stored: {count}\n", ""))
        self.assertEqual(len(self.ctl("ls").splitlines()), count)


class CutOffTest(unittest.TestCase):

    def test_a_value_that_is_cut_off_is_not_stored(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        asked = []

        def serve():
            link, _ = listener.accept()
            with link, link.makefile("rb") as lines:
                for answer in (b"HD\r\n", b"VA 10 f0 t-1\r\nshort"):
                    asked.append(lines.readline())
                    link.sendall(answer)
                link.shutdown(socket.SHUT_WR)
                asked.extend(lines)
        server = threading.Thread(target=serve)
        server.start()
        code, printed, errors = store_again(
            "127.0.0.1:%d" % listener.getsockname()[1], "key\n")
        server.join(DEADLINE_S)
        self.assertEqual((code, printed), (1, ""))
        self.assertIn("closed amid a value", errors)
        self.assertEqual(asked, [b"mg key\r\n", b"mg key v f t\r\n"])


if __name__ == "__main__":
    unittest.main()
