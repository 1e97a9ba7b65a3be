"""/metrics: what each request moves, of the counts that are watched here."""

import os
import re
import struct
import subprocess
import unittest

from proxy_case import DEADLINE_S, ERSPROXY, TOP
from metrics_case import MetricsCase, frame
from metrics_text import moved

REQUESTS = "ersproxy_requests_total"
DURATION = "ersproxy_request_duration_seconds"

# What is sent, in this order, and the requests that it is counted as, beside
# the mn (or noop) that ends it.
TEXT = [
    (b"get a\r\n", "get miss"),
    (b"set a 0 0 1\r\n5\r\n", "set stored"),
    (b"set a 0 0 1 noreply\r\n5\r\n", "set stored"),
    (b"get a b a\r\n", "get hit, get hit, get miss"),
    (b"gets a\r\n", "get hit"),
    (b"gat 0 a\r\ngats 0 b\r\n", "gat hit, gat miss"),
    (b"add a 0 0 1\r\n1\r\nadd b 0 0 1\r\n1\r\n",
     "add not_stored, add stored"),
    (b"replace a 0 0 1\r\n1\r\nreplace c 0 0 1\r\n1\r\n",
     "replace stored, replace not_stored"),
    (b"append a 0 0 1\r\n1\r\nappend c 0 0 1\r\n1\r\n",
     "append stored, append not_stored"),
    (b"prepend a 0 0 1\r\n1\r\nprepend c 0 0 1\r\n1\r\n",
     "prepend stored, prepend not_stored"),
    (b"cas a 0 0 1 1\r\n1\r\ncas c 0 0 1 1\r\n1\r\n",
     "cas exists, cas miss"),
    (b"incr b 1\r\nincr c 1\r\n", "incr hit, incr miss"),
    (b"set t 0 0 1\r\nx\r\nincr t 1\r\n", "set stored, incr not_number"),
    (b"decr b 1\r\ndecr c 1\r\n", "decr hit, decr miss"),
    (b"touch a 0\r\ntouch c 0\r\n", "touch hit, touch miss"),
    (b"delete a\r\ndelete a\r\n", "delete hit, delete miss"),
    (b"version\r\nverbosity 1\r\nstats\r\nstats settings\r\n",
     "version ok, verbosity ok, stats ok, stats ok"),
    (b"stats nonsense\r\n", "stats miss"),
    # Meta.
    (b"ms a 1\r\n1\r\nms b 2 ME\r\n22\r\nms a 1 C1\r\n1\r\nms c 1 C1\r\n1\r\n",
     "ms stored, ms not_stored, ms exists, ms miss"),
    (b"mg a v\r\nmg a\r\nmg none v\r\nmg new v N60\r\n",
     "mg hit, mg hit, mg miss, mg created"),
    (b"mg none q\r\nmg a q\r\n", "mg miss, mg hit"),
    (b"ma b\r\nma c\r\nma n N0\r\n", "ma hit, ma miss, ma created"),
    (b"me a\r\nme none\r\n", "me hit, me miss"),
    (b"md a\r\nmd a\r\nmd b C1\r\n", "md hit, md miss, md exists"),
    # Ours.
    (b"set x 0 0 5000\r\n" + bytes(5000) + b"\r\n", "set stored"),
    (b"ers transition x wide\r\ners transition x wide\r\n",
     "ers_transition ok, ers_transition already_there"),
    (b"ers transition none wide\r\ners transition x nonsense\r\n",
     "ers_transition miss, ers_transition client_error"),
    (b"ers update x 1 2\r\nab\r\ners update none 1 2\r\nab\r\n",
     "ers_update ok, ers_update miss"),
    (b"ers stat x\r\ners stat none\r\n", "ers_stat ok, ers_stat miss"),
    (b"ers list wide\r\n", "ers_list ok"),
    (b"ers trace get x none\r\n", "get hit, get miss"),
    (b"ers trace mg x\r\n", "mg hit"),
    # What is no request.
    (b"nonsense\r\n", "invalid client_error"),
    (b"set a 0 0 x\r\n", "invalid client_error"),
    (b"set a 0 0 1\r\n123\r\n", "set client_error, invalid client_error"),
    (b"get " + bytes(b"k" * 251) + b"\r\n", "invalid client_error"),
    # Streamed, both ways.
    (b"set l 0 0 300000\r\n" + bytes(300_000) + b"\r\nget l\r\n",
     "set stored, get hit"),
    (b"flush_all\r\n", "flush_all ok"),
    (b"get x\r\n", "get miss"),
]
EXPIRY = bytes(4)
BINARY = [
    (frame(0x01, b"a", bytes(8), b"7"), "set stored"),
    (frame(0x11, b"a", bytes(8), b"7"), "set stored"),
    (frame(0x00, b"a") + frame(0x09, b"none"), "get hit, get miss"),
    (frame(0x0c, b"none") + frame(0x0d, b"a"), "get miss, get hit"),
    (frame(0x01, b"a", bytes(8), b"7", cas=1), "cas exists"),
    (frame(0x02, b"a", bytes(8), b"7"), "add not_stored"),
    (frame(0x03, b"a", bytes(8), b"7"), "replace stored"),
    (frame(0x0e, b"a", b"", b"7"), "append stored"),
    (frame(0x0f, b"a", b"", b"7"), "prepend stored"),
    (frame(0x05, b"a", struct.pack(">QQI", 1, 0, 0)), "incr hit"),
    (frame(0x06, b"n", struct.pack(">QQI", 1, 9, 0)), "decr created"),
    (frame(0x1c, b"a", EXPIRY), "touch hit"),
    (frame(0x1d, b"a", EXPIRY), "gat hit"),
    (frame(0x04, b"a") + frame(0x04, b"a"), "delete hit, delete miss"),
    (frame(0x0b) + frame(0x10), "version ok, stats ok"),
    (frame(0x1b, extras=EXPIRY), "verbosity ok"),
    (frame(0x77), "invalid client_error"),
    (frame(0x08), "flush_all ok"),
]


