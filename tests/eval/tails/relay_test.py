"""tails-relay delays, limits, cuts off and counts, before a server that
answers each line at once."""

import os
import socket
import socketserver
import sys
import threading
import time
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..",
                                    ".."))
sys.path.insert(0, os.path.join(TOP, "eval", "tails"))
# pylint: disable=wrong-import-position
import relay

PROGRAM = os.environ["RELAY"]
LONG = 100_000
DEADLINE_S = 60
DELAY_MS = 30
SIDE_BY_SIDE_MS = 300
# A cut off connection is proved by what another one gets meanwhile.
ROUNDS = 20


class Answers(socketserver.StreamRequestHandler):
    """`long` gets that many bytes, every other line itself."""

    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"x" * (LONG - 1) + b"\n" if line == b"long\n"
                             else line)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class Client:

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), DEADLINE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def ask(self, line=b"line\n"):
        """Seconds."""
        begun = time.monotonic()
        self.socket.sendall(line)
        if not self.file.readline().endswith(b"\n"):
            raise OSError("the relay has closed the connection")
        return time.monotonic() - begun

    def close(self):
        self.file.close()
        self.socket.close()


class RelayTest(unittest.TestCase):

    def setUp(self):
        servers = [Server(("127.0.0.1", 0), Answers) for _ in range(2)]
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        self.servers = servers
        self.relay = relay.Relay(PROGRAM, [server.server_address[1]
                                           for server in servers])
        self.addCleanup(self.relay.end)

    def client(self, server=0):
        client = Client(self.relay.ports[server])
        self.addCleanup(client.close)
        return client

    def counts(self, server=0):
        return self.relay.count()["servers"][server]

    def test_every_reply_of_the_one_server_is_late_by_the_delay(self):
        self.relay.delay(0, DELAY_MS)
        slow, other = self.client(0), self.client(1)
        slow_s = [slow.ask() for _ in range(5)]
        other_s = [other.ask() for _ in range(5)]
        self.assertGreaterEqual(min(slow_s), DELAY_MS / 1e3)
        self.assertLess(min(other_s), DELAY_MS / 1e3)

    def test_a_share_of_the_replies_is_late_and_counted(self):
        self.relay.late(0, 0.3, DELAY_MS)
        client = self.client()
        times = [client.ask() for _ in range(60)]
        late = self.counts()["late"]
        # 30 % of 60 are 18; fewer than 4 or more than 40 come once in 10^5.
        self.assertTrue(4 <= late <= 40, late)
        self.assertGreaterEqual(
            sum(took >= DELAY_MS / 1e3 for took in times), late)
        self.assertLess(min(times), DELAY_MS / 1e3)

    def test_a_long_reply_is_drawn_for_once(self):
        self.relay.late(0, 1, DELAY_MS)
        client = self.client()
        client.ask(b"long\n")
        self.assertEqual(self.counts()["late"], 1)

    def test_a_rate_holds_for_each_way(self):
        bits_per_s = 4_000_000
        self.relay.rate(0, bits_per_s)
        client = self.client()
        self.assertGreaterEqual(client.ask(b"long\n"), 8 * LONG / bits_per_s)
        self.assertGreaterEqual(client.ask(b"y" * (LONG - 1) + b"\n"),
                                2 * 8 * LONG / bits_per_s)
        self.relay.rate(0, 0)
        self.assertLess(min(client.ask(b"long\n") for _ in range(5)),
                        8 * LONG / bits_per_s)

    def test_a_process_is_cut_off_and_another_is_not(self):
        pid = os.getpid()
        before, other = self.client(0), self.client(1)
        before.ask()
        self.relay.cut(0, pid)
        behind = self.client(0)
        for client in (before, behind):
            client.socket.sendall(b"line\n")
        for _ in range(ROUNDS):
            other.ask()
        self.assertEqual(self.counts()["bytes_in"], len(b"line\n"))
        self.relay.heal(0)
        # What was sent meanwhile comes through.
        for client in (before, behind):
            self.assertEqual(client.file.readline(), b"line\n")
        # Process 1 has no connection here: it is the only one cut off.
        self.relay.cut(0, 1)
        before.ask()

    def test_what_passes_is_counted(self):
        client = self.client()
        for _ in range(3):
            client.ask(b"four\n")
        client.ask(b"long\n")
        self.assertEqual(self.counts(), {
            "connections": 1, "requests": 4, "replies": 4, "late": 0,
            "bytes_in": 20, "bytes_out": 15 + LONG})
        self.relay.reset()
        self.assertEqual(self.counts()["bytes_in"], 0)

    def test_depth_is_the_longest_chain_of_replies(self):
        # Longer than it takes to ask both, but where the machine stands still.
        for server in range(2):
            self.relay.delay(server, SIDE_BY_SIDE_MS)
        clients = [self.client(server) for server in range(2)]
        for _ in range(5):
            depths = []
            for _ in range(3):
                for client in clients:
                    client.socket.sendall(b"line\n")
                for client in clients:
                    client.file.readline()
                depths.append(self.relay.count()["depth"])
            self.relay.reset()
            self.assertEqual(self.relay.count()["depth"], 0)
            if depths == [1, 2, 3]:
                break
        self.assertEqual(depths, [1, 2, 3])

    def test_a_dead_server_is_dead_through_the_relay_too(self):
        self.servers[0].shutdown()
        self.servers[0].server_close()
        client = self.client()
        with self.assertRaises(OSError):
            client.ask()

    def test_what_it_does_not_know_is_refused(self):
        for words in (("delay", 2, 1), ("delay", 0), ("hurry", 0, 1)):
            with self.assertRaises(relay.RelayError):
                self.relay.ask(*words)


if __name__ == "__main__":
    unittest.main()
