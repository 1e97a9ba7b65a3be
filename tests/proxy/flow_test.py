"""Order, halves, and clients that are slow or leave."""

import unittest

from proxy_case import KIB, MIB, SANITIZED, ProxyCase, random_bytes

SLOW_BYTES = 64 * MIB
# AddressSanitizer keeps up to 256 MiB of what was freed.
GROWTH_BYTES = (64 + 512 * SANITIZED) * MIB


class OrderTest(ProxyCase):

    def test_pipelined_requests_are_answered_in_order(self):
        link = self.link()
        value = random_bytes(300_000, seed=1)
        link.set("long", value)
        sent, wanted = [], []
        for i in range(300):
            sent.append(b"set p%d 0 0 5\r\n%05d\r\nget p%d\r\n" % (i, i, i))
            wanted.append(b"STORED\r\nVALUE p%d 0 5\r\n%05d\r\nEND\r\n"
                          % (i, i))
            if i % 50 == 0:
                sent.append(b"get long\r\n")
                wanted.append(b"VALUE long 0 300000\r\n" + value
                              + b"\r\nEND\r\n")
            sent.append(b"get none\r\nbogus\r\nmn\r\n")
            wanted.append(b"END\r\nERROR\r\nMN\r\n")
        link.send(b"".join(sent))
        link.half_close()
        self.same(link.read_all(), b"".join(wanted))

    def test_a_client_reads_what_it_has_just_written(self):
        link = self.link()
        sent, wanted = [], []
        for i, size in enumerate((0, 10, 4096, 70_000, MIB, 9, 5000) * 4):
            value = bytes([65 + i % 26]) * size
            head = b"0 %d\r\n" % size
            sent.append(b"set r 0 " + head + value + b"\r\nget r\r\n")
            wanted.append(b"STORED\r\nVALUE r " + head + value
                          + b"\r\nEND\r\n")
        sent.append(b"set r 0 0 1\r\n1\r\nincr r 1\r\nincr r 1\r\n"
                    b"delete r\r\nget r\r\n")
        wanted.append(b"STORED\r\n2\r\n3\r\nDELETED\r\nEND\r\n")
        link.send(b"".join(sent))
        link.half_close()
        self.same(link.read_all(), b"".join(wanted))

    def test_quiet_requests_leave_no_gap(self):
        link = self.link()
        link.send(b"set q 0 0 1 noreply\r\n1\r\nincr q 1 noreply\r\n"
                  b"incr q 1\r\nms q 1 q\r\n7\r\nmg none v q\r\nget q\r\n")
        self.assertEqual(link.line(), b"3")
        self.assertEqual(link.values()["q"][0], b"7")

    def test_a_half_closed_connection_gets_its_answers(self):
        value = random_bytes(3 * MIB, seed=2)
        self.link().set("h", value)
        link = self.link()
        link.send(b"get h\r\nset h2 0 0 2\r\nok\r\nget h h2\r\n")
        link.half_close()
        self.same(link.line(), b"VALUE h 0 %d" % len(value))
        self.same(link.read(len(value) + 7), value + b"\r\nEND\r\n")
        self.assertEqual(link.line(), b"STORED")
        self.same(link.values()["h"][0], value)
        self.assertEqual(link.read_all(), b"")


class ValueEndTest(ProxyCase):

    def test_a_value_byte_by_byte(self):
        link = self.link()
        value = random_bytes(600, seed=3)
        for byte in b"set b 0 0 600\r\n" + value + b"\r\nget b\r\n":
            link.send(bytes([byte]))
        self.assertEqual(link.line(), b"STORED")
        self.same(link.values()["b"][0], value)

    def test_what_follows_a_value_must_be_crlf(self):
        link = self.link()
        self.assertEqual(link.set("e", b"old"), b"STORED")
        for size in (1, 4096, 70_000, 2 * MIB, 9 * MIB):
            with self.subTest(size=size):
                link.send(b"set e 0 0 %d\r\n" % size + b"x" * size
                          + b"yzmn\r\n")
                self.assertEqual(link.line(), b"CLIENT_ERROR bad data chunk")
                self.assertEqual(link.line(), b"MN")
                self.same(link.get("e"), b"old")
                self.until(lambda: not self.blocks(), "its blocks go")

    def test_a_client_that_leaves_within_a_value_stores_nothing(self):
        watch = self.link()
        self.assertEqual(watch.set("l", b"old"), b"STORED")
        for size in (10, 4096, 70_000, 2 * MIB, 20 * MIB):
            with self.subTest(size=size):
                for key in (b"l", b"fresh"):
                    with self.link() as link:
                        link.send(b"set %s 0 0 %d\r\n" % (key, size)
                                  + b"x" * (size - 1))
                self.until(
                    lambda: watch.stats()["curr_connections"] == "1",
                    "only the watcher is left")
                self.same(watch.get("l"), b"old")
                self.assertIsNone(watch.get("fresh"))
                self.until(lambda: not self.blocks(), "its blocks go")


class SlowReaderTest(ProxyCase):

    def slow(self, request, receive_bytes=64 * KIB):
        """Asks and never reads; returns the growth that others see."""
        watch = self.link()
        watch.set("w", b"1")
        self.proxy.forget_peak()
        before = self.proxy.memory()
        link = self.link(receive_bytes=receive_bytes)
        link.send(request)
        asked = request.count(b"get ")
        link.wait_for_answer()
        for i in range(2000):
            self.assertEqual(watch.ask(b"incr w 1"), b"%d" % (i + 2))
        self.assertEqual(watch.get("w"), b"2001")
        return self.proxy.memory("VmHWM") - before, link, asked

    def test_gets_of_64_mib_that_nobody_reads(self):
        setter = self.link()
        for size in (4000, 60_000, MIB, 8 * MIB, 16 * MIB):
            with self.subTest(size=size):
                value = random_bytes(size, seed=size)
                setter.set("s", value)
                growth, link, asked = self.slow(
                    b"get s\r\n" * max(2, SLOW_BYTES // size))
                self.assertLess(growth, GROWTH_BYTES)
                # A late read finds all as it should be.
                for _ in range(asked):
                    self.same(link.values()["s"][0], value)

    def test_many_keys_of_64_mib_that_nobody_reads(self):
        setter = self.link()
        keys = [f"k{i}" for i in range(64)]
        for key in keys:
            setter.set(key, key.encode() * (MIB // len(key)))
        growth, link, _ = self.slow(f"get {' '.join(keys)}\r\n".encode())
        self.assertLess(growth, GROWTH_BYTES)
        for key, (value, _, _) in link.values().items():
            self.same(value, key.encode() * (MIB // len(key)))

    def test_eight_slow_readers_together(self):
        value = random_bytes(MIB, seed=6)
        self.link().set("e", value)
        before = self.proxy.memory()
        links = [self.slow(b"get e\r\n" * 64)[1] for _ in range(8)]
        self.assertLess(self.proxy.memory() - before, GROWTH_BYTES)
        for link in links:
            self.same(link.values()["e"][0], value)


if __name__ == "__main__":
    unittest.main()
