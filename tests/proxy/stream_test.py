"""What a reader in the middle of a long value sees of what others do.

Longer than all that kernel and daemon hold between them, so that a reader that
pauses does stop the stream.
"""

import unittest

from proxy_case import KIB, MIB, ProxyCase, random_bytes
from ctl_case import block_keys

LONG = 24 * MIB


class StreamCase(ProxyCase):

    def begun(self, value, keys=b"long"):
        """A link that has asked for `value` and read its first 64 KiB."""
        earlier = self.blocks()
        self.assertEqual(self.link().set("long", value), b"STORED")
        self.its_blocks = self.blocks() - earlier
        link = self.link(receive_bytes=64 * KIB)
        link.send(b"get " + keys + b"\r\nmn\r\n")
        self.assertEqual(link.line(), b"VALUE long 0 %d" % len(value))
        self.same(link.read(64 * KIB), value[:64 * KIB])
        return link

    def its_blocks_go(self):
        """Those of a value of several groups may be read for seconds yet."""
        self.assertGreater(len(self.its_blocks), 0)
        self.until(lambda: not self.its_blocks & self.blocks(),
                   "its blocks go")

    def cut_off(self, link, value):
        """The rest is a part of the old value, and then the end."""
        rest = link.read_all()
        self.assertLess(len(rest), len(value) - 64 * KIB)
        self.same(rest, value[64 * KIB:64 * KIB + len(rest)])


class ChangedTest(StreamCase):

    def test_an_overwrite_closes_and_never_mixes(self):
        for size in (9 * MIB, 16 * MIB, LONG):
            with self.subTest(size=size):
                old, new = (random_bytes(size, seed=s) for s in (1, 2))
                link = self.begun(old)
                self.assertEqual(self.link().set("long", new), b"STORED")
                if size == LONG:
                    self.its_blocks_go()
                    self.cut_off(link, old)
                else:  # all of it may have been under way
                    rest = link.read(size - 64 * KIB)
                    self.same(rest, old[64 * KIB:][:len(rest)])
                self.same(self.link().get("long"), new)

    def test_a_delete_closes(self):
        value = random_bytes(LONG, seed=3)
        link = self.begun(value)
        self.assertEqual(self.link().ask(b"delete long"), b"DELETED")
        self.its_blocks_go()
        self.cut_off(link, value)

    def test_nothing_follows_what_was_cut_off(self):
        value = random_bytes(LONG, seed=8)
        for second in (b"short", b"other"):
            with self.subTest(second=second):
                size = KIB if second == b"short" else LONG
                self.assertEqual(
                    self.link().set(second.decode(), bytes(size)), b"STORED")
                link = self.begun(value, b"long " + second)
                self.assertEqual(self.link().ask(b"delete long"), b"DELETED")
                self.its_blocks_go()
                self.cut_off(link, value)

    def test_an_update_closes_and_never_mixes(self):
        value = random_bytes(LONG, seed=4)
        link = self.begun(value)
        self.assertEqual(
            self.link().ask(b"ers update long %d 3\r\nnew" % (LONG - 3)),
            b"UPDATED")
        rest = link.read(LONG - 64 * KIB)
        # What is not whole is cut off; what is whole is one version.
        self.same(rest, value[64 * KIB:][:len(rest)])

    def test_a_change_of_width_is_not_seen(self):
        value = random_bytes(LONG, seed=5)
        link = self.begun(value)
        for width in ("wide", "narrow"):
            self.assertIn(
                b"STAT width " + width.encode(),
                self.link().lines(f"ers transition long {width}".encode()))
        self.same(link.read(LONG - 64 * KIB), value[64 * KIB:])
        self.assertEqual(link.line(), b"")
        self.assertEqual(link.line(), b"END")


class EarlyCase(ProxyCase):
    """Blocks leave while their value comes: 20 of data, four to a stripe, and
    a block of parity for each."""

    options = ("--threads", "1")
    block = 50_000
    length = 20 * block
    stored = 20 + 5
    old, new = (random_bytes(20 * 50_000, seed=s) for s in (8, 9))

    def setUp(self):
        super().setUp()
        self.link().ask(b"delete early")
        self.assertEqual(self.link().set("early", self.old), b"STORED")
        # Those of the test before may be on their way out.
        self.until(lambda: len(self.blocks()) == self.stored, "those of it alone")

    def begun_set(self, sent, staged):
        """A link that has sent so much of the new value."""
        link = self.link()
        link.send(b"set early 0 0 %d\r\n" % self.length + self.new[:sent])
        self.until(lambda: len(self.blocks()) == self.stored + staged,
                   "blocks leave")
        self.same(self.link().get("early"), self.old)
        return link


