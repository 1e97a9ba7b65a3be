"""What the admin port of ersproxy answers."""

import http.client
import json
import os
import signal
import time
import unittest

from daemon_case import BAD_USAGE, DaemonCase
from proxy_case import DEADLINE_S, KIB, Link
from metrics_text import Metrics
from stalls import again_if_still


class AdminCase(DaemonCase):

    def get(self, address, path, method="GET"):
        host, port = address.rsplit(":", 1)
        link = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_S)
        self.addCleanup(link.close)
        link.request(method, path)
        reply = link.getresponse()
        return reply.status, reply.getheader("Content-Type"), reply.read()

    def serve(self, *words):
        daemon = self.start("--config", self.config(""), "--admin", ":0",
                            *words)
        self.assertTrue(daemon.addresses[-1].startswith("127.0.0.1:"))
        return daemon, daemon.addresses[-1]


# An end cuts off who takes nothing for five seconds.
@again_if_still(2)
class AdminTest(AdminCase):

    def test_health_and_what_is_not_there(self):
        _, admin = self.serve()
        self.assertEqual(self.get(admin, "/healthz"),
                         (200, "text/plain", b"ok\n"))
        self.assertEqual(self.get(admin, "/healthz", "HEAD")[::2], (200, b""))
        # A slow reader holds up no other.
        host, port = admin.rsplit(":", 1)
        slow = http.client.HTTPConnection(host, int(port))
        self.addCleanup(slow.close)
        slow.connect()
        slow.send(b"GET /heal")
        self.assertEqual(self.get(admin, "/healthz")[0], 200)

    def test_every_error_is_json(self):
        _, admin = self.serve()
        host, port = admin.rsplit(":", 1)
        json_type = {"Content-Type": "application/json"}
        for method, path, body, code in [
                ("GET", "/page", None, 404), ("POST", "/", b"{}", 405),
                ("GET", "/v1", None, 404),
                ("PUT", "/nothing", b"x", 404), ("GET", "/v1/x", None, 404),
                ("PUT", "/healthz", None, 405),
                ("DELETE", "/status", None, 405),
                ("PUT", "/v1/jobs", b"{}", 405),
                ("PATCH", "/v1/jobs/1", b"{}", 405),
                ("OPTIONS", "/v1/transition", None, 405),
                ("TRACE", "/metrics", None, 405),
                ("POST", "/v1/jobs", b" " * (64 * KIB), 400),
                ("POST", "/v1/jobs", b" " * (64 * KIB + 1), 413),
                ("POST", "/v1/jobs", b" " * (128 * KIB), 413)]:
            with self.subTest(method=method, path=path[:20]):
                link = http.client.HTTPConnection(host, int(port),
                                                  timeout=DEADLINE_S)
                self.addCleanup(link.close)
                try:
                    link.request(method, path, body, json_type)
                except ConnectionError:
                    pass  # answered before all was sent
                reply = link.getresponse()
                self.assertEqual(reply.status, code)
                self.assertEqual(reply.getheader("Content-Type"),
                                 "application/json")
                self.assertEqual(list(json.loads(reply.read()))[0], "error")

    def test_what_a_proxy_before_it_may_take_for_a_body_is_no_request(self):
        _, admin = self.serve()
        inner = b"GET /healthz HTTP/1.1\r\n\r\n"
        length = b"Content-Length: %d\r\n" % len(inner)
        chunked = b"Transfer-Encoding: chunked\r\n"
        for head in (b"HEAD /healthz HTTP/1.1\r\n" + length,
                     b"TRACE / HTTP/1.1\r\n" + length,
                     b"HEAD / HTTP/1.1\r\n" + chunked,
                     b"GET / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length: 0\r\n" + length,
                     b"GET / HTTP/1.1\r\nContent-Length: +0\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length : 27\r\n"):
            with self.subTest(head=head), Link(admin) as link:
                link.send(head + b"\r\n" + inner)
                self.assertEqual(link.line(), b"HTTP/1.1 400 Bad Request")
                self.assertEqual(link.read_all().count(b"HTTP/1.1"), 0)
        for head in (length + chunked, chunked + chunked,
                     b"Transfer-Encoding: gzip, chunked\r\n"):
            with self.subTest(head=head), Link(admin) as link:
                link.send(b"POST / HTTP/1.1\r\n" + head + b"\r\n"
                          b"0\r\n\r\n" + inner)
                self.assertEqual(link.line(), b"HTTP/1.1 400 Bad Request")
                self.assertEqual(link.read_all().count(b"HTTP/1.1"), 0)
        # What is clear goes on.
        with Link(admin) as link:
            link.send(b"GET /healthz HTTP/1.1\r\n" + chunked + b"\r\n"
                      b"5\r\nhello\r\n0\r\n\r\n"
                      b"HEAD /healthz HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
                      b"GET /healthz HTTP/1.0\r\n\r\n")
            answers = link.read_all()
            self.assertEqual(answers.count(b" 200 OK\r\n"), 3, answers)
            self.assertEqual(answers.count(b"\r\n\r\nok\n"), 2, answers)

    def test_connections_have_a_limit(self):
        """Idle ones make room: no watcher is kept out, no client either."""
        daemon, admin = self.serve()
        folder = f"/proc/{daemon.process.pid}/fd"
        client = daemon.client()
        client.set(b"k", b"v")
        before = len(os.listdir(folder))
        idle = []
        for i in range(400):
            idle.append(Link(admin))
            self.addCleanup(idle[-1].socket.close)
            # Some send a part of a request.
            idle[-1].send(b"GET /heal" if i % 2 else b"")
            if i % 50 == 0:
                self.assertEqual(self.get(admin, "/healthz")[0], 200)
        self.assertEqual(self.get(admin, "/healthz")[0], 200)
        # Its own connections to the servers, which it may have by now.
        own = 2 * len(self.servers.split(","))
        self.assertLessEqual(len(os.listdir(folder)), before + 128 + own)
        # The oldest had to go; the newest are served still.
        self.assertEqual(idle[0].read_all(), b"")
        idle[-1].send(b"thz HTTP/1.0\r\n\r\n")
        self.assertTrue(idle[-1].read_all().endswith(b"\r\n\r\nok\n"))
        self.assertEqual(client.line(b"mg k v\r\n"), b"VA 1")

    def test_many_at_once_take_no_more_descriptors(self):
        daemon, admin = self.serve()
        highest = lambda: max(map(int, os.listdir(
            f"/proc/{daemon.process.pid}/fd")))
        self.get(admin, "/healthz")
        before = highest()
        # All are there before the first is taken.
        daemon.process.send_signal(signal.SIGSTOP)
        idle = []
        for _ in range(600):
            idle.append(Link(admin))
            self.addCleanup(idle[-1].socket.close)
        daemon.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.get(admin, "/healthz")[0], 200)
        # The last that came are there still, and have the numbers that were
        # free: those show how many there were at a time.
        self.assertEqual(idle[400].read_all(), b"")
        self.assertLess(highest(), before + 128 + 16)

    def test_clients_that_have_left_take_no_room(self):
        _, admin = self.serve()
        with Link(admin) as stays:
            stays.send(b"GET /heal")
            for i in range(300):
                with Link(admin) as link:
                    link.send(b"GET /heal" if i % 2 else
                              b"GET /healthz HTTP/1.1\r\n\r\n")
                    if i % 2 == 0:
                        self.assertEqual(link.line(), b"HTTP/1.1 200 OK")
            stays.send(b"thz HTTP/1.0\r\n\r\n")
            self.assertTrue(stays.read_all().endswith(b"\r\n\r\nok\n"))

    def test_health_says_when_it_is_ending(self):
        daemon, admin = self.serve()
        client = daemon.client()
        # Most of the answer is not read, so that it cannot end yet.
        value = bytes(32 << 20)
        self.assertEqual(client.set(b"k", value), b"STORED")
        self.assertEqual(client.line(b"get k\r\n"),
                         b"VALUE k 0 %d" % len(value))
        daemon.process.terminate()
        daemon.expect(b"STOPPING=1")
        self.assertEqual(self.get(admin, "/healthz")[::2],
                         (503, b"stopping\n"))
        self.assertEqual(client.file.read(), value + b"\r\nEND\r\n")
        self.assertEqual(daemon.process.wait(DEADLINE_S), 0, daemon.log())

    def test_status(self):
        daemon, admin = self.serve("--threads", "3")
        code, kind, text = self.get(admin, "/status")
        self.assertEqual((code, kind), (200, "application/json"))
        client = daemon.client()
        client.set(b"k", b"v")
        client.line(b"mg k\r\n")
        client.line(b"mg none\r\n")
        status = json.loads(self.get(admin, "/status")[2])
        self.assertEqual(status["state"], "serving")
        self.assertEqual(status["threads"], 3)
        self.assertEqual(status["connections"], 1)
        self.assertEqual(status["max_connections"], 16384)
        self.assertEqual(status["listeners"], daemon.addresses[:-1])
        self.assertEqual(sorted(s["name"] for s in status["servers"]),
                         sorted(self.servers.split(",")))
        self.assertEqual({s["state"] for s in status["servers"]}, {"in_sync"})
        since = {s["since_s"] for s in status["servers"]}
        self.assertTrue(all(0 <= time.time() - s < 600 for s in since), since)
        # The same table as of `stats`.
        stats = client.facts(b"stats")
        for name in ("cmd_set", "get_hits", "get_misses", "total_connections"):
            self.assertEqual(status["counters"][name], int(stats[name]), name)
        self.assertEqual(status["counters"]["get_hits"], 1)

    def test_metrics(self):
        daemon, admin = self.serve()
        client = daemon.client()
        client.set(b"k", b"v")
        client.line(b"mg k\r\n")
        code, kind, text = self.get(admin, "/metrics")
        self.assertEqual((code, kind),
                         (200, "text/plain; version=0.0.4; charset=utf-8"))
        metrics = Metrics(text.decode())
        self.assertEqual(metrics.get("ersproxy_requests_total", command="mg",
                                     result="hit"), 1)
        self.assertEqual(metrics.get("ersproxy_connections_open"), 1)
        self.assertEqual(metrics.get("ersproxy_connections_limit"), 16384)
        states = metrics.all("ersproxy_server_state")
        self.assertEqual(len(states), 5 * len(self.servers.split(",")))
        for server in self.servers.split(","):
            for state in ("in_sync", "backfilling", "down", "unknown"):
                labels = (("server", server), ("state", state))
                self.assertEqual(states[labels], state == "in_sync")
            since = metrics.get("ersproxy_server_state_since_seconds",
                                server=server)
            self.assertLess(abs(time.time() - since), 600)

    def test_an_address_in_use(self):
        _, admin = self.serve()
        result = self.run_proxy("--config", self.config(""), "--admin", admin)
        self.assertEqual(result.returncode, BAD_USAGE)
        self.assertIn(f"admin: listen: {admin}: Address already in use",
                      result.stderr)


class UnusedTest(AdminCase):

    def test_the_states_of_servers_that_nobody_has_used_are_unknown(self):
        _, admin = self.serve()
        status = json.loads(self.get(admin, "/status")[2])
        self.assertEqual({s["state"] for s in status["servers"]}, {"unknown"})


if __name__ == "__main__":
    unittest.main()
