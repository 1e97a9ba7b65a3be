"""What servers that evict must keep, whatever is stored."""

import unittest

from proxy_case import KIB, MIB, ProxyCase, random_bytes
from ctl_case import item_expiries

MEMORY_MB = 4
KEPT = {b"ers!view", b"ers!boot", b"ers!peers"}
BATCH = 200


class EvictionTest(ProxyCase):

    up = ("-n", "6", "--memory", str(MEMORY_MB), "--item-max", "1")

    def evictions(self):
        """The fewest that a server has."""
        fewest = []
        for server in self.servers.split(","):
            with self.link(server) as link:
                fewest.append(int(link.stats()["evictions"]))
        return min(fewest)

    def test_what_the_cluster_knows_of_itself_stays(self):
        # Small and large, so that items of every size are evicted.
        values = [random_bytes(size, seed=size)
                  for size in range(64, 2 * KIB, 128)]
        link = self.link()
        number = 0
        # Many times what a server holds.
        while self.evictions() < 3 * MEMORY_MB * MIB // KIB:
            words = b""
            for number in range(number, number + BATCH):
                value = values[number % len(values)]
                words += b"set k%d 0 0 %d\r\n%s\r\n" % (
                    number, len(value), value)
            link.send(words)
            for _ in range(BATCH):
                self.assertEqual(link.line(), b"STORED")
        # A listing leaves out what is being read just then, and a view that
        # went all the same is stored again; the boot mark never is.
        for server in self.servers.split(","):
            self.until(lambda at=server: KEPT <= set(item_expiries(at)),
                       f"all is listed at {server}")
        self.assertGreater(self.ctl_json("servers")["epoch"], 0)

    def test_a_view_that_goes_all_the_same_is_stored_again(self):
        self.assertEqual(self.link().set("k", b"value"), b"STORED")
        epoch = self.ctl_json("servers")["epoch"]
        lose_view(self)
        for server in self.servers.split(","):
            self.until(lambda at=server: b"ers!view" in item_expiries(at),
                       "the view is there again")
        self.assertEqual(self.ctl_json("servers")["epoch"], epoch)


def lose_view(case):
    for server in case.servers.split(","):
        case.link(server).ask(b"delete ers!view")


if __name__ == "__main__":
    unittest.main()
