"""Each command of the text protocol, over values of every kind of length."""

import struct
import unittest

from metrics_case import frame
from proxy_case import KIB, MIB, SIZES, ProxyCase, random_bytes


class ValuesTest(ProxyCase):

    def test_each_length_is_given_back(self):
        link, other = self.link(), self.link()
        for size in SIZES:
            with self.subTest(size=size):
                value = random_bytes(size, seed=size)
                self.assertEqual(link.set("v", value, flags=size), b"STORED")
                got, flags, _ = other.get_many("v")["v"]
                self.same(got, value)
                self.assertEqual(flags, size)

    def test_a_length_takes_the_place_of_any_other(self):
        link = self.link()
        for one in (0, 4095, 4096, 70_000, MIB, 8 * MIB):
            for two in (0, 4095, 4096, 70_000, MIB, 8 * MIB):
                with self.subTest(one=one, two=two):
                    self.assertEqual(link.set("v", b"1" * one), b"STORED")
                    self.assertEqual(link.set("v", b"2" * two), b"STORED")
                    self.same(link.get("v"), b"2" * two)

    def test_cas(self):
        link, other = self.link(), self.link()
        for size in SIZES:
            with self.subTest(size=size):
                value, newer = (random_bytes(size, seed=s) for s in (1, 2))
                self.assertEqual(link.set("c", value), b"STORED")
                got, _, cas = link.get_many("c", verb="gets")["c"]
                self.same(got, value)
                self.assertEqual(
                    other.store("cas", "c", newer, more=f" {cas}"), b"STORED")
                self.assertEqual(
                    link.store("cas", "c", value, more=f" {cas}"), b"EXISTS")
                got, _, later = link.get_many("c", verb="gets")["c"]
                self.same(got, newer)
                self.assertNotEqual(cas, later)
                self.assertEqual(link.ask(b"delete c"), b"DELETED")
                self.assertEqual(
                    link.store("cas", "c", value, more=f" {later}"),
                    b"NOT_FOUND")
                self.assertIsNone(link.get("c"))

    def test_add_replace_append_prepend(self):
        link = self.link()
        for size in SIZES[:-1]:
            with self.subTest(size=size):
                value = random_bytes(size, seed=3)
                link.ask(b"delete a")
                for verb in ("replace", "append", "prepend"):
                    self.assertEqual(link.store(verb, "a", value),
                                     b"NOT_STORED")
                self.assertEqual(link.store("add", "a", value), b"STORED")
                self.assertEqual(link.store("add", "a", b"no"), b"NOT_STORED")
                self.assertEqual(link.store("append", "a", b">"), b"STORED")
                self.assertEqual(link.store("prepend", "a", b"<"), b"STORED")
                self.same(link.get("a"), b"<" + value + b">")
                self.assertEqual(link.store("replace", "a", value), b"STORED")
                self.same(link.get("a"), value)

    def test_long_values_are_refused_before_a_server_stores_of_them(self):
        link = self.link()
        value = random_bytes(3 * MIB, seed=4)
        self.assertEqual(link.set("there", b"v"), b"STORED")
        cas = link.get_many("there", verb="gets")["there"][2]

        def received():
            return sum(int(self.server_link(1 + i).stats()["bytes_read"])
                       for i in range(self.servers.count(",") + 1))

        before = received()
        for verb, key, more, answer in (
                ("add", "there", "", b"NOT_STORED"),
                ("replace", "none", "", b"NOT_STORED"),
                ("cas", "none", f" {cas}", b"NOT_FOUND"),
                ("cas", "there", f" {cas + 1}", b"EXISTS")):
            # The value is swallowed: what follows is a request.
            self.assertEqual(link.store(verb, key, value, more=more), answer)
            self.assertEqual(link.get("there"), b"v")
        for words, answer in ((b"there 3145728 ME", b"NS"),
                              (b"none 3145728 MR", b"NS")):
            self.assertEqual(link.ask(b"ms " + words + b"\r\n" + value),
                             answer)
        self.assertEqual(
            link.ask(b"add there 0 0 3145728\r\n" + value + b"x\r\nmn"),
            b"CLIENT_ERROR bad data chunk")
        self.assertEqual(link.line(), b"ERROR")
        self.assertEqual(link.line(), b"MN")
        # Requests, and signs of life: a block of it is longer than all those.
        self.assertLess(received() - before, 100 * KIB)
        for verb, key, more in (("add", "none", ""), ("replace", "none", ""),
                                ("cas", "there", f" {cas}")):
            self.assertEqual(link.store(verb, key, value, more=more),
                             b"STORED")
            self.same(link.get(key), value)

    def test_touch_and_delete(self):
        link = self.link()
        for size in SIZES:
            with self.subTest(size=size):
                value = random_bytes(size, seed=4)
                self.assertEqual(link.set("t", value, exptime=100), b"STORED")
                self.assertEqual(link.ask(b"touch t 5000"), b"TOUCHED")
                seconds = int(link.ask(b"mg t t").split()[1][1:])
                self.assertTrue(4900 < seconds <= 5000, seconds)
                self.same(link.get("t"), value)
                # A negative time is over at once.
                self.assertEqual(link.ask(b"touch t -1"), b"TOUCHED")
                self.assertIsNone(link.get("t"))
                self.assertEqual(link.ask(b"touch t 0"), b"NOT_FOUND")
                self.assertEqual(link.set("t", value), b"STORED")
                self.assertEqual(link.ask(b"delete t"), b"DELETED")
                self.assertEqual(link.ask(b"delete t"), b"NOT_FOUND")
                self.assertIsNone(link.get("t"))

    def test_every_get_that_touches_does_so_at_each_length(self):
        link, binary = self.link(), self.link()

        def seconds_left():
            return int(link.ask(b"mg g t").split()[1][1:])

        def by_text(verb):
            link.send(b"%s 5000 g\r\n" % verb)
            return link.values()["g"][0]

        def by_meta():
            _, length, ttl = link.ask(b"mg g t T5000 v").split()
            # Asked for before the new one is given, it is the old one.
            self.assertIn(int(ttl[1:]), range(90, 101))
            return link.read(int(length) + 2)[:-2]

        def by_binary():
            binary.send(frame(0x1d, b"g", struct.pack(">I", 5000)))
            head = binary.read(24)
            extras, length = head[4], struct.unpack(">I", head[8:12])[0]
            return binary.read(length)[extras:]

        ways = {"gat": lambda: by_text(b"gat"),
                "gats": lambda: by_text(b"gats"),
                "mg": by_meta, "binary": by_binary}
        for size in SIZES:
            value = random_bytes(size, seed=6)
            for name, way in ways.items():
                with self.subTest(size=size, way=name):
                    self.assertEqual(link.set("g", value, exptime=100),
                                     b"STORED")
                    self.same(way(), value)
                    self.assertIn(seconds_left(), range(4900, 5001))

    def test_an_access_is_one_through_any_proxy(self):
        link = self.link()
        # This one remembers no manifest yet, and so asks for each twice.
        other = self.link(self.start_proxy("other").addresses[0])
        for size in (1, 5000, 70_000):
            with self.subTest(size=size):
                key, value = b"read%d" % size, random_bytes(size, seed=5)
                link.set(key.decode(), value)
                self.assertEqual(other.ask(b"mg " + key + b" h v"),
                                 b"VA %d h0" % size)
                self.same(other.read(size + 2), value + b"\r\n")
                self.assertEqual(link.ask(b"mg " + key + b" h u"), b"HD h1")
        self.assertNotEqual(link.lines(b"ers transition read5000 wide"), [])
        self.assertEqual(link.ask(b"mg read5000 h u"), b"HD h0")

    def test_what_was_there_before_shows_its_accesses(self):
        link = self.link()
        for number in range(1, 1 + self.servers.count(",") + 1):
            self.server_link(number).set("before", b"x")
        self.assertEqual(link.ask(b"mg before h u"), b"HD h0")
        self.assertEqual(link.ask(b"mg before h"), b"HD h0")
        self.assertEqual(link.ask(b"mg before h"), b"HD h1")

    def test_numbers(self):
        link = self.link()
        self.assertEqual(link.ask(b"incr n 1"), b"NOT_FOUND")
        link.set("n", b"10")
        self.assertEqual(link.ask(b"incr n 5"), b"15")
        self.assertEqual(link.ask(b"decr n 20"), b"0")
        link.set("n", b"18446744073709551615")
        self.assertEqual(link.ask(b"incr n 1"), b"0")
        for size in SIZES[-6:] + [1]:
            link.set("n", b"x" * size)
            self.assertIn(b"non-numeric", link.ask(b"incr n 1"))
            self.same(link.get("n"), b"x" * size)

    def test_many_keys_in_one_line(self):
        link = self.link()
        values = {f"m{size}": random_bytes(size, seed=5) for size in SIZES}
        for key, value in values.items():
            self.assertEqual(link.set(key, value), b"STORED")
        got = link.get_many(*values, "nothing", verb="gets")
        self.assertEqual(list(got), list(values))
        for key, value in values.items():
            self.same(got[key][0], value, key)
        self.assertEqual(len({cas for _, _, cas in got.values()}), len(got))

    def test_flush(self):
        link = self.link()
        for size in SIZES:
            link.set(f"f{size}", b"x" * size)
        self.assertEqual(link.ask(b"flush_all"), b"OK")
        self.assertEqual(link.get_many(*[f"f{size}" for size in SIZES]), {})


class FirstOfAThreadTest(ProxyCase):
    up = ("-n", "4", "--item-max", "1")
    options = ("--scheme", "rs:2,1", "--threads", "6")

    def test_a_thread_that_has_no_connection_yet_makes_blocks_that_fit(self):
        value = random_bytes(5 * MIB, seed=1)
        # One of the threads reads the view; the kernel spreads the others.
        self.assertEqual(self.link().set("k", b"v"), b"STORED")
        for _ in range(24):
            link = self.link()
            self.assertEqual(link.set("k", value), b"STORED")
        self.same(self.link().get("k"), value)


if __name__ == "__main__":
    unittest.main()
