"""What a daemon says of itself where it can serve, and where it cannot."""

import subprocess
import unittest

from jobs_case import Api
from metrics_text import Metrics
from proxy_case import ERSPROXY, ProxyCase
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE


class ServingCase(ProxyCase):
    up = ("-n", "6", "--no-evict")
    options = ("--admin", ":0")

    def setUp(self):
        super().setUp()
        self.admin = Api(self.proxy.addresses[-1])

    def ready(self):
        code, _, text = self.admin.raw("GET", "/readyz")
        return code, text.decode()

    def gauge(self):
        text = self.admin.raw("GET", "/metrics")[2].decode()
        return Metrics(text).get("ersproxy_serving")

    def state(self, number):
        name = self.servers.split(",")[number - 1]
        status = self.admin.ask("GET", "/status")[1]
        return {s["name"]: s["state"] for s in status["servers"]}[name]


class AllDeadTest(ServingCase):

    @classmethod
    def start_proxy(cls, name, *options, **more):
        for number in range(1, 7):
            cls.tool("kill", str(number))
        return super().start_proxy(name, *options, **more)

    def test_nothing_is_served_until_the_servers_are_there(self):
        first = self.servers.split(",")[0]
        # It waits for a while, and not longer, until it knows.
        self.until(lambda: "connection refused" in self.ready()[1],
                   "it has tried them")
        code, why = self.ready()
        self.assertEqual(code, 503)
        self.assertIn(first, why)
        self.assertEqual(self.admin.raw("GET", "/healthz")[0], 200)
        self.assertEqual(self.gauge(), 0)
        self.assertEqual(self.state(1), "unreachable")
        status = self.admin.ask("GET", "/status")[1]
        self.assertEqual(status["state"], "not serving")
        self.assertIn(first, status["not_serving_because"])
        self.assertIn("not serving: ", self.proxy.said())
        for number in range(1, 7):
            self.tool("start", str(number))
        self.until(lambda: self.ready() == (200, "ok\n"), "it is ready")
        self.assertEqual(self.gauge(), 1)
        self.until(lambda: "serving again" in self.proxy.said(), "in the log")
        self.assertEqual(self.link().set("k", b"v"), b"STORED")


class QuietDeathTest(ServingCase):

    def test_a_server_that_dies_unused_is_seen(self):
        self.assertEqual(self.link().set("k", bytes(20_000)), b"STORED")
        self.until(lambda: self.state(3) == "in_sync", "the view is known")
        name = self.servers.split(",")[2]
        self.tool("kill", "3")
        self.until(lambda: self.state(3) == "unreachable", "it is missed")
        text = self.admin.raw("GET", "/metrics")[2].decode()
        self.assertEqual(
            Metrics(text).get("ersproxy_server_state", server=name,
                              state="unreachable"), 1)
        self.assertIn(f"{name} does not answer: ", self.proxy.said())
        # It survives one.
        self.assertEqual(self.ready()[0], 200)
        self.tool("kill", "4")
        self.until(lambda: self.ready()[0] == 503, "two are more")
        self.assertIn(name, self.ready()[1])


class OtherClusterTest(ServingCase):

    def refuse(self, text, servers, *words):
        """The start ends with 2, and names the culprit. Where the servers do
        not say for two seconds what they are, it serves: then once more."""
        for _ in range(12):
            with subprocess.Popen(
                    [ERSPROXY, "--listen", "127.0.0.1:0", "--servers",
                     ",".join(servers), *words],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE, text=True) as process:
                try:
                    said = process.communicate(timeout=5)[1]
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
        else:
            self.fail("it always serves")
        self.assertEqual(process.returncode, BAD_USAGE, said)
        self.assertIn(text, said)
        return said

    def test_a_list_a_weight_and_m_that_are_not_the_clusters(self):
        self.assertEqual(self.link().set("k", b"v"), b"STORED")
        servers = self.servers.split(",")
        self.refuse(f"{servers[5]} is missing", servers[:5], "--scheme",
                    "rs:3,1")
        said = self.refuse(
            f"{servers[2]} has weight 1, not 3",
            [f"{s}:3" if s == servers[2] else s for s in servers])
        for server in servers:
            self.assertIn(f"{server}:1", said)
        spare = self.spare()
        self.refuse(f"{spare} is none of its servers", servers + [spare])
        self.refuse("max_failures is 2, but this cluster was set up for 1",
                    servers, "--max-failures", "2")


if __name__ == "__main__":
    unittest.main()
