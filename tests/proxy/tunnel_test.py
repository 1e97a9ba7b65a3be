"""Tunnels through the admin port (HTTP's CONNECT), byte by byte."""

import contextlib
import http.client
import json
import os
import queue
import resource
import signal
import socket
import threading
import time
import unittest

from accepting import Accepting
from daemon_case import DaemonCase
from proxy_case import DEADLINE_S, KIB, Link, MIB, random_bytes, split_address
from stalls import again_if_still

TOKEN = "0123456789abcdef" * 2
MARK = b"through a tunnel"


class FakeServer(Accepting):
    """Connections that begin with MARK are the test's."""

    def __init__(self):
        super().__init__()
        self.marked = queue.Queue()

    def serve(self, link):
        link.settimeout(DEADLINE_S)
        with contextlib.suppress(OSError):
            if link.recv(len(MARK), socket.MSG_WAITALL) == MARK:
                self.marked.put(link)
                return
        link.close()

    def next(self):
        return self.marked.get(timeout=DEADLINE_S)


class TunnelCase(DaemonCase):

    def connect(self, daemon, authority, *headers, body=b""):
        """(the answer's code, its head, the connection)"""
        link = Link(daemon.addresses[-1])
        self.addCleanup(link.socket.close)
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}",
                 *headers, "", ""]
        link.send("\r\n".join(lines).encode() + body)
        head = link.until(b"\r\n\r\n").decode()
        return int(head.split()[1]), head, link

    def opened(self, daemon, authority):
        code, head, link = self.connect(daemon, authority)
        self.assertEqual(code, 200, head)
        return link

    def error(self, head, link):
        length = int(head.lower().partition("content-length: ")[2].split()[0])
        return json.loads(link.read(length))["error"]

    def status(self, daemon):
        link = http.client.HTTPConnection(*split_address(daemon.addresses[-1]),
                                          timeout=DEADLINE_S)
        link.request("GET", "/status")
        answer = json.loads(link.getresponse().read())
        link.close()
        return answer["tunnels"]

    def ended(self, link):
        """Waits for the end of a connection; what came before it."""
        return link.read_all()


