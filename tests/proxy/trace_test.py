"""ers trace: the time of each step of a request; and the steps in /metrics."""

from time import monotonic
import unittest

from metrics_case import MetricsCase

LONG = b"l" * 100_000
AROUND = ["parse", "wait"]
BEHIND = ["reply", "total"]
STORES = ["split", "parity", "distribute"]
STEPS = "ersproxy_step_duration_seconds"


def put(line, value):
    return b"%s %d\r\n%s\r\n" % (line, len(value), value)


# What is traced, in this order: the answer's first line, and the steps between
# those of every request.
TRACED = [
    (put(b"set l 0 0", LONG), b"STORED",
     ["receive", "manifest", *STORES, "commit"]),
    (put(b"set s 0 0", b"5"), b"STORED", ["manifest", "commit"]),
    (b"get l\r\n", b"VALUE l 0 100000", ["manifest", "read"]),
    (b"get s\r\n", b"VALUE s 0 1", ["manifest"]),
    (b"get none\r\n", b"END", ["manifest"]),
    (b"gets l s none\r\n", b"VALUE l 0 100000", ["manifest", "read"]),
    (b"gat 0 l\r\n", b"VALUE l 0 100000", ["manifest", "read"]),
    (b"incr s 1\r\n", b"6", ["manifest", "commit"]),
    (b"touch s 9\r\n", b"TOUCHED", ["manifest", "commit"]),
    (put(b"append l 0 0", b"5"), b"STORED",
     ["manifest", "read", *STORES, "commit"]),
    (put(b"ers update l 5", b"5"), b"UPDATED",
     ["manifest", "read", *STORES, "commit"]),
    (b"ers transition l wide\r\n", b"STAT path plan",
     ["manifest", "read", *STORES, "commit"]),
    (b"ers stat l\r\n", b"STAT scheme ers2:4,1,5", ["manifest"]),
    (b"delete s\r\n", b"DELETED", ["manifest", "commit"]),
    (b"version\r\n", b"VERSION", []),
    (b"mg l v\r\n", b"VA 100001", ["manifest", "read"]),
    (b"mg none v\r\n", b"EN", ["manifest"]),
    (b"mg none v q\r\n", None, ["manifest"]),
    (put(b"ms l", LONG), b"HD", ["receive", "manifest", *STORES, "commit"]),
    (b"ma n N0\r\n", b"HD", ["manifest", "commit"]),
    (b"md n q\r\n", None, ["manifest", "commit"]),
    (b"mn\r\n", None, []),
]


class TraceCase(MetricsCase):

    def traced(self, client, request, behind=b""):
        """The first line of all answers, and the steps in microseconds."""
        client.socket.sendall(behind + b"ers trace " + request)
        first, steps = None, []
        while (line := client.file.readline()) != b"TRACED\r\n":
            self.assertTrue(line, "the connection ended")
            line = line.rstrip(b"\r\n")
            if line.startswith(b"TRACE "):
                _, name, time = line.decode().split(" ")
                self.assertTrue(time.endswith("us"), line)
                steps.append((name, int(time[:-2])))
            elif not steps:
                first = first or line
        return first, steps

    def check(self, request, steps, between):
        names = [name for name, _ in steps]
        # A slow minute of the machine may well hedge a read.
        optional = [name for name in ("receive", "hedge")
                    if name not in between]
        self.assertEqual([n for n in names if n not in optional],
                         AROUND + between + BEHIND, request[:40])
        times = dict(steps)
        for name, time in steps:
            # Whole microseconds.
            self.assertLessEqual(time, times["total"] + 1, (request[:40],
                                                            steps))
        return times

    def serve(self, *words, **more):
        self.daemon = super().serve(*words, **more)
        return self.daemon


