"""/metrics of what is done on the memcached servers, and the same in `stats`:
every count moves by what was done, and by nothing else."""

import json
import socket
import threading
import time
import unittest

from metrics_case import MetricsCase
from proxy_case import DEADLINE_S
from metrics_text import moved
from ctl_case import ask, block_keys

MIB = 1 << 20

SERVER = "ersproxy_server_"
# What every request moves; other tests check that.
ALWAYS = (SERVER + "sent_bytes", SERVER + "received_bytes",
          SERVER + "requests", "ersproxy_request", "ersproxy_client_",
          "ersproxy_uptime", "ersproxy_step", SERVER + "connections",
          SERVER + "reachable", SERVER + "state", SERVER + "latency",
          # What servers answered last, and what the process takes.
          SERVER + "memory", SERVER + "items", SERVER + "evictions", "process_",
          # Where the machine is so busy that a server is late.
          "ersproxy_hedge",
          # Where it is silent for a while.
          "ersproxy_commit_aborts_total{view}",
          # Of the answer itself, until all of it is sent.
          "ersproxy_memory_in_flight")
COMMITS = "ersproxy_commits_total"
ABORTS = "ersproxy_commit_aborts_total"
COMMIT = {COMMITS: 1}
REFUSED = {ABORTS + "{refused}": 1}


def put(verb, key, value, more=b""):
    return b"%s %s 0 0 %d%s\r\n%s\r\n" % (verb, key, len(value), more, value)


LONG = b"x" * 100_000
# What is sent, in this order, and all that it moves beside ALWAYS.
STEPS = [
    (put(b"set", b"a", b"1"), COMMIT),
    (put(b"set", b"l", LONG), COMMIT),
    (b"get a l none\r\n", {}),
    (put(b"add", b"a", b"1"), REFUSED),
    (put(b"add", b"b", b"1"), COMMIT),
    (put(b"replace", b"c", b"1"), REFUSED),
    (put(b"cas", b"a", b"1", b" 1"), REFUSED),
    (put(b"append", b"a", b"1"), COMMIT),
    (b"incr a 1\r\n", COMMIT),
    (b"touch a 100\r\n", COMMIT),
    (b"delete a\r\n", COMMIT),
    (b"delete a\r\n", REFUSED),
    (b"ers update l 5 2\r\nab\r\n", COMMIT),
    (b"ers stat l\r\n", {}),
    (b"stats\r\nversion\r\nnonsense\r\n", {
        "ersproxy_connections_total": 0}),
]


def caused(changes):
    """{name{values of the labels}: by} of what is not ALWAYS."""
    found = {}
    for (name, labels), by in changes.items():
        words = ",".join(value for _, value in labels)
        full_name = f"{name}{{{words}}}" if words else name
        if not full_name.startswith(ALWAYS):
            found[full_name] = by
    return found


