"""What servers that evict must keep, whatever is stored."""

import time
import unittest

from proxy_case import KIB, MIB, ProxyCase, random_bytes
from ctl_case import item_expiries

MEMORY_MB = 4
KEPT = {b"ers!view", b"ers!boot", b"ers!peers"}
BATCH = 200
IDLE_S = 5
ROUNDS = 20


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

    def test_what_one_server_evicted_the_others_drop(self):
        link = self.link()
        stored = 0

        def store(count):
            nonlocal stored
            link.send(b"".join(b"set f%07d 0 0 1000\r\n%s\r\n"
                               % (stored + i, bytes(1000))
                               for i in range(count)))
            for _ in range(count):
                self.assertEqual(link.line(), b"STORED")
            stored += count

        def followed():
            return int(link.stats()["ers_followed_evictions"])

        while self.evictions() == 0:
            store(BATCH)
        rounds = 0
        while not followed():
            rounds += 1
            self.assertLess(rounds, ROUNDS, "copies are never dropped")
            # What was accessed a few seconds ago would be left alone.
            idle = time.monotonic() + IDLE_S
            self.until(lambda end=idle: time.monotonic() > end, "idle items")
            store(5 * BATCH)


def lose_view(case):
    for server in case.servers.split(","):
        case.link(server).ask(b"delete ers!view")


if __name__ == "__main__":
    unittest.main()