class TraceTest(TraceCase):

    def test_every_command(self):
        client = self.serve().client()
        self.ask(client, b"flush_all\r\n")
        for request, answer, between in TRACED:
            with self.subTest(request[:40]):
                before = self.metrics().counts(STEPS)
                first, steps = self.traced(client, request)
                if answer is not None and request != b"mn\r\n":
                    self.assertTrue(first.startswith(answer), first)
                times = self.check(request, steps, between)
                if between:
                    # No step is only a name.
                    self.assertGreater(times["manifest"], 0)
                after = self.metrics().counts(STEPS)
                moved = {labels[0][1] for labels in after
                         if after[labels] > before[labels]}
                self.assertEqual(moved, set(times) - {"total"})

    def test_a_line_that_is_refused_gives_its_error_only(self):
        client = self.serve().client()
        self.ask(client, put(b"set l 0 0", LONG))
        too_long = b"k" * 251
        for line in (b"get l " + too_long + b"\r\n",
                     b"get " + b"none " * 300 + too_long + b"\r\n",
                     b"nonsense\r\n", b"set l 0 0 x\r\n"):
            lines = self.ask(client, b"ers trace " + line)
            self.assertRegex(lines[-1], rb"^(CLIENT_)?ERROR")
            self.assertEqual([one for one in lines
                              if one.startswith(b"TRACE")], [])
            # What comes next is traced as ever.
            _, steps = self.traced(client, b"get l\r\n")
            self.check(line, steps, ["manifest", "read"])

    def test_a_slow_client_is_seen_as_such(self):
        client = self.serve("--threads", "1").client()
        client.socket.sendall(b"ers trace set w 0 0 2000\r\n" + bytes(1000))
        # The proxy has taken what came: it answers another client since.
        other = self.daemon.client()
        for _ in range(2):
            self.ask(other, b"get none\r\n")
        begun = monotonic()
        for _ in range(200):
            self.ask(other, b"get none\r\n")
        waited = monotonic() - begun
        client.socket.sendall(bytes(1000) + b"\r\n")
        steps, line = {}, client.file.readline()
        self.assertEqual(line, b"STORED\r\n")
        while (line := client.file.readline()) != b"TRACED\r\n":
            _, name, time = line.decode().split()
            steps[name] = int(time[:-2])
        self.assertGreater(steps["receive"], int(waited * 1e6) - 1)

    def test_the_time_around_a_request_is_taken(self):
        client = self.serve().client()
        # The servers take their time over it, and it is not waited for here.
        stored = put(b"set w 0 0", bytes(5000))
        _, steps = self.traced(client, b"get w\r\n",
                               behind=stored + b"mn\r\n" * 50)
        self.assertGreater(dict(steps)["parse"], 0, steps)
        self.assertGreater(dict(steps)["wait"], 0, steps)
        _, steps = self.traced(client, b"version\r\n", behind=stored)
        self.assertGreater(dict(steps)["reply"], 0, steps)

    def test_a_sample_is_taken(self):
        client = self.serve("--threads", "1").client()
        self.ask(client, put(b"set s 0 0", b"5"))
        rounds = 1280
        for _ in range(rounds // 10):
            self.ask(client, b"get s\r\n" * 9)
        counts = {labels[0][1]: count for labels, count
                  in self.metrics().counts(STEPS).items()}
        self.assertGreaterEqual(counts["parse"], rounds // 128 - 1)
        self.assertLessEqual(counts["parse"], rounds // 32)
        self.assertEqual(counts["parse"], counts["reply"])
        self.assertLessEqual(counts["manifest"], counts["parse"])
        self.assertGreater(counts["manifest"], 0)


class DecodeTest(TraceCase):

    def test_blocks_that_are_computed(self):
        client = self.serve().client()
        keys = [b"d%d" % number for number in range(12)]
        for key in keys:
            self.ask(client, put(b"set %s 0 0" % key, LONG))
        self.tool("kill", "3")
        for key in keys:
            _, steps = self.traced(client, b"get %s\r\n" % key)
            if "decode" in dict(steps):
                self.check(b"get", steps, ["manifest", "read", "decode"])
                return
        self.fail("no key had a data block on the server that died")


if __name__ == "__main__":
    unittest.main()
