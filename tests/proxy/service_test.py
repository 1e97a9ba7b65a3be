"""Listeners, thousands of clients, and the end."""

import os
import resource
import signal
import socket
import unittest

from proxy_case import (KIB, MIB, SANITIZED, Link, ProxyCase, random_bytes)

IDLE_CLIENTS = 10_000


class ListenerTest(ProxyCase):
    listen = ("127.0.0.1:0", "[::1]:0")

    def test_every_listener_serves_the_same(self):
        path = os.path.join(self.folder, "socket")
        proxy = self.start_proxy("three", listen=(*self.listen, path))
        self.assertEqual(len(proxy.addresses), 3)
        self.assertTrue(proxy.addresses[1].startswith("[::1]:"))
        self.assertEqual(proxy.addresses[2], path)
        self.assertIn("listening on " + ", ".join(proxy.addresses),
                      proxy.said())
        links = [self.link(address) for address in proxy.addresses]
        for i, link in enumerate(links):
            value = random_bytes(2 * MIB, seed=i)
            self.assertEqual(link.set("x", value), b"STORED")
            for other in links:
                self.same(other.get("x"), value)
        proxy.terminate()
        self.assertEqual(proxy.wait(), 0)

    def test_a_socket_left_behind_is_taken_over(self):
        path = os.path.join(self.folder, "left")
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(path)
        proxy = self.start_proxy("over", listen=(path,))
        self.assertEqual(self.link(path).ask(b"mn"), b"MN")
        proxy.terminate()
        self.assertEqual(proxy.wait(), 0)


class ManyClientsTest(ProxyCase):

    def test_idle_clients_cost_little(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < IDLE_CLIENTS + 200:
            print(f"not run: {hard} file descriptors are allowed, "
                  f"{IDLE_CLIENTS + 200} are needed")
            return
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE,
                        (soft, hard))
        with self.link() as link:
            link.set("idle", b"x" * 100)
        links = []
        try:
            for _ in range(IDLE_CLIENTS):
                links.append(Link(self.address))
            # One after the other: what thousands at work at once take is
            # another matter.
            for link in links:
                self.assertEqual(link.get("idle"), b"x" * 100)
            # The one that left may still be counted.
            self.until(lambda: links[0].stats()["curr_connections"] ==
                       str(IDLE_CLIENTS), "all are counted")
            if not SANITIZED:
                self.assertLess(self.proxy.memory(), 64 * MIB)
        finally:
            for link in links:
                link.socket.close()
        with self.link() as link:
            self.until(
                lambda: link.stats()["curr_connections"] == "1", "all left")

    def test_clients_over_the_limit_are_turned_away(self):
        proxy = self.start_proxy("few", "--max-connections", "3")
        links = [self.link(proxy.addresses[0]) for _ in range(3)]
        for link in links:
            self.assertEqual(link.ask(b"mn"), b"MN")
        one_more = self.link(proxy.addresses[0])
        self.assertEqual(one_more.read_all(),
                         b"ERROR Too many open connections\r\n")
        links[0].socket.close()

        def served():
            with Link(proxy.addresses[0]) as link:
                try:
                    return link.ask(b"mn") == b"MN"
                except OSError:
                    return False
        self.until(served, "room for another")


class EndTest(ProxyCase):

    def test_what_was_asked_is_answered(self):
        proxy = self.start_proxy("ends")
        value = random_bytes(40 * KIB, seed=1)
        link = self.link(proxy.addresses[0], receive_bytes=64 * KIB)
        link.set("x", value)
        idle = self.link(proxy.addresses[0])
        self.assertEqual(idle.ask(b"mn"), b"MN")
        # One packet: all of it has been asked once the first is answered.
        link.send(b"get x\r\n" * 200)
        first = link.line()
        proxy.terminate()
        answer = b"VALUE x 0 %d\r\n" % len(value) + value + b"\r\nEND\r\n"
        self.same(first + b"\r\n" + link.read_all(), answer * 200)
        self.assertEqual(idle.read_all(), b"")
        self.assertEqual(proxy.wait(), 0)

    def test_a_long_value_under_way_is_sent_whole(self):
        proxy = self.start_proxy("streams")
        value = random_bytes(24 * MIB, seed=2)
        link = self.link(proxy.addresses[0], receive_bytes=64 * KIB)
        link.set("x", value)
        link.send(b"get x\r\n")
        self.assertEqual(link.line(), b"VALUE x 0 %d" % len(value))
        proxy.terminate()
        self.same(link.read_all(), value + b"\r\nEND\r\n")
        self.assertEqual(proxy.wait(), 0)

    def test_no_client_is_taken_any_more(self):
        proxy = self.start_proxy("closed")
        link = self.link(proxy.addresses[0], receive_bytes=64 * KIB)
        link.set("x", random_bytes(24 * MIB, seed=3))
        link.send(b"get x\r\n")
        link.line()
        proxy.terminate()

        def refused():
            try:
                with Link(proxy.addresses[0]):
                    return False
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:  # it came while the socket closed
                return False
        self.until(refused, "the listener is closed")
        proxy.process.send_signal(signal.SIGINT)  # the second one cuts off
        self.assertEqual(proxy.wait(), 0)
        self.assertLess(len(link.read_all()), 24 * MIB)


if __name__ == "__main__":
    unittest.main()
