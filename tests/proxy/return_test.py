"""Servers that come back: each is backfilled with what it should hold, so that the
next one may die."""

import os
import threading
import unittest

from proxy_case import KIB, MIB, USUAL, ProxyCase, random_bytes

SIZES = (0, 100, 9 * KIB, 70_000, MIB, 9 * MIB)


class ReturnCase(ProxyCase):

    def setUp(self):
        super().setUp()
        self.members = self.servers.split(",")
        self.proxies = [self.proxy]
        self.values = {}
        self.put("v")

    def put(self, prefix):
        for size in SIZES:
            key = f"{prefix}{size}"
            self.values[key] = random_bytes(size, seed=size)
            self.assertEqual(self.link().set(key, self.values[key], flags=7),
                             b"STORED")

    def all_right(self):
        """Also for a client that remembers nothing."""
        for key, value in self.values.items():
            self.same(self.link().get(key), value, key)

    def whole(self):
        """Every block is where it should be."""
        for key, value in self.values.items():
            shown = self.ctl("stat", key).decode()
            self.assertNotIn(" no\n", shown)
            self.assertEqual(" yes\n" in shown, len(value) >= 9 * KIB, shown)

    def fills(self, name, proxy=None):
        proxies = [proxy] if proxy else self.proxies
        return sum(one.said().count(f"{name} is backfilled") for one in proxies)

    def start_empty(self, number):
        """Server `number`, which is dead, and waits until it is backfilled."""
        name = self.members[number - 1]
        before = self.fills(name)
        self.tool("start", str(number))
        self.until(lambda: self.fills(name) > before, "it is backfilled")


class EachInTurnTest(ReturnCase):

    def test_all_lose_their_memory_and_nothing_is_lost(self):
        for width in ("wide", "narrow"):
            for size in SIZES[3:]:
                self.link().lines(f"ers transition v{size} {width}".encode())
            self.link().ask(b"incr n 1")
            for number in range(1, len(self.members) + 1):
                with self.subTest(width=width, number=number):
                    self.tool("kill", str(number))
                    self.all_right()
                    # Nothing is said of this one but by the connections.
                    self.start_empty(number)
                    self.all_right()
                    self.whole()


class WrittenMeanwhileTest(ReturnCase):

    def test_what_was_written_without_it_is_completed(self):
        self.tool("kill", "2")
        self.put("w")
        self.put("v")  # anew
        gone = self.values.popitem()[0]
        self.assertEqual(self.link().ask(f"delete {gone}".encode()),
                         b"DELETED")
        self.start_empty(2)
        self.whole()
        self.tool("kill", "5")
        self.all_right()
        self.assertIsNone(self.link().get(gone))


class MinRedundancyTest(ReturnCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = os.path.join(cls.folder, "strict.yaml")
        with open(config, "w", encoding="ascii") as file:
            file.write("listen: ['127.0.0.1:0']\nmin_redundancy: 1\n"
                       + USUAL)
        cls.strict = cls.start_proxy("strict", "--config", config, listen=())

    def test_new_values_wait_for_the_server(self):
        self.proxies.append(self.strict)
        link, free = self.link(self.strict.addresses[0]), self.link()
        self.tool("kill", "2")
        # The loose one takes the server out of the view.
        for i in range(12):
            self.assertEqual(free.set(f"n{i}", b"x" * 70_000), b"STORED")
        refused = link.set("v70000", b"y" * 70_000)
        self.assertRegex(refused, b"SERVER_ERROR .*min_redundancy.*start "
                                  b"what does not answer")
        # What is there is served, and changed.
        for key, value in self.values.items():
            self.same(link.get(key), value, key)
        self.assertEqual(link.ask(b"touch v70000 0"), b"TOUCHED")
        refusals = 0
        for i in range(40):
            said = link.set(f"small{i}", b"z")
            refusals += b"min_redundancy asks for 2" in said
            # With both of its replicas there it has its copies.
            self.assertTrue(said == b"STORED" or said.startswith(
                b"SERVER_ERROR 1 of the 2 servers"), said)
        self.assertGreater(refusals, 0)
        self.start_empty(2)
        self.until(lambda: link.set("v70000", b"y" * 70_000) == b"STORED",
                   "it is taken")
        self.values["v70000"] = b"y" * 70_000
        self.tool("kill", "6")
        self.all_right()


class UnderLoadTest(ReturnCase):

    def test_clients_see_no_error_and_no_old_bytes(self):
        problems, ended = [], threading.Event()

        def client(number):
            link, i = self.link(), 0
            while not ended.is_set() and not problems:
                i += 1
                key = f"k{number}"
                value = random_bytes((100, 5000, 70_000, MIB)[i % 4], seed=i)
                said, got = link.set(key, value), link.get(key)
                if said != b"STORED" or got != value:
                    problems.append((number, i, said, got and len(got)))

        threads = [threading.Thread(target=client, args=(i,))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        try:
            for number in (3, 1, 3, 6):
                self.tool("kill", str(number))
                self.start_empty(number)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        self.assertEqual(problems, [])
        self.whole()
        self.all_right()


class PausedTest(ReturnCase):

    def test_a_server_that_was_away_forgets_what_it_held(self):
        self.tool("stop", "4")
        self.addCleanup(self.tool, "cont", "4")
        name = self.members[3]
        self.put("v")  # this takes it out
        self.put("w")
        before = self.fills(name)
        self.tool("cont", "4")
        self.until(lambda: self.fills(name) > before, "it is backfilled")
        self.whole()
        self.tool("kill", "1")
        self.all_right()


class KilledProxyTest(ReturnCase):

    def test_the_next_process_goes_on(self):
        for i in range(60):
            key = f"many{i}"
            self.values[key] = random_bytes(100_000, seed=i)
            self.assertEqual(self.link().set(key, self.values[key]),
                             b"STORED")
        self.tool("kill", "5")
        self.all_right()
        self.tool("start", "5")
        self.until(lambda: "is back and is backfilled" in self.proxy.said(),
                   "it has begun")
        self.proxy.kill()
        next_one = self.start_proxy("next")
        self.address = next_one.addresses[0]
        name = self.members[4]
        self.assertEqual(self.link().ask(b"mn"), b"MN")
        self.until(lambda: self.fills(name, next_one) > 0
                   or self.fills(name) > 0, "it is backfilled")
        self.whole()
        self.tool("kill", "2")
        self.all_right()


if __name__ == "__main__":
    unittest.main()