def counted(expected, also):
    """{labels: count} of "get hit, get miss"."""
    found = {}
    for one in [*expected.split(", "), also]:
        command, result = one.split()
        labels = (("command", command), ("result", result))
        found[labels] = found.get(labels, 0) + 1
    return found


class RequestsTest(MetricsCase):

    def check(self, before, after, expected, about):
        with self.subTest(about[:60]):
            changes = moved(before, after)
            requests = {labels: by for (name, labels), by in changes.items()
                        if name == REQUESTS}
            self.assertEqual(requests, expected)
            commands = {}
            for labels, by in expected.items():
                one = labels[:1]
                commands[one] = commands.get(one, 0) + by
            counts = {labels: by for (name, labels), by in changes.items()
                      if name == DURATION + "_count"}
            self.assertEqual(counts, commands)

    def test_every_command_and_result(self):
        daemon = self.serve()
        client, binary = daemon.client(), daemon.client()
        self.ask(client, b"flush_all\r\n")  # other tests' keys
        before = self.metrics()
        for request, expected in TEXT:
            self.ask(client, request)
            after = self.metrics()
            self.check(before, after, counted(expected, "mn ok"), request)
            before = after
        for request, expected in BINARY:
            self.ask_binary(binary, request)
            after = self.metrics()
            self.check(before, after, counted(expected, "noop ok"), request)
            before = after
        client.line(b"quit\r\n")
        self.check(before, self.metrics(),
                   {(("command", "quit"), ("result", "ok")): 1}, b"quit")

    def test_durations_are_seconds(self):
        client = self.serve().client()
        self.ask(client, b"set a 0 0 1\r\n1\r\n" * 20)
        buckets, total, count = self.metrics().families[
            DURATION].series()[(("command", "set"),)]
        self.assertEqual(count, 20)
        self.assertGreater(total, 20 * 1e-6)
        self.assertLess(total, 20 * 10)
        self.assertEqual(buckets[0][0], 0.00001)
        self.assertEqual(buckets[-2][0], 10)

    def test_a_client_that_leaves_in_the_middle_of_a_value(self):
        daemon = self.serve()
        before = self.metrics()
        client = daemon.client()
        client.socket.sendall(b"set a 0 0 100000\r\n" + bytes(50_000))
        client.close()
        labels = {"command": "set", "result": "client_error"}
        self.until(lambda: self.metrics().get(REQUESTS, **labels) == 1,
                   "the set is counted")
        self.check(before, self.metrics(),
                   {tuple(sorted(labels.items())): 1}, b"left")


class ListTest(unittest.TestCase):

    def test_the_document_is_what_the_program_says(self):
        """ersproxy --list-metrics > docs/reference/metrics.md"""
        said = subprocess.run([ERSPROXY, "--list-metrics"],
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=DEADLINE_S, check=True).stdout
        with open(os.path.join(TOP, "docs", "reference", "metrics.md"),
                  encoding="utf-8") as file:
            self.assertEqual(file.read(), said)


class MetricsListTest(MetricsCase):

    def test_the_list_is_of_what_is_exposed(self):
        client = self.serve().client()
        with open(os.path.join(TOP, "docs", "reference", "metrics.md"),
                  encoding="utf-8") as file:
            rows = re.findall(r"^\| `((?:ersproxy|process)_\w+)` \| (\w+) \| ([\w, ]*) "
                              r"\| `?(\w*)`? \|", file.read(), re.M)
        families = self.metrics().families
        self.assertEqual(sorted(row[0] for row in rows), sorted(families))
        stats = client.facts(b"stats")
        for name, kind, labels, stat in rows:
            with self.subTest(name):
                self.assertEqual(families[name].kind, kind)
                for _, own in families[name].samples:
                    self.assertEqual({label for label, _ in own} - {"le"},
                                     set(labels.split(", ")) - {""})
                if stat:
                    self.assertIn(stat, stats)

    def test_a_request_for_the_items_is_sent_elsewhere(self):
        client = self.serve().client()
        self.assertEqual(client.line(b"stats cachedump 1 0\r\n"),
                         b"CLIENT_ERROR not supported by this proxy")


if __name__ == "__main__":
    unittest.main()
