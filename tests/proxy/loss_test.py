"""More than f servers lose their memory, and return: all goes on by itself."""

import os
import unittest

from jobs_case import Api
from proxy_case import Proxy, ProxyCase, random_bytes


class LossCase(ProxyCase):
    up = ("-n", "6", "--no-evict")
    # Two processes, one with a state file.
    options = ("--admin", ":0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.state = os.path.join(cls.folder, "view.json")
        cls.other = cls.start_proxy("other", "--state", cls.state)

    def restart(self, *numbers):
        for number in numbers:
            self.tool("kill", str(number))
        for number in numbers:
            self.tool("start", str(number))

    def states(self):
        status = Api(self.proxy.addresses[-1]).ask("GET", "/status")[1]
        return [server["state"] for server in status["servers"]]

    def serves(self, proxy, key):
        """Sets go on, and what was set is there."""
        value = random_bytes(20_000, seed=len(key))

        def stored():
            link = self.link(proxy.addresses[0])
            return link.set(key, value) == b"STORED" and \
                link.get(key) == value
        self.until(stored, f"{key} is stored")


class AllRestartTest(LossCase):

    def test_all_is_a_miss_and_sets_go_on(self):
        old = random_bytes(20_000, seed=1)
        for proxy in (self.proxy, self.other):
            self.assertEqual(self.link(proxy.addresses[0]).set("old", old),
                             b"STORED")
        self.restart(*range(1, 7))
        for number, proxy in enumerate((self.proxy, self.other)):
            self.serves(proxy, f"new{number}")
        for proxy in (self.proxy, self.other):
            self.assertIsNone(self.link(proxy.addresses[0]).get("old"))
        self.until(lambda: self.states() == ["in_sync"] * 6, "all are in sync")
        # The same while one of them is not there, which finds its state file.
        self.other.kill()
        self.restart(*range(1, 7))
        again = Proxy(os.path.join(self.folder, "again"), self.servers,
                      "--state", self.state)
        self.addCleanup(again.kill)
        for number, proxy in enumerate((again, self.proxy)):
            self.serves(proxy, f"newer{number}")
        self.assertIsNone(self.link(again.addresses[0]).get("new0"))


class SomeRestartTest(LossCase):

    def test_what_others_kept_is_there_and_complete_in_the_end(self):
        small = {f"s{i}": b"%d" % i for i in range(60)}
        for key, value in small.items():
            self.assertEqual(self.link().set(key, value), b"STORED")
        members = self.servers.split(",")
        lost = {key for key in small if set(
            self.ctl_json("stat", key)["replicas"]) == {members[1], members[3]}}
        self.restart(2, 4)
        for number, proxy in enumerate((self.other, self.proxy)):
            self.serves(proxy, f"new{number}")
        found = {key: self.link().get(key) for key in small}
        kept = {key for key, value in found.items() if value is not None}
        for key in kept:
            self.assertEqual(found[key], small[key])
        self.assertRegex(self.other.said() + self.proxy.said(),
                         "2 of 6 servers have lost their memory, more than the "
                         "1 that")
        self.assertEqual(kept, set(small) - lost)
        self.until(lambda: self.states() == ["in_sync"] * 6, "they are backfilled")
        # So any other one may die now.
        self.tool("kill", "1")
        for key in kept:
            self.assertEqual(self.link().get(key), small[key], key)


if __name__ == "__main__":
    unittest.main()
