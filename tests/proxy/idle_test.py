"""Clients that are waited for longer than they may be."""

import unittest

from daemon_case import DaemonCase
from proxy_case import KIB, MIB, Link
from stalls import again_if_still

FIVE_SECONDS = "limits: {idle_timeout_s: 5}\n"


# Those that are not idle are when the machine stands still for that long.
@again_if_still(2)
class IdleTest(DaemonCase):

    def closed(self, link):
        """Whether the daemon has; takes nothing that it says before."""
        link.socket.setblocking(False)
        try:
            return link.socket.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True
        finally:
            link.socket.settimeout(60)

    def link(self, daemon, **options):
        link = Link(daemon.addresses[0], **options)
        self.addCleanup(link.socket.close)
        return link

    def test_an_idle_client_is_closed(self):
        daemon = self.start("--config", self.config(FIVE_SECONDS))
        busy = self.link(daemon)
        self.assertEqual(busy.set("big", bytes(16 * MIB)), b"STORED")
        never = self.link(daemon)            # has asked nothing
        done = self.link(daemon)             # has its answer
        self.assertEqual(done.ask(b"mn"), b"MN")
        begun = self.link(daemon)            # a line that does not end
        begun.send(b"get a-k")
        short = self.link(daemon)            # a value that does not come
        short.send(b"set a 0 0 100\r\nabc")
        long = self.link(daemon)
        long.send(b"set b 0 0 %d\r\n" % MIB + bytes(300 * KIB))
        deaf = self.link(daemon, receive_bytes=4 * KIB)  # takes no answer
        deaf.send(b"get big\r\n")
        deaf.wait_for_answer()

        def all_closed():
            self.assertEqual(busy.ask(b"mn"), b"MN")  # one that asks is none
            return all(map(self.closed, (never, done, begun, short, long)))
        self.until(all_closed, "those without a word are closed")
        self.until(lambda: busy.stats()["idle_kicks"] == "6",
                   "the deaf one too")
        deaf.read_all()
        self.assertIsNone(busy.get("a"))
        self.assertIsNone(busy.get("b"))
        self.assertEqual(busy.stats()["curr_connections"], "1")

    def test_a_client_that_moves_a_byte_is_not_idle(self):
        daemon = self.start("--config", self.config(FIVE_SECONDS))
        slow, idle = self.link(daemon), self.link(daemon)
        slow.send(b"set k 0 0 100000\r\n")
        sent = 0

        def idle_is_closed():
            nonlocal sent
            slow.send(b"x")
            sent += 1
            return self.closed(idle)
        self.until(idle_is_closed, "the other one is closed")
        slow.send(b"x" * (100000 - sent) + b"\r\n")
        self.assertEqual(slow.line(), b"STORED")

    def test_off_by_default_and_on_by_sighup(self):
        daemon = self.start("--config", self.config(""))
        idle, busy = self.link(daemon), self.link(daemon)
        self.assertEqual(busy.stats("settings")["idle_timeout"], "0")
        self.config(FIVE_SECONDS)
        self.assertIn("reloaded", daemon.reload())
        self.assertEqual(busy.stats("settings")["idle_timeout"], "5")

        def closed():
            self.assertEqual(busy.ask(b"mn"), b"MN")
            return self.closed(idle)
        self.until(closed, "one that came before is closed, too")


if __name__ == "__main__":
    unittest.main()
