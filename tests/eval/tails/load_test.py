"""proxy-load times each kind of request, before a planted server: GETs are
late, some SETs are refused."""

import json
import os
import re
import socketserver
import subprocess
import threading
import time
import unittest

PROGRAM = os.environ["PROXY_LOAD"]
VALUE = b"x" * 100
LATE_S = 0.03
DEADLINE_S = 60


class Planted(socketserver.StreamRequestHandler):
    """Every GET takes LATE_S, and every third SET is refused."""

    def handle(self):
        for line in self.rfile:
            words = line.split()
            self.server.asked.append(words[:2])
            if words[0] == b"get":
                time.sleep(LATE_S)  # what is planted
                self.wfile.write(b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (
                    words[1], len(VALUE), VALUE))
                continue
            self.rfile.read(int(words[4]) + 2)
            self.server.sets += 1
            self.wfile.write(b"SERVER_ERROR planted\r\n"
                             if self.server.sets % 3 == 0 else b"STORED\r\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    sets = 0


class LoadTest(unittest.TestCase):

    def setUp(self):
        self.server = Server(("127.0.0.1", 0), Planted)
        self.server.asked = []
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def load(self, *words):
        done = subprocess.run(
            [PROGRAM, "--ports", str(self.server.server_address[1]),
             "--connections", "1", "--value-bytes", str(len(VALUE)), *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=True, timeout=DEADLINE_S)
        return json.loads(done.stdout), done.stderr

    def test_gets_and_sets_have_times_and_errors_of_their_own(self):
        seen, complaints = self.load("--requests", "60", "--set-percent", "50")
        gets = sum(words[0] == b"get" for words in self.server.asked)
        self.assertEqual(seen["get"]["count"], gets)
        self.assertEqual(seen["set"]["count"], 60 - gets)
        self.assertGreaterEqual(seen["get"]["p50_us"], LATE_S * 1e6)
        self.assertLess(seen["set"]["p50_us"], LATE_S * 1e6)
        self.assertGreaterEqual(seen["get"]["max_us"], seen["get"]["p99_us"])
        self.assertEqual(seen["get"]["errors"], 0)
        self.assertEqual(seen["set"]["errors"], (60 - gets) // 3)
        self.assertEqual(seen["errors"], seen["set"]["errors"])
        self.assertRegex(complaints, "the first: SERVER_ERROR planted")

    def test_it_asks_for_so_long_and_what_is_early_does_not_count(self):
        for _ in range(5):
            self.server.asked.clear()
            seen, _ = self.load("--seconds", "0.9", "--skip-s", "0.6",
                                "--set-percent", "0")
            # Nothing is early where the machine stands still at first.
            if seen["requests"] > seen["get"]["count"]:
                break
        self.assertGreaterEqual(seen["seconds"], 0.9)
        self.assertEqual(seen["requests"], len(self.server.asked))
        # One after the other, LATE_S each.
        self.assertLessEqual(seen["get"]["count"], 0.3 / LATE_S + 1)
        self.assertGreater(seen["requests"], seen["get"]["count"])

    def test_keys_may_be_named(self):
        self.load("--requests", "30", "--set-percent", "50", "--names",
                  "one,two", "--apart")
        self.assertTrue(self.server.asked)
        for verb, key in self.server.asked:
            self.assertTrue(re.fullmatch(
                rb"(one|two)" + (b"-set" if verb == b"set" else b""), key),
                key)


if __name__ == "__main__":
    unittest.main()
