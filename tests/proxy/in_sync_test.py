"""ersctl servers --in-sync: what restarts servers one after the other waits for
each by it."""

import unittest

from proxy_case import MIB, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR, DONE


class InSyncTest(ProxyCase):
    options = ("--admin", "127.0.0.1:0")

    def code(self, name):
        return self.run_ctl("--proxy", self.proxy.addresses[-1], "servers",
                            "--in-sync", name).returncode

    def test_a_rolling_restart_loses_nothing(self):
        members = self.servers.split(",")
        # Where nothing was ever stored, nothing is missing.
        self.assertEqual([self.code(name) for name in members],
                         [DONE] * len(members))
        values = {f"v{i}": random_bytes(MIB, seed=i) for i in range(8)}
        for key, value in values.items():
            self.assertEqual(self.link().set(key, value), b"STORED")
        for number, name in enumerate(members, 1):
            self.assertEqual(self.code(name), DONE)
            self.tool("kill", str(number))
            self.until(lambda name=name: self.code(name) == CLUSTER_ERROR,
                       "its loss is known")
            self.tool("start", str(number))
            self.until(lambda name=name: self.code(name) == DONE,
                       "it is in sync")
            for key, value in values.items():
                self.same(self.link().get(key), value, key)
        self.assertEqual(self.proxy.said().count("is backfilled"),
                         len(members))

    def test_a_server_that_is_not_of_the_cluster_is_refused(self):
        self.refused(BAD_USAGE, "no such server", "--proxy",
                     self.proxy.addresses[-1], "servers", "--in-sync",
                     "127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