class EarlyBlocksTest(EarlyCase):

    def the_others_go(self):
        self.until(lambda: len(self.blocks()) == self.stored, "the others go")

    def test_blocks_leave_before_the_value_is_there(self):
        for sent, staged in ((1 * self.block, 1), (4 * self.block, 4 + 1),
                             (11 * self.block - 1, 10 + 2),
                             (self.length - 1, 19 + 4)):
            with self.subTest(sent=sent):
                link = self.begun_set(sent, staged)
                link.send(self.new[sent:] + b"\r\n")
                self.assertEqual(link.line(), b"STORED")
                self.same(self.link().get("early"), self.new)
                self.assertEqual(self.link().set("early", self.old), b"STORED")
                self.the_others_go()

    def test_nothing_is_left_of_a_value_that_ends_wrongly(self):
        link = self.begun_set(10 * self.block, 10 + 2)
        link.send(self.new[10 * self.block:] + b"xx\r\n")
        self.assertEqual(link.line(), b"CLIENT_ERROR bad data chunk")
        self.the_others_go()
        self.same(self.link().get("early"), self.old)

    def test_nothing_is_left_of_a_client_that_leaves(self):
        link = self.begun_set(10 * self.block, 10 + 2)
        link.socket.close()
        self.the_others_go()
        self.same(self.link().get("early"), self.old)


class EarlyKilledTest(EarlyCase):

    def test_blocks_that_died_while_the_value_came_are_not_counted_on(self):
        # Nothing of the object goes to these two any more: neither a copy of
        # the manifest, nor the last block and its parity.
        members = self.servers.split(",")
        shown = self.ctl("stat", "early").decode().splitlines()
        replicas = next(line for line in shown if line.startswith("manifests"))
        blocks = [line.split() for line in shown if line.endswith(" yes")]
        last = {words[5] for words in blocks if words[1] in ("19", "24")}
        done = [name for name in members
                if name not in replicas and name not in last]
        self.assertEqual(len(done), 2)
        link = self.begun_set(self.length - 1, 19 + 4)
        for name in done:
            self.tool("kill", str(1 + members.index(name)))
        # A write that needs them finds out.
        self.assertIn(b"SERVER_ERROR", self.link().set("other", self.new))
        link.send(self.new[-1:] + b"\r\n")
        self.assertRegex(link.line(), rb"SERVER_ERROR .* no server to go to")


class DamagedTest(StreamCase):

    def damage(self, server):
        """Flips a bit of every block; how many there were."""
        link, damaged = self.server_link(server), 0
        for key in block_keys(self.servers.split(",")[server - 1]):
            key = key.decode()
            item = link.get(key)
            if item is None:  # of what was replaced, and gone since
                continue
            at = len(item) // 2
            bad = item[:at] + bytes([item[at] ^ 1]) + item[at + 1:]
            self.assertEqual(link.set(key, bad), b"STORED")
            damaged += 1
        return damaged

    def test_damaged_blocks_never_leave(self):
        for size in (100_000, 3 * MIB, LONG):
            value = random_bytes(size, seed=8)
            damaged = 0
            for server in (1, 4):
                self.assertEqual(self.link().set("long", value), b"STORED")
                damaged += self.damage(server)
                with self.subTest(size=size, server=server):
                    self.same(self.link().get("long"), value)
            self.assertGreater(damaged, 0)
            # More than the code survives: what comes is right as far as it goes.
            for server in range(1, 7):
                self.damage(server)
            link = self.link()
            link.send(b"get long\r\n")
            link.half_close()
            answer = link.read_all()
            head = b"VALUE long 0 %d\r\n" % size
            if answer.startswith(head):
                self.assertLess(len(answer), len(head) + size)
                self.same(answer, (head + value)[:len(answer)])
            else:
                self.assertTrue(answer.startswith(b"SERVER_ERROR "), answer)


class OneKilledTest(StreamCase):

    def test_one_dead_server_is_not_seen(self):
        value = random_bytes(LONG, seed=6)
        link = self.begun(value)
        self.tool("kill", "2")
        self.same(link.read(LONG - 64 * KIB), value[64 * KIB:])
        self.assertEqual(link.line(), b"")
        self.assertEqual(link.line(), b"END")
        self.assertEqual(link.line(), b"MN")


class TooManyKilledTest(StreamCase):

    def test_more_dead_servers_than_the_code_bears_close(self):
        value = random_bytes(LONG, seed=7)
        link = self.begun(value)
        for server in ("1", "4"):
            self.tool("kill", server)
        self.cut_off(link, value)
        # A reader that asks now gets no whole value either.
        late = self.link()
        late.send(b"get long\r\n")
        late.half_close()
        self.assertLess(len(late.read_all()), len(value))
        self.assertEqual(self.link().ask(b"mn"), b"MN")


if __name__ == "__main__":
    unittest.main()
