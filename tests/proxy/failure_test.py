"""A server that is killed -9 while clients are served."""

import os
import threading
import unittest

from jobs_case import Api
from proxy_case import MIB, SIZES, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import CLUSTER_ERROR, DEADLINE_S


class OneServerDeadTest(ProxyCase):

    def test_everything_goes_on(self):
        link = self.link()
        values = {f"v{size}": random_bytes(size, seed=size) for size in SIZES}
        for key, value in values.items():
            self.assertEqual(link.set(key, value, flags=7), b"STORED")
        link.set("n", b"41")
        self.tool("kill", "3")

        self.assertEqual(link.ask(b"incr n 1"), b"42")
        got = link.get_many(*values, verb="gets")
        self.assertEqual(list(got), list(values))
        for key, value in values.items():
            with self.subTest(key=key):
                self.same(got[key][0], value)
                self.assertEqual(got[key][1], 7)
                self.assertEqual(
                    link.store("cas", key, value[::-1],
                               more=f" {got[key][2]}"), b"STORED")
                self.same(link.get(key), value[::-1])
                self.assertEqual(link.ask(f"touch {key} 50".encode()),
                                 b"TOUCHED")
                self.assertEqual(link.set(key, value), b"STORED")
                self.same(self.link().get(key), value)
                self.assertEqual(link.ask(f"delete {key}".encode()),
                                 b"DELETED")
                self.assertIsNone(link.get(key))


class KilledUnderLoadTest(ProxyCase):

    def test_no_client_sees_an_error_or_old_bytes(self):
        problems, running = [], threading.Event()
        killed = threading.Event()

        def client(number):
            link = self.link()
            after = i = 0
            while after < 40 and not problems:
                after += killed.is_set()
                i += 1
                key = f"k{number}"
                value = random_bytes((100, 5000, 70_000, MIB)[i % 4], seed=i)
                said, got = link.set(key, value), link.get(key)
                if said != b"STORED" or got != value:
                    problems.append((number, i, said, got and len(got),
                                     len(value)))
                if i == 5:
                    running.set()

        threads = [threading.Thread(target=client, args=(i,))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        self.assertTrue(running.wait(DEADLINE_S), problems)
        self.tool("kill", "5")
        killed.set()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


class TwoServersDeadTest(ProxyCase):
    up = ("-n", "7")
    options = ("--scheme", "ers2:4,2,5")

    def test_as_many_as_the_code_bears(self):
        link = self.link()
        values = {f"v{size}": random_bytes(size, seed=size) for size in SIZES}
        for key, value in values.items():
            self.assertEqual(link.set(key, value), b"STORED")
        for server in ("2", "6"):
            self.tool("kill", server)
            for key, value in values.items():
                self.same(link.get(key), value, key)
        for key, value in values.items():
            self.assertEqual(link.set(key, value[::-1]), b"STORED")
            self.same(link.get(key), value[::-1], key)


class TooManyDeadTest(ProxyCase):

    def needs(self, key, dead):
        """Is it lost with those servers (True), not at all (False), or only
        where the first to die was not missed in time (None)?"""
        detail = self.ctl_json("stat", key)
        if sum(block["server"] in dead for block in detail["blocks"]) > 1:
            return True
        return None if detail["replicas"][-1] in dead else False

    def is_read(self, key, value):
        """False: it ends in an error, which it notes, and is no miss."""
        link = self.link()
        said = link.ask(f"get {key}".encode())
        while b"being probed, try again" in said:
            said = link.ask(f"get {key}".encode())
        if not said.startswith(b"VALUE"):
            self.assertRegex(said, b"^SERVER_ERROR ")
            self.errors[key] = said
            return False
        got = link.read(len(value) + 7)
        if len(got) < len(value) + 7:  # it showed in the middle
            self.same(got, value[:len(got)])
            self.assertEqual(link.read_all(), b"")
            self.errors[key] = b"cut off"
            return False
        self.same(got, value + b"\r\nEND\r\n")
        return True

    def test_lost_is_an_error_and_not_a_miss_and_the_rest_is_served(self):
        link = self.link()
        values = {f"k{i}": random_bytes((100, 5000, MIB)[i % 3], seed=i)
                  for i in range(36)}
        for key, value in values.items():
            self.assertEqual(link.set(key, value), b"STORED")
        dead = self.servers.split(",")[:2]
        needs = {key: self.needs(key, dead) for key in values}
        for server in ("1", "2"):
            self.tool("kill", server)
        self.errors = {}
        read = {key: self.is_read(key, value)
                for key, value in values.items()}
        for needed in (True, False):
            self.assertIn(needed, needs.values())
            self.assertEqual({key: self.errors.get(key) for key in values
                              if needs[key] is needed
                              and read[key] == needed}, {},
                             self.proxy.said())
        self.assertEqual(self.link().ask(b"mn"), b"MN")


class ReportedCase(ProxyCase):
    """What stands in the way of servers in sync is in /status and in the log."""
    up = ("-n", "6", "--no-evict")
    options = ("--admin", ":0")

    def last_error(self):
        api = Api(self.proxy.addresses[-1])
        return api.ask("GET", "/status")[1]["backfill"]["last_error"]

    def until_reported(self, text):
        self.until(lambda: text in self.last_error(), text)
        self.until(lambda: text in self.proxy.said(), f"{text} in the log")


class TooManyReportedTest(ReportedCase):

    @classmethod
    def start_proxy(cls, name, *options, **more):
        settings = os.path.join(cls.folder, "settings.yaml")
        with open(settings, "w", encoding="ascii") as file:
            # All of it has to pass: that two stand still may be the network.
            file.write("timeouts: {connect_ms: 10000, request_ms: 10000}\n")
        return super().start_proxy(name, *options, "--config", settings,
                                   **more)

    def test_that_more_than_m_are_out(self):
        self.assertEqual(self.link().set("kept", bytes(MIB)), b"STORED")
        self.assertEqual(self.last_error(), "")
        for server in ("1", "2"):
            self.tool("stop", server)
        self.until_reported("2 servers are out and this cluster survives 1 (")
        for server in ("1", "2"):
            self.tool("cont", server)
        self.until(lambda: self.last_error() == "", "they answer again")
        self.same(self.link().get("kept"), bytes(MIB))


class TooSmallReportedTest(ReportedCase):

    def test_that_a_new_server_is_too_small(self):
        value = random_bytes(4 * MIB, seed=1)
        keys = [f"big{i}" for i in range(48)]
        for key in keys:
            self.assertEqual(self.link().set(key, value), b"STORED")
        small = self.spare("--memory", "16", "--no-evict")
        old = self.servers.split(",")[3]

        # It watches until nothing has moved for a while: on a slow machine also
        # before the first object is refused.
        def ends_with_the_reason():
            done = self.run_ctl("--proxy", self.proxy.addresses[-1],
                                "--timeout", "3", "replace", old, small)
            self.assertEqual(done.returncode, CLUSTER_ERROR, done.stderr)
            return b"objects that do not fit: " in done.stderr
        self.until(ends_with_the_reason, "the reason is told")
        self.until_reported(f"{small} has no memory for a block of ")
        for key in keys:
            self.same(self.link().get(key), value, key)
        # Less to hold: it is in sync at last.
        for key in keys[4:]:
            self.assertEqual(self.link().ask(f"delete {key}".encode()),
                             b"DELETED")
        self.until(lambda: self.last_error() == "", "there is room now")
        self.same(self.link().get(keys[0]), value)


if __name__ == "__main__":
    unittest.main()