class StoreTest(MetricsCase):

    def test_every_step_moves_its_counts_only(self):
        client = self.serve().client()
        self.ask(client, b"flush_all\r\n")
        before = self.metrics()
        for request, expected in STEPS:
            self.ask(client, request)
            after = self.metrics()
            with self.subTest(request[:40]):
                self.assertEqual(
                    caused(moved(before, after)),
                    {name: by for name, by in expected.items() if by})
            before = after

    def test_blocks_of_transitions(self):
        client = self.serve().client()
        self.ask(client, put(b"set", b"t", bytes(MIB)))
        for target, kind, path in (("wide", "widen", b"plan"),
                                   ("narrow", "narrow", b"plan"),
                                   ("rs:3,2", "reencode", b"reencode"),
                                   ("rs:3,3", "parity", b"parity")):
            before = self.metrics()
            lines = self.ask(client, b"ers transition t %s\r\n"
                             % target.encode())
            answer = dict(line.split()[1:] for line in lines[:-1])
            self.assertEqual(answer[b"path"], path)
            name = "ersproxy_transition_"
            expected = {
                COMMITS: 1, f"ersproxy_transitions_total{{{kind}}}": 1,
                f"{name}read_blocks_total{{data,{kind}}}": b"data_reads",
                f"{name}read_blocks_total{{parity,{kind}}}": b"parity_reads",
                f"{name}written_blocks_total{{{kind}}}": b"writes",
                f"{name}read_bytes_total{{{kind}}}": b"bytes_read",
                f"{name}written_bytes_total{{{kind}}}": b"bytes_written"}
            expected = {key: int(answer.get(by, by) if isinstance(by, bytes)
                                 else by) for key, by in expected.items()}
            self.assertEqual(caused(moved(before, self.metrics())),
                             {key: by for key, by in expected.items() if by})
        stats = client.facts(b"stats")
        self.assertEqual(stats["ers_transitions"], "4")
        self.assertGreater(int(stats["ers_transition_blocks_read"]), 0)
        self.assertGreater(int(stats["ers_transition_bytes_written"]), MIB)

    def test_aborts_under_rivals(self):
        """Of two processes: in one, changes of a key wait for each other."""
        other = self.start("--config", self.config(""))
        daemon = self.serve()
        first = daemon.client()
        self.ask(first, put(b"set", b"n", b"0"))
        before = self.metrics()
        clients, rounds = [daemon.client(), daemon.client(),
                           other.client(), other.client()], 50
        increments, others = {client: 0 for client in clients}, []

        def count(client):
            said = self.ask(client, b"incr n 1\r\n" * rounds)
            increments[client] += sum(line.isdigit() for line in said)
            others.extend(line for line in said if not line.isdigit())

        def rivals():
            threads = [threading.Thread(target=count, args=(client,))
                       for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            now = self.metrics()
            return min(now.get(ABORTS, reason="rival"),
                       now.get(ABORTS, reason="changed")) > 0

        self.until(rivals, "two were at it at once, early and late")
        after = self.metrics()
        # Rarely one is half done when another takes over: it may count.
        for line in others:
            self.assertIn(b"others changed it meanwhile", line)
        self.assertEqual(first.line(b"get n\r\n")[:9], b"VALUE n 0")
        least, unknown = sum(increments.values()), len(others)
        self.assertIn(int(first.file.readline()),
                      range(least, least + unknown + 1))
        own = sum(increments[client] for client in clients[:2])
        self.assertIn(after.get(COMMITS) - before.get(COMMITS),
                      range(own, own + unknown + 1))
        self.assertEqual(after.get(ABORTS, reason="failed"), 0)
        self.assertLessEqual(after.get(ABORTS, reason="unknown"), unknown)
        stats = self.ask(first, b"END\r\nstats\r\n")
        aborts = sum(after.all(ABORTS).values())
        self.assertIn(b"STAT ers_commit_aborts %d" % aborts, stats)

    def test_reset_is_of_stats_only(self):
        client = self.serve().client()
        self.ask(client, put(b"set", b"r", b"1"))
        before = self.metrics()
        self.assertEqual(client.line(b"stats reset\r\n"), b"RESET")
        self.assertEqual(client.facts(b"stats")["ers_commits"], "0")
        self.assertEqual(client.facts(b"stats")["cmd_set"], "0")
        self.assertEqual(caused(moved(before, self.metrics())), {})


class Asker:
    """Asks a memcached for its counts, and takes off what asking costs."""

    def __init__(self, case, server):
        host, port = server.rsplit(":", 1)
        self.link = socket.create_connection((host, int(port)), DEADLINE_S)
        case.addCleanup(self.link.close)
        self.asked = self.answered = 0
        self.base = [0, 0]
        self.base = self.counts()

    def counts(self):
        """Bytes [read, written] since the first call, by others."""
        request = b"stats\r\n"
        self.link.sendall(request)
        text = b""
        while not text.endswith(b"END\r\n"):
            text += self.link.recv(65536)
        facts = dict(line.split()[1:] for line in text.splitlines()
                     if line.startswith(b"STAT "))
        # It has counted the request by now, and not yet the answer.
        self.asked += len(request)
        counts = [int(facts[b"bytes_read"]) - self.asked - self.base[0],
                  int(facts[b"bytes_written"]) - self.answered - self.base[1]]
        self.answered += len(text)
        return counts


class BytesTest(MetricsCase):

    def test_bytes_are_what_the_servers_say(self):
        askers = {server: Asker(self, server)
                  for server in self.servers.split(",")}
        client = self.serve().client()
        for i in range(20):
            self.ask(client, put(b"set", b"b%d" % i, bytes(i * 20_000)))
            self.ask(client, b"get b%d\r\n" % i)
        seen = []

        def same():
            """What was replaced goes a little later."""
            theirs = {server: asker.counts()
                      for server, asker in askers.items()}
            metrics = self.metrics()
            ours = {server: [metrics.get(f"{SERVER}{way}_bytes_total",
                                         server=server)
                             for way in ("sent", "received")]
                    for server in askers}
            seen[:] = [theirs, ours]
            return theirs == ours

        try:
            self.until(same, "the same")
        except AssertionError:
            self.assertEqual(*seen)
        for sent, received in seen[0].values():
            self.assertGreater(sent, 100_000)
            self.assertGreater(received, 100_000)


class CensusTest(MetricsCase):
    up = ("-n", "7")

    OBJECTS = "ersproxy_objects"
    BYTES = "ersproxy_object_bytes"
    WHEN = "ersproxy_objects_counted_timestamp_seconds"

    def counted(self, metrics):
        """{(scheme, width): (objects, bytes)}."""
        sizes = metrics.all(self.BYTES)
        return {tuple(value for _, value in labels): (count, sizes[labels])
                for labels, count in metrics.all(self.OBJECTS).items()}

    def test_objects_by_scheme_and_width(self):
        client = self.serve().client()
        self.assertEqual(self.counted(self.metrics()), {})
        self.assertEqual(self.metrics().get(self.WHEN), 0)
        for i in range(5):
            self.ask(client, put(b"set", b"o%d" % i, bytes(5000 + i)))
        self.ask(client, put(b"set", b"small", b"1"))
        self.ask(client, b"ers transition o1 wide\r\n"
                 b"ers transition o2 rs:3,2\r\ndelete o3\r\n")
        began = int(time.time())
        # A part of them is listed, all are counted.
        self.assertEqual(len(self.ask(client, b"ers list wide o\r\n")), 2)
        metrics = self.metrics()
        self.assertEqual(self.counted(metrics), {
            ("ers2:4,1,5", "narrow"): (3, 5000 + 5004 + 1),
            ("ers2:4,1,5", "wide"): (1, 5001),
            ("rs:3,2", "narrow"): (1, 5002)})
        self.assertGreaterEqual(metrics.get(self.WHEN), began)
        self.assertLessEqual(metrics.get(self.WHEN), time.time())
        self.assertEqual(client.facts(b"stats")["curr_items"], "5")
        self.assertEqual(client.facts(b"stats")["bytes"], "20008")
        items = client.facts(b"stats items")
        self.assertEqual(items["items:1:number"], "5")
        self.assertEqual(items["items:1:mem_requested"], "20008")
        self.assertEqual(client.facts(b"stats slabs")["total_malloced"],
                         "20008")
        # Another daemon, which counts by itself: at its start, and again.
        other = self.serve(config="count_objects_s: 1\n")
        self.until(lambda: self.metrics().get(self.WHEN) > 0,
                   "the first count")
        self.assertEqual(self.counted(self.metrics()), self.counted(metrics))
        self.ask(client, b"delete small\r\n")
        self.until(lambda: self.counted(self.metrics())[
            "ers2:4,1,5", "narrow"][0] == 2, "another count")
        # It ends while it may be counting.
        other.stop()

    def test_a_count_that_fails_leaves_the_old_one(self):
        # Servers that are not there.
        daemon = self.start(
            "--config", self.config("count_objects_s: 1\n", servers=",".join(
                f"127.0.0.1:{port}" for port in range(1, 8))),
            "--admin", ":0")
        self.admin = daemon.addresses[-1]
        self.until(lambda: "objects are not counted" in daemon.log(),
                   "a warning")
        self.assertEqual(self.metrics().get(self.WHEN), 0)
        daemon.stop()


class KilledTest(MetricsCase):

    def since(self):
        """{server: Unix seconds}, as all show alike."""
        metrics = self.metrics()
        since = {server: metrics.get(SERVER + "state_since_seconds",
                                     server=server)
                 for server in self.servers.split(",")}
        servers = json.loads(self.fetch("/status"))["servers"]
        self.assertEqual({one["name"]: one["since_s"] for one in servers},
                         since)
        servers = self.ctl_json("servers")["servers"]
        self.assertEqual({one["name"]: one["since"] for one in servers}, since)
        return since

    def check_since(self, changed, before):
        """The state of that server alone is another since then."""
        now = self.since()
        self.assertGreater(now[changed], before[changed])
        self.assertLessEqual(now[changed], time.time())
        self.assertEqual({**now, changed: 0}, {**before, changed: 0})
        # They are whole seconds.
        self.until(lambda: time.time() >= now[changed] + 1, "the next one")
        return now

    def state(self, server):
        metrics = self.metrics()
        return next(state for state in ("in_sync", "backfilling", "down",
                                        "unreachable", "unknown")
                    if metrics.get(SERVER + "state", server=server,
                                   state=state))

    def test_states_and_degraded_reads(self):
        began = int(time.time())
        daemon = self.serve(config="inline_below: 0\n")
        client = daemon.client()
        value = b"7" * 200_000
        keys = [b"k%d" % i for i in range(12)]
        for key in keys:
            self.ask(client, put(b"set", key, value))
        before = self.metrics()
        names = self.servers.split(",")
        since = self.since()
        self.assertGreaterEqual(min(since.values()), began)
        self.until(lambda: time.time() >= max(since.values()) + 1,
                   "the next second")
        for server in names:
            self.assertEqual(before.get(SERVER + "reachable", server=server),
                             1)
            self.assertEqual(before.get(SERVER + "state", server=server,
                                        state="in_sync"), 1)
        self.tool("kill", "3")
        dead = names[2]
        for key in keys:
            lines = self.ask(client, b"get %s\r\n" % key)
            self.assertEqual(lines[-1], b"END")
        after = self.metrics()
        changes = caused(moved(before, after))
        degraded = changes.pop("ersproxy_degraded_reads_total")
        self.assertGreater(degraded, 0)
        self.assertLessEqual(degraded, len(keys))
        changes.pop(f"{SERVER}failures_total{{{dead}}}")
        self.assertEqual(changes, {})
        self.ask(client, put(b"set", b"new", value))
        # Each thread has its own, and learns by itself that it ended.
        self.until(lambda: self.metrics().get(
            SERVER + "connections_open", server=dead) == 0, "they are closed")
        after = self.metrics()
        for server in names:
            lives = server != dead
            self.assertEqual(after.get(SERVER + "reachable", server=server),
                             lives)
            self.assertEqual(after.get(SERVER + "connections_open",
                                       server=server) > 0, lives)
            for state in ("in_sync", "backfilling", "down", "unknown"):
                self.assertEqual(
                    after.get(SERVER + "state", server=server, state=state),
                    state == ("in_sync" if lives else "down"), (server, state))
        since = self.check_since(dead, since)
        self.tool("start", "3")
        self.until(lambda: self.state(dead) == "in_sync", "it is backfilled")
        self.check_since(dead, since)


class DegradedTest(MetricsCase):

    def test_every_way_to_read_counts_once_a_value(self):
        client = self.serve(config="inline_below: 0\n").client()
        ways = [b"get %s\r\n", put(b"append", b"%s", b"x"),
                b"ers transition %s rs:3,1\r\n"]
        keys = {way: [b"d%d-%d" % (i, number) for number in range(12)]
                for i, way in enumerate(ways)}
        for way in ways:
            for key in keys[way]:
                self.ask(client, put(b"set", key, bytes(20_000)))
        self.tool("kill", "3")
        for way in ways:
            with self.subTest(way):
                before = self.metrics()
                for key in keys[way]:
                    self.assertNotIn(b"ERROR",
                                     b"".join(self.ask(client, way % key)))
                changes = moved(before, self.metrics())
                degraded = caused(changes)["ersproxy_degraded_reads_total"]
                self.assertIn(degraded, range(1, len(keys[way]) + 1))


class RepairTest(MetricsCase):

    def lose_blocks(self, server):
        """How many it held."""
        return sum(ask(server, b"delete %s\r\n" % key) == b"DELETED\r\n"
                   for key in block_keys(server))

    def test_blocks_that_a_server_lost(self):
        daemon = self.serve(config="inline_below: 0\n")
        client = daemon.client()
        value = b"8" * 200_000
        # One of two holds data, and not parity alone.
        for server in self.servers.split(",")[:2]:
            self.ask(client, put(b"set", b"k", value))
            before = self.metrics()
            lost = self.lose_blocks(server)
            lines = self.ask(client, b"get k\r\n")
            self.assertEqual(b"\r\n".join(lines[1:-1]), value)
            changes = caused(moved(before, self.metrics()))
            if changes:
                break
        self.assertGreater(lost, 0)
        self.assertLessEqual(changes.pop("ersproxy_repaired_blocks_total"),
                             lost)
        self.assertEqual(changes, {"ersproxy_degraded_reads_total": 1})


if __name__ == "__main__":
    unittest.main()