# A daemon that stood still drops what waited in its tunnels.
@again_if_still(0.3)
class MemcachedTest(TunnelCase):

    def begin(self, more=""):
        return self.start("--config", self.config(f"admin: 127.0.0.1:0\n{more}"))

    def test_what_is_sent_before_the_answer_reaches_no_server(self):
        """It may be as old as it likes, and a write of long ago must not be
        applied."""
        daemon = self.begin()
        server = self.servers.split(",")[0]
        early = Link(daemon.addresses[-1])
        self.addCleanup(early.socket.close)
        early.send(f"CONNECT {server} HTTP/1.1\r\n\r\n"
                   "set early 0 0 1\r\nx\r\n".encode())
        self.assertIn(b" 400 ", early.until(b"\r\n\r\n"))
        # Also where the daemon has read no further than the request's end: it
        # reads so many bytes at a time.
        head = f"CONNECT {server} HTTP/1.1\r\nA: ".encode()
        head += b"a" * (4 * KIB - len(head) - 4) + b"\r\n\r\n"
        later = Link(daemon.addresses[-1])
        self.addCleanup(later.socket.close)
        later.send(head + b"set early 0 0 1\r\nx\r\n")
        self.assertIn(b" 400 ", later.until(b"\r\n\r\n"))
        link = self.opened(daemon, server)
        self.assertIsNone(link.get("early"))
        daemon.stop()

    def test_nothing_behind_what_is_refused_is_taken_for_a_request(self):
        daemon = self.begin()
        length = 64  # of each; what the daemon reads at a time is so many

        def padded(line):
            return (line + "\r\nA: ").ljust(length - 4, "a") + "\r\n\r\n"
        link = Link(daemon.addresses[-1])
        self.addCleanup(link.socket.close)
        # Each of the others would be counted as refused.
        link.send((padded("CONNECT user@a:1 HTTP/1.1")
                   + padded("CONNECT a:1 HTTP/1.1") * 4 * KIB).encode())
        self.assertIn(b" 400 ", link.until(b"\r\n\r\n"))
        with contextlib.suppress(ConnectionResetError):
            self.ended(link)
        self.assertEqual(self.status(daemon)["refused"], 0)
        daemon.stop()

    def test_what_is_no_plain_connect_is_refused(self):
        daemon = self.begin()
        server = self.servers.split(",")[0]
        for authority, header, body in (
                (f"{server}@elsewhere:1", "Accept: *", b""),
                (f"user@{server}", "Accept: *", b""),
                (f"@{server}", "Accept: *", b""),
                (server, "content-length: 5", b"hello"),
                (server, "Content-Length: 0\r\nContent-Length: 5", b"hello"),
                (server, "Transfer-Encoding: chunked",
                 b"5\r\nhello\r\n0\r\n\r\n")):
            with self.subTest(authority=authority, header=header):
                code, head, link = self.connect(daemon, authority, header,
                                                body=body)
                self.assertEqual(code, 400)
                self.assertIn("CONNECT", self.error(head, link))
                # What comes behind it is no request.
                self.assertEqual(self.ended(link), b"")
        code, _, _ = self.connect(daemon, server, "Content-Length: 0")
        self.assertEqual(code, 200)
        self.assertEqual(self.status(daemon)["opened"], 1)
        daemon.stop()

    def test_it_carries_both_ways_and_is_counted(self):
        daemon = self.begin()
        server = self.servers.split(",")[0]
        link = self.opened(daemon, server)
        value = random_bytes(5 * MIB, seed=1)
        self.assertEqual(link.set("raw", value), b"STORED")
        self.assertTrue(link.get("raw") == value)
        sums = self.status(daemon)
        self.assertEqual((sums["open"], sums["opened"], sums["refused"]),
                         (1, 1, 0))
        self.assertGreater(sums["sent_bytes"], len(value))
        self.assertGreater(sums["received_bytes"], len(value))
        # The server's end, and the client's.
        other = self.opened(daemon, server)
        other.send(b"quit\r\n")
        self.assertEqual(self.ended(other), b"")
        other.socket.close()
        link.send(b"get raw\r\n")
        link.half_close()
        got = self.ended(link)
        self.assertTrue(got.endswith(b"END\r\n"), got[-20:])
        self.assertEqual(len(got), len(value) + len(
            b"VALUE raw 0 5242880\r\n\r\nEND\r\n"))
        link.socket.close()
        self.until(lambda: self.status(daemon)["open"] == 0, "both ended")
        daemon.stop()

    def test_what_is_no_server_is_refused(self):
        daemon = self.begin()
        with socket.create_server(("127.0.0.1", 0)) as other:
            for name in ("%s:%d" % other.getsockname(), "127.0.0.1:1",
                         daemon.addresses[0], "memcached", "127.0.0.1",
                         self.servers.split(",")[0].replace("127.0.0.1",
                                                            "localhost")):
                with self.subTest(name=name):
                    code, head, link = self.connect(daemon, name)
                    self.assertEqual(code, 403, head)
                    self.assertEqual(
                        self.error(head, link), f"{name} is none of this "
                        "ersproxy's servers: /status names them")
            other.setblocking(False)
            self.assertRaises(BlockingIOError, other.accept)
        self.assertEqual(self.status(daemon)["refused"], 6)
        for name in ("", "/", "http://a/"):
            code = self.connect(daemon, name)[0]
            self.assertIn(code, (400, 403), name)
        # One that is to become a server, once it is named.
        spare = self.spare()
        self.assertEqual(self.connect(daemon, spare)[0], 403)
        link = http.client.HTTPConnection(*split_address(daemon.addresses[-1]),
                                          timeout=DEADLINE_S)
        self.addCleanup(link.close)
        for old, code in (("127.0.0.1:1", 400),
                          (self.servers.split(",")[0], 200)):
            link.request("POST", "/v1/successors",
                         json.dumps({"old": old, "new": spare}),
                         {"Content-Type": "application/json"})
            answer = link.getresponse()
            self.assertEqual((answer.status, bool(answer.read())),
                             (code, True))
        self.assertTrue(self.opened(daemon, spare).ask(b"version").startswith(
            b"VERSION"))
        # Another one in its place: that is the one of the two.
        link.request("POST", "/v1/successors", json.dumps(
            {"old": self.servers.split(",")[0], "new": "127.0.0.1:1"}),
                     {"Content-Type": "application/json"})
        self.assertEqual(link.getresponse().status, 200)
        self.assertEqual(self.connect(daemon, "127.0.0.1:1")[0], 502)
        self.assertEqual(self.connect(daemon, spare)[0], 403)

    def test_a_token_and_pages(self):
        token = self.file("token", TOKEN.encode())
        os.chmod(token, 0o600)
        daemon = self.begin(f"admin_token_file: {token}\n")
        server = self.servers.split(",")[0]
        for headers in ((), (f"Authorization: Bearer {TOKEN}",),
                        ("Proxy-Authorization: Bearer " + TOKEN[1:],)):
            code, head, link = self.connect(daemon, server, *headers)
            self.assertEqual(code, 407, head)
            self.assertIn("Proxy-Authenticate: Bearer", head)
            self.assertIn("--token-file", self.error(head, link))
        good = f"Proxy-Authorization: Bearer {TOKEN}"
        for of_page in ("Origin: http://127.0.0.1", "Sec-Fetch-Site: none"):
            self.assertEqual(self.connect(daemon, server, good, of_page)[0],
                             403)
        self.assertEqual(self.connect(daemon, server, good)[0], 200)

    def test_a_stop_ends_them(self):
        daemon = self.begin()
        links = [self.opened(daemon, server)
                 for server in self.servers.split(",")]
        links[0].send(b"set k 0 0 100\r\nhalf of it")
        daemon.stop()
        for link in links:
            self.assertEqual(self.ended(link), b"")

    def answers_while_stopping(self):
        daemon = self.begin()
        link = self.opened(daemon, self.servers.split(",")[0])
        daemon.process.send_signal(signal.SIGTERM)
        daemon.expect(b"STOPPING=1")
        answered = 0
        try:
            while link.ask(b"mn") == b"MN":  # never quiet
                answered += 1
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertEqual(daemon.process.wait(DEADLINE_S), 0, daemon.log())
        return answered

    def test_a_stop_waits_for_what_is_under_way_but_not_for_long(self):
        # Where this process stands still for half a second, it is quiet.
        self.assertTrue(any(self.answers_while_stopping() for _ in range(5)))
        # The second time at once.
        daemon = self.begin()
        link = self.opened(daemon, self.servers.split(",")[0])
        busy = threading.Thread(target=self.keep_busy, args=(link,))
        busy.start()
        for _ in range(2):
            daemon.process.send_signal(signal.SIGTERM)
        busy.join()
        self.assertEqual(daemon.process.wait(DEADLINE_S), 0, daemon.log())

    def keep_busy(self, link):
        try:
            while link.ask(b"mn"):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass

    def test_no_more_than_descriptors_allow(self):
        daemon = self.begin()
        # An eighth of them, two for each. Also root's process may not have more.
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE,
                         (160, 160))
        server = self.servers.split(",")[0]
        links = [self.opened(daemon, server) for _ in range(10)]
        code, head, link = self.connect(daemon, server)
        self.assertEqual(code, 503, head)
        self.assertIn("there are 10 tunnels already", self.error(head, link))
        links.pop().socket.close()
        self.until(lambda: self.status(daemon)["open"] == 9, "one ended")
        self.opened(daemon, server)


