"""What was flushed, and what was touched and has expired, gives its memory
back by itself, long before the next collection of garbage; what is stored as
expired takes none."""

import unittest

from proxy_case import KIB, ProxyCase, random_bytes


class SpaceTest(ProxyCase):
    up = ("-n", "6", "--memory", "64", "--no-evict")

    def test_flush(self):
        link = self.link()
        for i in range(20):
            self.assertEqual(
                link.set(f"k{i}", random_bytes(300 * KIB, seed=i)), b"STORED")
        self.assertTrue(self.blocks())
        self.assertEqual(link.ask(b"flush_all"), b"OK")
        self.until(lambda: not self.blocks(), "what was flushed has gone")

    def test_touch(self):
        link = self.link()
        value = random_bytes(300 * KIB, seed=1)
        self.assertEqual(link.set("lives", value), b"STORED")
        lives = self.blocks()
        for i in range(5):
            self.assertEqual(link.set(f"k{i}", value), b"STORED")
            self.assertEqual(link.ask(f"touch k{i} 3".encode()), b"TOUCHED")
        self.until(lambda: self.blocks() == lives, "what has expired has gone")
        self.same(link.get("lives"), value)

    def test_stored_as_expired(self):
        link = self.link()
        value = random_bytes(300 * KIB, seed=1)
        self.assertEqual(link.set("k", value), b"STORED")
        link.send(b"set k 0 -1 %d\r\n%s\r\n" % (len(value), value))
        self.assertEqual(link.line(), b"STORED")
        self.until(lambda: not self.blocks(), "nothing is left")
        self.assertEqual(link.ask(b"get k"), b"END")


if __name__ == "__main__":
    unittest.main()
