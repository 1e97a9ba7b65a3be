"""ersctl servers --in-sync: true at the moment at which it is asked, also of a
server that has just been emptied, as the next one may be taken then."""

import unittest

from proxy_case import MIB, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR, DONE, ask


class InSyncTest(ProxyCase):
    options = ("--admin", "127.0.0.1:0")

    def admin(self, *words):
        return ("--proxy", self.proxy.addresses[-1], "servers", *words)

    def code(self, *names):
        return self.run_ctl(*self.admin("--in-sync", *names)).returncode

    def incarnation(self, name):
        """Of the server in the view that all go by."""
        found, = [server["incarnation"]
                  for server in self.ctl_json("servers")["servers"]
                  if server["name"] == name]
        return found

    def fill(self):
        values = {f"v{i}": random_bytes(MIB, seed=i) for i in range(4)}
        for key, value in values.items():
            self.assertEqual(self.link().set(key, value), b"STORED")
        return values

    def test_a_server_that_has_just_come_back_empty_is_not(self):
        # Where nothing was ever stored, nothing is missing.
        self.assertEqual(self.code(), DONE)
        values = self.fill()
        for number, name in enumerate(self.servers.split(","), 1):
            self.until(lambda: self.code() == DONE, "all are in sync")
            before = self.incarnation(name)
            self.tool("kill", str(number))
            self.tool("start", str(number))
            # It may be backfilled by now, but not just be unnoticed.
            if self.code() == DONE:
                self.assertNotEqual(self.incarnation(name), before)
            self.until(lambda name=name: self.code(name) == DONE,
                       f"{name} is in sync")
            self.assertNotEqual(self.incarnation(name), before)
            for key, value in values.items():
                self.same(self.link().get(key), value, key)

    def test_one_that_is_dead_is_named(self):
        self.fill()
        self.until(lambda: self.code() == DONE, "all are in sync")
        first, second = self.servers.split(",")[:2]
        self.tool("kill", "1")
        try:
            self.refused(CLUSTER_ERROR, first, *self.admin("--in-sync"))
            self.refused(CLUSTER_ERROR, first, *self.admin("--in-sync", first))
            self.assertEqual(self.code(second), DONE)
        finally:
            self.tool("start", "1")

    def test_one_that_was_flushed_is_backfilled(self):
        self.fill()
        self.until(lambda: self.code() == DONE, "all are in sync")
        name = self.servers.split(",")[2]
        before = self.incarnation(name)
        # It takes what was stored before the second in which it comes.
        while ask(name, b"mg ers!boot\r\n") != b"EN\r\n":
            ask(name, b"flush_all\r\n")
        self.until(lambda: self.code() == DONE, "it is in sync again")
        self.assertNotEqual(self.incarnation(name), before)

    def test_a_server_that_is_not_of_the_cluster_is_refused(self):
        self.refused(BAD_USAGE, "no such server",
                     *self.admin("--in-sync", "127.0.0.1:1"))


if __name__ == "__main__":
    unittest.main()
