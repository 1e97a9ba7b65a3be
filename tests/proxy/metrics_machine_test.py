"""/metrics and /status of what machines have: the servers' memory, and what
the daemon takes itself."""

import json
import os
import time
import unittest

from metrics_case import MetricsCase
from ctl_case import ask

SERVER = "ersproxy_server_"


def stats_of(server):
    """As memcached itself answers."""
    lines = ask(server, b"stats\r\n").decode().split("\r\n")
    return dict(line.split(" ", 2)[1:] for line in lines
                if line.startswith("STAT "))


class ProcessTest(MetricsCase):

    def test_it_is_what_the_system_shows(self):
        began = time.time()
        daemon = self.serve()
        folder = f"/proc/{daemon.process.pid}"
        client = daemon.client()
        client.set(b"k", b"v" * 100_000)
        metrics = self.metrics()
        with open(folder + "/statm", encoding="ascii") as file:
            pages = [int(word) for word in file.read().split()]
        page = os.sysconf("SC_PAGE_SIZE")
        for name, number in (("process_virtual_memory_bytes", pages[0] * page),
                             ("process_resident_memory_bytes",
                              pages[1] * page)):
            self.assertLess(abs(metrics.get(name) - number), number / 4)
        # It accepted the connection that asked, and may connect at any time.
        self.assertLess(abs(metrics.get("process_open_fds")
                            - len(os.listdir(folder + "/fd"))), 10)
        with open(folder + "/limits", encoding="ascii") as file:
            limit = next(line for line in file
                         if line.startswith("Max open files"))
        self.assertEqual(metrics.get("process_max_fds"),
                         int(limit.split()[3]))
        started = metrics.get("process_start_time_seconds")
        self.assertTrue(began - 2 <= started <= time.time())
        before = metrics.get("process_cpu_seconds_total")
        self.assertGreater(before, 0)
        while self.metrics().get("process_cpu_seconds_total") <= before:
            client.line(b"mg k\r\n")


class ServerMemoryTest(MetricsCase):

    def memory(self, server):
        return {name: self.metrics().all(SERVER + name).get(
            (("server", server),)) for name in
            ("memory_used_bytes", "memory_limit_bytes", "items",
             "evictions_total")}

    def test_it_is_what_the_servers_show(self):
        client = self.serve().client()
        for i in range(20):
            client.set(b"m%d" % i, os.urandom(200_000))
        for server in self.servers.split(","):
            stats = stats_of(server)
            self.assertGreater(int(stats["bytes"]), 100_000)
            # Records of the cluster come and go.
            self.until(lambda server=server, stats=stats: abs(
                (self.memory(server)["memory_used_bytes"] or 0)
                - int(stats["bytes"])) < 20_000, f"the memory of {server}")
            shown = self.memory(server)
            self.assertEqual(shown["memory_limit_bytes"],
                             int(stats["limit_maxbytes"]))
            self.assertLess(abs(shown["items"] - int(stats["curr_items"])), 20)
            self.assertEqual(shown["evictions_total"],
                             int(stats["evictions"]))
        status = json.loads(self.fetch("/status"))
        self.assertEqual(
            {server["name"]: server["memory"]["limit_bytes"]
             for server in status["servers"]},
            {server: int(stats_of(server)["limit_maxbytes"])
             for server in self.servers.split(",")})

    def test_scrapes_ask_no_server(self):
        self.serve().client().set(b"k", b"v")
        self.until(lambda: all(self.memory(server)["items"] is not None
                               for server in self.servers.split(",")),
                   "all have answered once")
        server = self.servers.split(",")[0]
        sent = lambda: self.metrics().get(SERVER + "requests_total",
                                          server=server)
        before, began = sent(), time.monotonic()
        for _ in range(300):
            self.metrics()
        # Probes and heartbeats go on: some a second.
        self.assertLess(sent() - before,
                        100 + 20 * (time.monotonic() - began))


class SilentServerTest(MetricsCase):

    def test_a_server_that_does_not_answer_has_no_memory_to_show(self):
        self.serve().client().set(b"k", b"v")
        names = self.servers.split(",")
        shown = lambda: {labels[0][1] for labels in self.metrics().all(
            SERVER + "memory_used_bytes")}
        self.until(lambda: shown() == set(names), "all have answered")
        self.tool("kill", "2")
        self.until(lambda: shown() == set(names) - {names[1]},
                   "it is not shown any more")
        status = json.loads(self.fetch("/status"))
        self.assertEqual([server["name"] for server in status["servers"]
                          if server["memory"] is None], [names[1]])
        self.tool("start", "2")
        self.until(lambda: shown() == set(names), "it is back")


if __name__ == "__main__":
    unittest.main()
