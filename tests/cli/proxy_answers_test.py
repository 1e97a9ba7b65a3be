"""What an ersproxy refuses keeps its code, and the exit code that belongs to
it."""

import http.server
import json
import threading
import unittest

from ctl_case import (ALREADY_SO, BAD_USAGE, CLUSTER_ERROR, NOT_FOUND, CtlCase)


class Refusing(http.server.BaseHTTPRequestHandler):
    """Answers whatever it is asked with its server's `answer`."""

    def do_POST(self):  # pylint: disable=invalid-name
        self.rfile.read(int(self.headers["Content-Length"]))
        status, body = self.server.answer
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_words):  # pylint: disable=arguments-differ
        pass


class CodesTest(CtlCase):
    up = ("-n", "1")

    def setUp(self):
        super().setUp()
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Refusing)
        self.addCleanup(self.server.server_close)
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def answer(self, status, body, *words):
        """(exit code, name of the code) after this answer."""
        self.server.answer = status, body
        result = self.run_ctl(
            "--proxy", "127.0.0.1:%d" % self.server.server_port, "--json",
            *words, servers="")
        error = json.loads(result.stderr)["error"]
        self.assertEqual(error["message"], "why")
        return result.returncode, error["code"]

    def test_a_transition_ends_as_it_does_without_a_proxy(self):
        for status, code, ends in (
                (404, "not-found", NOT_FOUND), (503, "unavailable", CLUSTER_ERROR),
                (503, "outcome-unknown", CLUSTER_ERROR),
                (409, "not-managed", CLUSTER_ERROR),
                (409, "conflict", CLUSTER_ERROR), (503, "no-memory", CLUSTER_ERROR),
                (500, "corruption", CLUSTER_ERROR), (400, "too-large", BAD_USAGE),
                (409, "already-there", ALREADY_SO),
                (400, "invalid-argument", BAD_USAGE)):
            with self.subTest(code):
                self.assertEqual(
                    self.answer(status, {"error": "why", "code": code},
                                "transition", "k", "--to", "wide"),
                    (ends, code))
        # Of a proxy in front of the proxy.
        for code in ("teapot", 7, None):
            self.assertEqual(
                self.answer(418, {"error": "why", "code": code},
                            "transition", "k", "--to", "wide"),
                (BAD_USAGE, "invalid-argument"))

    def test_what_a_job_does_not_allow_is_bad_usage(self):
        for status, code, ends in ((409, "conflict", BAD_USAGE),
                                   (404, "not-found", NOT_FOUND),
                                   (429, "unavailable", CLUSTER_ERROR)):
            self.assertEqual(
                self.answer(status, {"error": "why", "code": code},
                            "job", "pause", "7")[0], ends)


if __name__ == "__main__":
    unittest.main()
