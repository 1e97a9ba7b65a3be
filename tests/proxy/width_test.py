"""What clients that use CAS see of objects whose width changes."""

import threading
import unittest

from proxy_case import KIB, MIB, Link, ProxyCase, random_bytes

WIDTHS = ("wide", "narrow")


class WidthTest(ProxyCase):

    def change(self, link, key, width):
        """Whether it did."""
        link.send(f"ers transition {key} {width}\r\n".encode())
        lines = [link.line()]
        while lines[-1].startswith(b"STAT "):
            lines.append(link.line())
        return lines[-1] == b"END"

    def gets(self, link, key):
        """(value, flags, CAS)"""
        return link.get_many(key, verb="gets")[key]

    def test_a_change_of_width_changes_nothing_else(self):
        link = self.link()
        for size in (1, 5000, 70_000, MIB):
            value = random_bytes(size, seed=size)
            link.set("w", value, flags=size, exptime=1000)
            before = self.gets(link, "w")
            for width in WIDTHS:
                with self.subTest(size=size, width=width):
                    self.assertTrue(self.change(link, "w", width))
                    self.assertTrue(self.gets(link, "w") == before)
                    self.assertIn(int(link.ask(b"mg w t").split()[1][1:]),
                                  range(900, 1001))
            cas = before[2]
            self.assertEqual(link.store("cas", "w", b"new", more=f" {cas}"),
                             b"STORED")
            self.assertEqual(link.store("cas", "w", b"no", more=f" {cas}"),
                             b"EXISTS")
            self.same(link.get("w"), b"new")

    def test_a_change_of_width_keeps_a_mark(self):
        link = self.link()
        for size in (1, 5000, 70_000):
            link.set("m", random_bytes(size, seed=size))
            self.assertEqual(link.ask(b"md m I T30"), b"HD")
            self.assertTrue(self.change(link, "m", "wide"))
            self.assertEqual(link.ask(b"mg m"), b"HD X W")
            self.assertTrue(self.change(link, "m", "narrow"))
            self.assertEqual(link.ask(b"mg m"), b"HD Z X")
            # So does what the value comes with.
            self.assertEqual(link.ask(b"mg m s v"),
                             b"VA %d s%d Z X" % (size, size))
            link.read(size + 2)

    def test_a_cas_beside_changes_of_width_is_never_lost(self):
        length, rounds = 256 * KIB, 60
        values = [random_bytes(length, seed=i) for i in range(2)]
        link = self.link()
        link.set("c", values[0])
        stop, changed = threading.Event(), []

        def keep_changing():
            with Link(self.address) as other:
                while not stop.is_set():
                    for width in WIDTHS:
                        changed.append(self.change(other, "c", width))

        thread = threading.Thread(target=keep_changing)
        thread.start()
        try:
            stored, cut_off = 0, False
            while stored < rounds or sum(changed) < rounds or cut_off:
                value, _, cas = self.gets(link, "c")
                if cut_off and value == values[(stored + 1) % 2]:
                    stored += 1
                self.same(value, values[stored % 2], f"round {stored}")
                said = link.store("cas", "c", values[(stored + 1) % 2],
                                  more=f" {cas}")
                # Others that make many changes in the middle of this one leave
                # open whether it was one of them.
                cut_off = b"was cut off" in said
                stored += not cut_off
                if not cut_off:
                    self.assertEqual(said, b"STORED")
        finally:
            stop.set()
            thread.join()
        self.same(link.get("c"), values[stored % 2])


if __name__ == "__main__":
    unittest.main()
