"""The limit of memory in flight: what slow clients hold, and which wait."""

import re
import select
import threading
import time
import unittest
import urllib.error
import urllib.request

from proxy_case import DEADLINE_S, KIB, MIB, SANITIZED, ProxyCase, random_bytes

LIMIT = 96 * MIB  # the least with two threads
# What is no value under way: the program, 12 MiB of block buffers kept by each
# thread, 16 KiB of input for each client; and what the allocator keeps of what
# was given back, which is a part of the limit again.
BASE = 64 * MIB + LIMIT // 2
CLIENTS = 200


class MemoryCase(ProxyCase):
    options = ("--memory-in-flight", str(LIMIT), "--admin", ":0",
               "--max-connections", "1000")

    def metric(self, name):
        with urllib.request.urlopen(
                f"http://{self.proxy.addresses[-1]}/metrics") as answer:
            text = answer.read().decode()
        return int(re.search(rf"^{name} (\d+)$", text, re.MULTILINE)[1])

    def held(self):
        return self.metric("ersproxy_memory_in_flight_bytes")

    def check_memory(self):
        self.assertLessEqual(self.held(), LIMIT)
        if not SANITIZED:
            self.assertLess(self.proxy.memory("VmHWM"), LIMIT + BASE)

    def others_are_served(self, link, seed):
        for size in (10, 5000, 60_000):
            value = random_bytes(size, seed=seed + size)
            self.assertEqual(link.set(f"other{size}", value), b"STORED")
            self.same(link.get(f"other{size}"), value)
        link.set("n", b"1")
        self.assertEqual(link.ask(b"incr n 4"), b"5")
        self.assertEqual(link.store("append", "n", b"x"), b"STORED")
        self.same(link.get("n"), b"5x")


class SlowClientsTest(MemoryCase):

    def test_slow_writers_and_clients_that_never_read(self):
        link = self.link()
        long = random_bytes(16 * MIB, seed=1)
        self.assertEqual(link.set("long", long), b"STORED")
        short = random_bytes(60_000, seed=2)
        self.assertEqual(link.set("short", short), b"STORED")
        self.until(lambda: self.held() == 0, "nothing is under way")
        slow = []
        for i in range(CLIENTS):
            slow.append(self.link(receive_bytes=64 * KIB))
            if i % 4 == 0:
                slow[-1].send(b"get long\r\n" * 4)
            elif i % 4 == 1:
                slow[-1].send(b"get short\r\n" * 200)
            else:
                slow[-1].send(b"set slow%d 0 0 %d\r\n" % (i, 64 * MIB)
                              + b"x" * 500 * KIB)
            if i % 10 == 0:
                self.others_are_served(link, seed=i)
        self.check_memory()
        for i in range(20):
            self.others_are_served(link, seed=1000 + i)
        # A long value has to wait until some of the slow ones are closed.
        for i in range(3):
            self.assertEqual(link.set("mine", long), b"STORED")
            self.same(link.get("mine"), long)
        self.check_memory()
        self.assertGreater(self.metric("ersproxy_memory_waits_total"), 0)
        closed = self.metric("ersproxy_slow_clients_closed_total")
        self.assertGreater(closed, 0)
        self.assertIn("clients were slower", self.proxy.said())
        for one in slow:
            one.socket.close()
        self.until(lambda: self.held() == 0, "all is given back")
        self.others_are_served(link, seed=9)
        # An answer may be here before what it took is given back.
        self.until(lambda: self.held() == 0, "all is given back")