@again_if_still(0.3)
class DeadServerTest(TunnelCase):

    def test_a_dead_server(self):
        daemon = self.start("--config", self.config("admin: 127.0.0.1:0\n"))
        self.tool("kill", "1")
        server = self.servers.split(",")[0]
        code, head, link = self.connect(daemon, server)
        self.assertEqual(code, 502, head)
        self.assertEqual(self.error(head, link), f"server {server} cannot be "
                         "reached: connection refused")
        # The connection goes on.
        link.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        self.assertIn(b" 200 ", link.until(b"ok\n"))


@again_if_still(0.3)
class FakeServersTest(TunnelCase):
    """What only servers that do as the test wants can show."""

    def setUp(self):
        super().setUp()
        self.fakes = [FakeServer() for _ in range(2)]
        for fake in self.fakes:
            fake.start()
            self.addCleanup(fake.close)
        self.fake = self.fakes[0]

    def begin(self, more=""):
        path = self.write(
            "servers: [%s]\nlisten: [\"127.0.0.1:0\"]\nmax_failures: 1\n"
            "scheme: rep:2\nadmin: 127.0.0.1:0\n%s"
            % (", ".join(f'"{fake.address}"' for fake in self.fakes), more))
        return self.start("--config", path)

    def pair(self, daemon):
        """Both ends of a tunnel."""
        link = self.opened(daemon, self.fake.address)
        link.send(MARK)
        server = self.fake.next()
        self.addCleanup(server.close)
        return link, server

    def test_each_side_may_end_first(self):
        daemon = self.begin()
        link, server = self.pair(daemon)
        server.sendall(b"last words")
        server.shutdown(socket.SHUT_WR)
        self.assertEqual(self.ended(link), b"last words")
        link.send(b"more")
        self.assertEqual(server.recv(4, socket.MSG_WAITALL), b"more")
        link.half_close()
        self.assertEqual(server.recv(1), b"")
        self.until(lambda: self.status(daemon)["open"] == 0, "both ended")

    def test_where_one_side_has_ended_the_other_one_may_not_be_silent(self):
        daemon = self.begin()
        link, server = self.pair(daemon)
        whole, whole_server = self.pair(daemon)
        link.half_close()
        self.assertEqual(server.recv(1), b"")
        self.assertEqual(self.ended(link), b"")
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            server.send(b"x")
        whole.send(b"x")
        self.assertEqual(whole_server.recv(1), b"x")

    def test_a_client_that_goes_takes_what_it_sent_along(self):
        daemon = self.begin()
        link, server = self.pair(daemon)
        # Closed so that nothing that is on its way goes on, as the library's
        # connections are.
        link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               b"\1\0\0\0\0\0\0\0")
        link.socket.close()
        self.assertRaises(ConnectionResetError, server.recv, 1)
        self.until(lambda: self.status(daemon)["open"] == 0, "gone")

    def test_a_reader_sets_the_pace(self):
        daemon = self.begin()
        link, server = self.pair(daemon)
        server.setblocking(False)
        sent = 0
        piece = bytes(64 * KIB)
        before = self.status(daemon)["received_bytes"]
        # As much as the buffers of two sockets hold, and some.
        with self.assertRaises(BlockingIOError):
            while sent < 256 * MIB:
                sent += server.send(piece)
                if sent % MIB == 0:
                    self.status(daemon)
        server.setblocking(True)
        self.assertLess(self.status(daemon)["received_bytes"] - before, sent)
        rest = threading.Thread(target=server.sendall, args=(piece,))
        rest.start()
        self.assertEqual(len(link.read(sent + len(piece))),
                         sent + len(piece))
        rest.join()

    def test_what_a_server_does_not_take_is_dropped(self):
        daemon = self.begin()
        link, server = self.pair(daemon)
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while True:  # until the daemon drops it
                link.send(bytes(64 * KIB))
        self.until(lambda: self.status(daemon)["open"] == 0, "dropped")
        # What had not arrived by then does not.
        with self.assertRaises(ConnectionResetError):
            while server.recv(MIB):
                pass

    def stands_still(self, daemon):
        tasks = f"/proc/{daemon.process.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/stat", encoding="ascii") as file:
                if file.read().rpartition(") ")[2][0] != "T":
                    return False
        return True

    def test_what_waited_for_a_daemon_that_stood_still_is_dropped(self):
        daemon = self.begin()
        link, server = self.pair(daemon)
        idle, idle_server = self.pair(daemon)
        os.kill(daemon.process.pid, signal.SIGSTOP)
        try:
            self.until(lambda: self.stands_still(daemon), "it stands still")
            link.send(b"late")
            time.sleep(1)  # to be stopped for so long is what is tested
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
        self.assertEqual(self.ended(link), b"")
        self.assertRaises(ConnectionResetError, server.recv, 1)
        idle.send(b"x")
        self.assertEqual(idle_server.recv(1), b"x")

    def test_a_daemon_that_is_killed_ends_them(self):
        daemon = self.begin()
        link, server = self.pair(daemon)
        daemon.process.kill()
        self.assertEqual(self.ended(link), b"")
        self.assertRaises(ConnectionResetError, server.recv, 1)


if __name__ == "__main__":
    unittest.main()
