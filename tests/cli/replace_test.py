"""ersctl replace without a daemon: a server at another address takes the place
of one that is dead, and is backfilled."""

import unittest

from ctl_case import BAD_USAGE, CLUSTER_ERROR, CtlCase, random_bytes

SIZES = (0, 200, 5_000, 300_000, 9 << 20)


class ReplaceCase(CtlCase):

    def setUp(self):
        super().setUp()
        self.members = self.servers.split(",")
        self.values = {f"v{size}": random_bytes(size, seed=size)
                       for size in SIZES}
        for key, value in self.values.items():
            self.put(key, value)

    def all_right(self, servers):
        for key, value in self.values.items():
            self.assertTrue(self.ctl("get", key, servers=servers) == value,
                            key)


class DeadTest(ReplaceCase):

    def test_a_dead_server_is_replaced_and_any_other_may_go(self):
        old, new = self.members[2], self.spare()
        edited = self.servers.replace(old, new)
        self.tool("kill", "3")
        report = self.ctl_json("replace", old, new, "--parallel", "2")
        self.assertEqual((report["backfilled"], report["out"], report["lost"]),
                         ([new], [], 0))
        self.assertGreater(report["blocks"], 0)
        # Once more: nothing is left to do.
        self.assertEqual(self.ctl_json("replace", old, new)["backfilled"], [])
        for servers in (self.servers, edited):
            self.all_right(servers)
            shown = self.ctl_json("servers", servers=servers)["servers"]
            self.assertEqual([(one["name"], one["slot"]) for one in shown
                              if one["name"] != one["slot"]], [(new, old)])
            self.assertEqual({one["state"] for one in shown}, {"in_sync"})
        self.ctl("verify", servers=edited)
        self.put("later", b"x" * 20_000)
        self.values["later"] = b"x" * 20_000
        self.tool("kill", "5")
        for servers in (self.servers, edited):
            self.all_right(servers)


class UsageTest(ReplaceCase):

    def test_refusals(self):
        old, new = self.members[0], self.spare()
        self.refused(BAD_USAGE, "is none of the servers", "replace", new, old)
        self.refused(BAD_USAGE, "NEW", "replace", old)
        self.refused(BAD_USAGE, "the port is missing", "replace", old, "x")
        message = self.refused(CLUSTER_ERROR, "127.0.0.1:1 cannot be used",
                               "replace", old, "127.0.0.1:1")
        self.assertIn("start an empty memcached there", message)
        self.refused(CLUSTER_ERROR, "by `ersctl replace OLD NEW`", "servers",
                     servers=self.servers.replace(old, new))
        # The servers are those that they were.
        self.all_right(self.servers)


class UnusedTest(CtlCase):

    def test_a_cluster_that_nobody_used_has_nobody_to_replace(self):
        self.refused(1, "nothing was ever stored", "replace",
                     self.servers.split(",")[0], self.spare())


if __name__ == "__main__":
    unittest.main()