class UnreadAnswersTest(MemoryCase):

    def flood(self, request):
        """Sends until no more is taken; nothing is read."""
        link = self.link(receive_bytes=64 * KIB)
        link.socket.setblocking(False)
        batch = request * 1000
        sent = 0
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end and sent < 64 * MIB:
            # Full for a quarter of a second: it stopped reading.
            if not select.select([], [link.socket], [], 0.25)[1]:
                return
            sent += link.socket.send(batch)
        self.fail(f"{sent} bytes of {request} were read, and no answer was")

    def test_a_client_that_reads_no_answers_is_read_no_more(self):
        link = self.link()
        link.set("k", b"v")
        before = self.proxy.memory()
        for request in (b"stats\r\n", b"version\r\n", b"nonsense\r\n",
                        b"stats settings\r\n", b"get k\r\n", b"me k\r\n"):
            self.flood(request)
            self.same(link.get("k"), b"v")
        if not SANITIZED:  # which keep what is freed
            self.assertLess(self.proxy.memory() - before, 32 * MIB)

    def test_clients_without_end_leave_others_their_turn(self):
        ends = [self.link() for _ in range(4)]
        stop = threading.Event()

        def pipeline(one):
            batch = b"mn\r\n" * 4096
            while not stop.is_set():
                one.send(batch)
                one.read(len(batch))
        threads = [threading.Thread(target=pipeline, args=(one,))
                   for one in ends]
        for one in threads:
            one.start()
        try:
            link = self.link()
            for i in range(300):
                self.assertEqual(link.set(f"turn{i}", b"x"), b"STORED")
                self.same(link.get(f"turn{i}"), b"x")
        finally:
            stop.set()
            for one in threads:
                one.join()
        self.assertNotIn("is down", self.proxy.said())


class DeepJsonTest(MemoryCase):

    def test_deep_json_takes_little(self):
        before = self.proxy.memory()
        body = b'{"ab":' * (64 * KIB // 6)
        request = urllib.request.Request(
            f"http://{self.proxy.addresses[-1]}/v1/jobs", body,
            {"Content-Type": "application/json"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        refused.exception.close()
        self.assertEqual(refused.exception.code, 400)
        if not SANITIZED:
            self.assertLess(self.proxy.memory("VmHWM") - before, 32 * MIB)


class RefusedTest(MemoryCase):

    def test_what_one_request_may_not_have_is_refused(self):
        link = self.link()
        value = random_bytes(8 * MIB, seed=3)
        self.assertEqual(link.set("a", value), b"STORED")
        for verb in ("append", "prepend"):
            for more in (b"x", value):
                said = link.store(verb, "a", more)
                self.assertEqual(said, b"SERVER_ERROR out of memory storing "
                                 b"object")
        link.send(b"ers update a 0 %d\r\n" % (8 * MIB) + value + b"\r\n")
        self.assertTrue(link.line().startswith(b"SERVER_ERROR out of memory"))
        self.same(link.get("a"), value)
        # No number is that long: it need not be read.
        self.assertEqual(link.ask(b"incr a 1"), b"CLIENT_ERROR cannot "
                         b"increment or decrement non-numeric value")
        self.until(lambda: self.held() == 0, "all is given back")

    def test_many_long_values_at_once_take_turns(self):
        values = [random_bytes(20 * MIB, seed=i) for i in range(8)]
        links = [self.link() for _ in values]
        for link, value in zip(links, values):
            link.socket.setblocking(False)
        rest = [b"set m%d 0 0 %d\r\n" % (i, len(value)) + value + b"\r\n"
                for i, value in enumerate(values)]
        left = [memoryview(data) for data in rest]
        while any(left):
            for i, link in enumerate(links):
                try:
                    left[i] = left[i][link.socket.send(left[i][:MIB]):]
                except BlockingIOError:
                    pass
        for i, link in enumerate(links):
            link.socket.settimeout(60)
            self.assertEqual(link.line(), b"STORED")
        for link in links:
            link.send(b"get " + b" ".join(b"m%d" % i for i in range(8))
                      + b"\r\n")
        for link in links[:3]:
            got = link.values()
            for i, value in enumerate(values):
                self.same(got[f"m{i}"][0], value)
        self.check_memory()


if __name__ == "__main__":
    unittest.main()
