"""Traces of requests, as an OpenTelemetry collector gets them."""

import http.server
import json
import re
import socket
import threading
from time import monotonic
import unittest

from metrics_case import MetricsCase
from proxy_case import DEADLINE_S

LONG = b"l" * 100_000
SENT = "ersproxy_trace_spans_sent_total"
DROPPED = "ersproxy_trace_spans_dropped_total"
SERVER, INTERNAL = 2, 1  # of OTLP
# What the daemon gives one POST, and how often it tries.
TIMEOUT_S = 10
TRIES = 4
AT_ONCE = {"Retry-After": "0"}
# More than it queues and has under way.
MANY = 2048 + 256 + 500


def put(line, value):
    return b"%s %d\r\n%s\r\n" % (line, len(value), value)


class Post(http.server.BaseHTTPRequestHandler):

    def do_POST(self):  # the name that the base class calls
        body = self.rfile.read(int(self.headers["Content-Length"]))
        code, headers, answer = self.server.collector.take(self, body)
        try:
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if self.server.collector.trickles:
                self.trickle()
            self.wfile.write(answer)
        except ConnectionError:
            pass  # the daemon has ended

    def trickle(self):
        """A byte now and then of a body that never ends."""
        while not self.server.collector.released.wait(0.2):
            self.wfile.write(b" ")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):

    def __init__(self, host, collector):
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, 0), Post, bind_and_activate=False)
        self.collector = collector
        self.server_bind()


