"""What the admin port of ersproxy tells."""

import http.client
import json
import unittest

from daemon_case import BAD_USAGE, DaemonCase
from proxy_case import DEADLINE_S
from metrics_text import Metrics


class AdminTest(DaemonCase):

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

    def test_health_and_what_is_not_there(self):
        _, admin = self.serve()
        self.assertEqual(self.get(admin, "/healthz"),
                         (200, "text/plain", b"ok\n"))
        self.assertEqual(self.get(admin, "/healthz", "HEAD")[::2], (200, b""))
        self.assertEqual(self.get(admin, "/")[0], 404)
        self.assertEqual(self.get(admin, "/healthz", "DELETE")[0], 405)
        self.assertEqual(self.get(admin, "/healthz", "PUT")[0], 501)
        # A slow reader holds up nobody.
        host, port = admin.rsplit(":", 1)
        slow = http.client.HTTPConnection(host, int(port))
        self.addCleanup(slow.close)
        slow.connect()
        slow.send(b"GET /heal")
        self.assertEqual(self.get(admin, "/healthz")[0], 200)

    def test_health_says_when_it_is_ending(self):
        daemon, admin = self.serve()
        client = daemon.client()
        # Nobody reads most of the answer, so that it cannot end yet.
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
        status = json.loads(text)
        self.assertEqual({s["state"] for s in status["servers"]}, {"unknown"})
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
        self.assertEqual({s["state"] for s in status["servers"]}, {"full"})
        # The same table as of `stats`.
        told = client.facts(b"stats")
        for name in ("cmd_set", "get_hits", "get_misses", "total_connections"):
            self.assertEqual(status["counters"][name], int(told[name]), name)
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
        self.assertEqual(len(states), 4 * len(self.servers.split(",")))
        for server in self.servers.split(","):
            for state in ("full", "filling", "down", "unknown"):
                labels = (("server", server), ("state", state))
                self.assertEqual(states[labels], state == "full")

    def test_an_address_in_use(self):
        _, admin = self.serve()
        result = self.run_proxy("--config", self.config(""), "--admin", admin)
        self.assertEqual(result.returncode, BAD_USAGE)
        self.assertIn(f"admin: listen: {admin}: Address already in use",
                      result.stderr)


if __name__ == "__main__":
    unittest.main()