class Collector:
    """Has a port at once; answers from listen() on."""

    def __init__(self, case, host="127.0.0.1", name="127.0.0.1"):
        self.case = case
        self.server = Server(host, self)
        self.url = f"http://{name}:{self.server.server_port}"
        self.changed = threading.Condition()
        self.bodies = []
        self.spans = []
        self.answers = []  # of the next POSTs; then each is 200
        self.heads = []
        self.hangs = False
        self.trickles = False
        self.released = threading.Event()
        case.addCleanup(self.server.server_close)

    def listen(self):
        self.server.server_activate()
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.case.addCleanup(thread.join)
        self.case.addCleanup(self.server.shutdown)
        self.case.addCleanup(self.released.set)
        return self

    def take(self, request, body):
        with self.changed:
            self.heads.append((request.path, dict(request.headers)))
            self.bodies.append(json.loads(body))
            self.changed.notify_all()
        if self.hangs:
            self.released.wait()
        with self.changed:
            answer = (self.answers.pop(0) if self.answers
                      else (200, {}, b"{}"))
            if answer[0] == 200:
                for resource in self.bodies[-1]["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        self.spans += scope["spans"]
            self.changed.notify_all()
        return answer

    def until(self, holds, what):
        with self.changed:
            self.case.assertTrue(self.changed.wait_for(holds, DEADLINE_S),
                                 f"never: {what}")

    def roots(self):
        return [span for span in self.spans if "parentSpanId" not in span]

    def until_root(self, name):
        """All that was asked before it by the same thread has come then."""
        self.until(lambda: any(span["name"] == name for span in self.roots()),
                   f"a span of {name}")


def attributes(span):
    """{key: value}; numbers as OTLP's JSON has them, in texts."""
    found = {}
    for one in span["attributes"]:
        (kind, value), = one["value"].items()
        found[one["key"]] = int(value) if kind == "intValue" else value
    return found


class ExportCase(MetricsCase):

    def serve_to(self, url, sample, *words):
        self.sampling = f"trace_export: {url}\ntrace_sample: {{}}\n"
        self.daemon = self.serve("--threads", "1", *words,
                                 config=self.sampling.format(sample))
        return self.daemon.client()

    def collected(self, sample=1):
        self.collector = Collector(self).listen()
        return self.serve_to(self.collector.url, sample)

    def dropped(self, reason):
        return self.metrics().get(DROPPED, drop_reason=reason)


class SpansTest(ExportCase):

    def check_tree(self, spans):
        """Ids, parents and times; returns [(root, its children)]."""
        spans_by_id = {span["spanId"]: span for span in spans}
        self.assertEqual(len(spans_by_id), len(spans))
        trees = {}
        for span in spans:
            self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
            self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
            begin, end = (span["startTimeUnixNano"], span["endTimeUnixNano"])
            self.assertRegex(begin, "^[0-9]{19}$")
            self.assertLessEqual(int(begin), int(end))
            if "parentSpanId" not in span:
                self.assertEqual(span["kind"], SERVER)
                trees.setdefault(span["spanId"], (span, []))
                continue
            self.assertEqual(span["kind"], INTERNAL)
            root = spans_by_id[span["parentSpanId"]]
            self.assertNotIn("parentSpanId", root)
            self.assertEqual(span["traceId"], root["traceId"])
            self.assertGreaterEqual(int(begin), int(root["startTimeUnixNano"]))
            self.assertLessEqual(int(end), int(root["endTimeUnixNano"]))
            trees.setdefault(root["spanId"], (root, []))[1].append(span)
        self.assertEqual(len({root["traceId"] for root, _ in trees.values()}),
                         len(trees))
        return list(trees.values())

    def test_each_request_is_sent_with_its_steps(self):
        client = self.collected()
        asked = [
            # What is sent; of each request the name, the result, steps that it
            # has beside others, and what is said of the object.
            (put(b"set l 0 0", LONG),
             [("set", "stored", {"receive", "split", "parity", "distribute",
                                 "commit"}, (False, 100_000, 100_000))]),
            (put(b"set s 0 0", b"12345"),
             [("set", "stored", {"manifest", "commit"}, (True, 5, 5))]),
            (b"get l s none\r\n",
             [("get", "hit", {"manifest", "read"}, (False, 100_000, None)),
              ("get", "hit", {"manifest"}, (True, 5, None)),
              ("get", "miss", {"manifest"}, None)]),
            (b"mg s v\r\n", [("mg", "hit", {"manifest"}, (True, 5, None))]),
            (b"incr s 1\r\n", [("incr", "hit", {"commit"}, (True, 5, None))]),
            # Its client has the steps already.
            (b"ers trace get l\r\n", []),
            (b"delete none\r\n", [("delete", "miss", {"manifest"}, None)]),
            (b"version\r\n", [("version", "ok", set(), None)]),
        ]
        expected = []
        for request, traces in asked:
            self.ask(client, request)  # and an mn
            expected += traces + [("mn", "ok", set(), None)]
        self.ask(client, b"verbosity 1\r\n")
        self.collector.until_root("verbosity")
        trees = sorted(self.check_tree(self.collector.spans),
                       key=lambda tree: int(tree[0]["startTimeUnixNano"]))
        names = [root["name"] for root, _ in trees]
        self.assertEqual(names[:names.index("verbosity")],
                         [name for name, _, _, _ in expected])
        for (root, children), (name, result, steps, found) in zip(
                trees, expected):
            with self.subTest(name, result=result):
                said = attributes(root)
                self.assertEqual(said["ersproxy.result"], result)
                self.assertNotIn("status", root)
                self.assertEqual(
                    {"parse", "wait", "reply"} | steps,
                    {child["name"] for child in children}
                    - ({"manifest", "receive", "hedge"} - steps))
                self.check_object(said, found)
        self.assertNotIn("none", json.dumps(self.collector.bodies))

    def check_object(self, said, found):
        if found is None:
            self.assertEqual(set(said), {"ersproxy.result"})
            return
        inline, length, sent = found
        self.assertEqual(said.pop("ersproxy.value_bytes", None), sent)
        del said["ersproxy.result"]
        self.assertEqual(said, {
            "ersproxy.scheme": "ers2:4,1,5", "ersproxy.width": "narrow",
            "ersproxy.inline": inline, "ersproxy.object_bytes": length})

    def test_a_collector_knows_whose_they_are(self):
        client = self.collected()
        self.ask(client, b"version\r\n")
        self.collector.until_root("version")
        path, head = self.collector.heads[0]
        self.assertEqual(path, "/v1/traces")
        self.assertEqual(head["Content-Type"], "application/json")
        self.assertEqual("http://" + head["Host"], self.collector.url)
        resource, = self.collector.bodies[0]["resourceSpans"]
        said = attributes(resource["resource"])
        process = self.daemon.process.pid
        self.assertEqual(said, {
            "service.name": "ersproxy", "service.version": "0.1.0",
            "service.instance.id": f"{socket.gethostname()}:{process}",
            "host.name": socket.gethostname(), "process.pid": process})

    def test_a_long_value_has_a_bounded_number_of_spans(self):
        client = self.collected()
        pieces = 400
        value = bytes(pieces * 256 * 1024 // 4)
        self.assertEqual(client.set(b"v", value), b"STORED")
        self.ask(client, b"verbosity 1\r\n")
        self.collector.until_root("verbosity")
        (root, children), = [
            tree for tree in self.check_tree(self.collector.spans)
            if tree[0]["name"] == "set"]
        self.assertEqual(len(children), 100)
        self.assertGreater(attributes(root)["ersproxy.steps_left_out"], 0)

    def test_a_client_that_leaves_is_seen(self):
        client = self.collected()
        client.socket.sendall(b"set a 0 0 100000\r\n" + bytes(50_000))
        client.close()
        self.collector.until_root("set")
        root, = self.collector.roots()
        said = attributes(root)
        self.assertEqual(said["ersproxy.result"], "client_error")
        self.assertEqual(said["ersproxy.value_bytes"], 100_000)


class SampleTest(ExportCase):

    def test_none_is_sent_until_a_reload_asks_for_it(self):
        client = self.collected(sample=0)
        self.ask(client, b"version\r\n" * 500)
        self.config(self.sampling.format(1) + "garbage: {every_s: 0}\n")
        self.assertIn("reloaded", self.daemon.reload())
        self.ask(client, b"verbosity 1\r\n")
        self.collector.until_root("verbosity")
        names = {span["name"] for span in self.collector.roots()}
        self.assertLessEqual(names, {"verbosity", "mn"})

    def test_a_share_is_sent(self):
        client = self.collected(sample=0.25)
        count = 2000
        self.ask(client, b"version\r\n" * count)
        self.config(self.sampling.format(1) + "garbage: {every_s: 0}\n")
        self.daemon.reload()
        self.ask(client, b"verbosity 1\r\n")
        self.collector.until_root("verbosity")
        traced = sum(span["name"] == "version"
                     for span in self.collector.roots())
        # Ten standard deviations of the binomial distribution.
        self.assertAlmostEqual(traced, count // 4, delta=200)


class CollectorTest(ExportCase):

    def test_a_dead_collector_costs_requests_nothing(self):
        collector = Collector(self)
        client = self.serve_to(collector.url, 1)
        self.ask(client, b"version\r\n" * 10)
        self.until(lambda: self.dropped("unreachable") > 0, "drops")
        self.ask(client, b"version\r\n" * 10)
        self.until(lambda: self.dropped("unreachable") >= 22, "more drops")
        said = re.findall(r"traces are dropped, requests go on: .*",
                          self.daemon.log())
        self.assertEqual(len(said), 1, said)
        self.assertIn(collector.url + "/v1/traces", said[0])
        self.assertIn("no connection to it", said[0])
        self.assertEqual(self.metrics().get(SENT), 0)
        collector.listen()
        self.ask(client, b"verbosity 1\r\n")
        collector.until_root("verbosity")
        self.until(lambda: "takes traces again" in self.daemon.log(),
                   "it is said that the collector is back")
        self.assertGreater(self.metrics().get(SENT), 0)

    def test_a_collector_that_hangs_holds_up_neither_requests_nor_the_end(self):
        # A machine that stands still holds up the end, too: not each time.
        if not any(self.end_s() < TIMEOUT_S - 2 for _ in range(5)):
            self.fail("it ends as late as it gives the collector up")

    def end_s(self):
        """How long a daemon takes to end of which the collector hangs."""
        collector = Collector(self).listen()
        collector.hangs = True
        client = self.serve_to(collector.url, 1)
        for _ in range(MANY // 100):
            self.ask(client, b"version\r\n" * 100)
        collector.until(lambda: collector.bodies, "a POST")
        for _ in range(MANY // 100):
            self.ask(client, b"version\r\n" * 100)
        self.assertGreater(self.dropped("queue_full"), 0)
        self.until(lambda: re.search(
            r"spans of traces are dropped, requests go on \(\d+ since",
            self.daemon.log()), "it is said that the queue was full")
        begun = monotonic()
        self.daemon.stop()
        took = monotonic() - begun
        self.assertRegex(self.daemon.log(), r"\d+ spans of traces lost")
        return took

    def test_a_collector_that_trickles_its_answer_is_given_up(self):
        collector = Collector(self).listen()
        collector.trickles = True
        collector.answers = [(200, {}, b" " * 60_000)]
        client = self.serve_to(collector.url, 1)
        self.ask(client, b"version\r\n")
        self.until(lambda: self.dropped("unreachable") > 0, "drops")
        self.assertIn("it does not answer in time", self.daemon.log())
        collector.trickles = False
        self.ask(client, b"verbosity 1\r\n")
        collector.until_root("verbosity")

    def test_a_collector_has_an_address_of_either_family_or_a_name(self):
        for host, name in (("::1", "[::1]"), ("127.0.0.1", "localhost")):
            with self.subTest(host, name=name):
                collector = Collector(self, host, name).listen()
                client = self.serve_to(collector.url, 1)
                self.ask(client, b"version\r\n")
                collector.until_root("version")
                self.daemon.stop()

    def test_what_is_queued_is_sent_at_the_end(self):
        for _ in range(5):
            client = self.collected()
            self.ask(client, b"version\r\n")
            self.daemon.stop()
            # It waits for a while, and not longer, until that is taken.
            if "spans of traces lost" not in self.daemon.log():
                break
        self.assertEqual([span["name"] for span in self.collector.roots()],
                         ["version", "mn"])

    def test_a_busy_collector_is_asked_again(self):
        self.collector = Collector(self).listen()
        self.collector.answers = [(503, {}, b""), (429, AT_ONCE, b"")]
        client = self.serve_to(self.collector.url, 1)
        self.ask(client, b"version\r\n")
        self.collector.until_root("version")
        first, second, third = self.collector.bodies[:3]
        self.assertEqual(first, second)
        self.assertEqual(first, third)
        self.until(lambda: self.metrics().get(SENT) ==
                   len(self.collector.spans), "all are counted")
        self.assertEqual(self.dropped("refused"), 0)

    def test_a_collector_that_stays_busy_is_given_up(self):
        self.collector = Collector(self).listen()
        self.collector.answers = [(502, AT_ONCE, b"")] * TRIES
        client = self.serve_to(self.collector.url, 1)
        self.ask(client, b"version\r\n")
        self.until(lambda: self.dropped("refused") > 0, "it is given up")
        self.assertEqual(len(self.collector.bodies), TRIES)
        self.assertIn("HTTP status 502", self.daemon.log())

    def test_what_a_collector_refuses_is_not_sent_again(self):
        self.collector = Collector(self).listen()
        partial = b'{"partialSuccess": {"rejectedSpans": "2"}}'
        self.collector.answers = [(400, {}, b""), (200, {}, partial)]
        client = self.serve_to(self.collector.url, 1)
        self.ask(client, b"version\r\n")
        self.until(lambda: self.dropped("refused") > 0, "it is refused")
        self.assertIn("HTTP status 400", self.daemon.log())
        self.ask(client, b"verbosity 1\r\n")
        self.collector.until_root("verbosity")
        self.until(lambda: self.metrics().get(SENT) > 0, "some are taken")
        sent = [json.dumps(body) for body in self.collector.bodies]
        self.assertEqual(len(sent), len(set(sent)))
        # What was in the first, beside the two.
        refused = sum(len(scope["spans"]) for resource in
                      self.collector.bodies[0]["resourceSpans"]
                      for scope in resource["scopeSpans"])
        self.until(lambda: self.metrics().get(SENT) ==
                   len(self.collector.spans) - 2, "all but two are taken")
        self.assertEqual(self.dropped("refused"), refused + 2)


if __name__ == "__main__":
    unittest.main()
