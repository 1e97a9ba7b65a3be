"""ersctl job: the jobs of an ersproxy, by its admin port."""

import http.server
import json
import os
import pty
import select
import socket
import subprocess
import threading
import unittest

from jobs_case import Api, JobsCase
from proxy_case import DEADLINE_S, KIB, Proxy, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR, DONE, ERSCTL, NOT_FOUND

COUNT, LENGTH = 40, 40 * KIB
# So that a job of all of them takes some seconds, or minutes.
SLOW, SLOWER = "500000", "20000"


class JobCtlCase(JobsCase):

    def fill(self, prefix):
        link = self.link()
        for number in range(COUNT):
            link.set(f"{prefix}{number}", random_bytes(LENGTH, number))

    def start_at(self, admin, *options):
        """A daemon with this admin address."""
        self.started = getattr(self, "started", 0) + 1
        proxy = Proxy(self.path(f"proxy-at-{self.started}"), self.servers,
                      "--admin", admin, *options)
        self.addCleanup(proxy.kill)
        return proxy

    def words(self, *words, address=None):
        return [ERSCTL, "--proxy", address or self.proxy.addresses[-1], "job",
                *words]

    def job(self, *words, code=DONE, **options):
        """A command that ends with `code`; the JSON that it prints."""
        result = subprocess.run(
            self.words(*words, "--json", **options), capture_output=True,
            stdin=subprocess.DEVNULL, env=self.environment(""),
            timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, code, (words, result.stderr))
        return json.loads(result.stdout or result.stderr)

    def text(self, *words):
        return subprocess.run(
            self.words(*words), stdout=subprocess.PIPE, check=True,
            stdin=subprocess.DEVNULL, env=self.environment(""),
            timeout=DEADLINE_S).stdout.decode()

    def fails(self, code, text, *words, **options):
        error = self.job(*words, code=code, **options)["error"]
        self.assertEqual(error["exit"], code)
        self.assertIn(text, error["message"])


class JobTest(JobCtlCase):

    def test_from_start_to_end(self):
        self.fill("whole:")
        job = self.job("start", "--to", "wide", "--pattern", "whole:[0-9]+",
                       "--min-bytes", "1", "--max-bytes", str(LENGTH),
                       "--idle", "0", "--age", "0", "--parallel", "2",
                       "--rate", "900000000", "--watch")
        self.assertEqual(job["state"], "done")
        self.assertEqual(job["objects"]["changed"], COUNT)
        self.assertEqual(job["select"]["pattern"], "whole:[0-9]+")
        self.assertEqual(job["select"]["max_bytes"], LENGTH)
        self.assertEqual((job["parallel"], job["bytes_per_second"]),
                         (2, 900000000))
        self.assertEqual(set(self.widths("whole:").values()), {"wide"})
        number = job["id"]
        self.assertEqual(self.job("show", number), job)
        self.assertEqual(self.job("watch", number), job)
        self.assertIn(number, [j["id"] for j in self.job("list")])
        self.assertRegex(self.text("list"), rf"{number} +done +wide +{COUNT}")
        self.assertRegex(self.text("show", number), f"changed +{COUNT} obj")
        self.fails(BAD_USAGE, number, "pause", number)
        self.assertEqual(self.job("forget", number),
                         {"id": number, "forgotten": True})
        for command in ("show", "watch", "pause", "resume", "cancel",
                        "forget"):
            self.fails(NOT_FOUND, f"no job {number}", command, number)

    def test_pause_resume_and_cancel(self):
        self.fill("held:")
        number = self.job("start", "--to", "wide", "--prefix", "held:",
                          "--rate", SLOWER)["id"]
        self.assertEqual(self.job("pause", number)["state"], "paused")
        self.assertIn("paused", self.text("show", number))
        self.assertIn(self.job("resume", number)["state"],
                      ("listing", "running"))
        self.fails(BAD_USAGE, "cancel it first", "forget", number)
        self.assertEqual(self.job("cancel", number)["state"], "cancelled")
        result = subprocess.run(
            self.words("watch", number, "--json"), capture_output=True,
            env=self.environment(""), timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, CLUSTER_ERROR)
        self.assertEqual(json.loads(result.stdout)["state"], "cancelled")
        self.assertIn(b"cancelled", result.stderr)

    def test_a_prefix_of_any_bytes(self):
        key = b"\xff\xfeodd"
        link = self.link()
        link.send(b"set " + key + b"1 0 0 9000\r\n" + b"x" * 9000 + b"\r\n")
        self.assertEqual(link.line(), b"STORED")
        job = self.job("start", "--to", "wide", "--watch", "--prefix",
                       os.fsdecode(key))
        self.assertEqual(job["objects"]["changed"], 1)
        self.assertIn("prefix_base64", job["select"])

    def test_what_is_refused_says_why(self):
        for words, text in ((["--prefix", "a", "--to", "sideways"], "sideways"),
                            (["--prefix", "a", "--to", "rs:9,1"], "needs 10"),
                            (["--pattern", "(", "--to", "wide"], "pattern"),
                            (["--prefix", "", "--to", "wide"], "empty"),
                            (["--to", "wide"], "--all"),
                            (["--to", "wide", "--all", "--prefix", "a"],
                             "--all"),
                            (["--to", "wide", "--all", "--parallel", "65"],
                             "parallel"),
                            (["--to", "wide", "--idle", "-1"], "--idle"),
                            (["--to", "wide", "--idle", "x"], "--idle"),
                            (["--to", "wide", "--all", "--rate", "-5"],
                             "--rate: it must be a number of bytes"),
                            (["--to", "wide", "--all", "--rate", "1.5"],
                             "--rate: it must be a number of bytes"),
                            (["--to", "wide", "--all", "--rate", "9" * 20],
                             "--rate: it must be a number of bytes"),
                            (["--prefix", "a"], "--to"),
                            (["--to", "wide", "--pattern", "\udcff"], "UTF-8")):
            with self.subTest(words=words):
                self.fails(BAD_USAGE, text, "start", *words)
        for number in ("x", "-1", "1/pause", ""):
            self.fails(BAD_USAGE, "number", "show", "--", number)


class ProgressTest(JobCtlCase):

    def test_a_bar_with_an_estimate_on_a_terminal(self):
        self.fill("bar:")
        terminal, inside = pty.openpty()
        self.addCleanup(os.close, terminal)
        process = subprocess.Popen(
            self.words("start", "--to", "wide", "--prefix", "bar:", "--rate",
                       SLOW, "--watch"), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=inside,
            env=self.environment(""))
        self.addCleanup(process.kill)
        os.close(inside)
        seen = b""
        while not (b"running [#" in seen and b"s left" in seen):
            ready, _, _ = select.select([terminal], [], [], DEADLINE_S)
            self.assertTrue(ready, seen[-500:])
            seen += os.read(terminal, 4096)
        self.assertRegex(seen, rb"job \d+ to wide: running \[#+\.*\] +\d+ % "
                               rb"\d+ of 40 objects, [\d.]+ s, about \d+ s left")
        # Else it would be held up by what is not read.
        reader = threading.Thread(target=drain, args=(terminal,))
        reader.start()
        self.assertEqual(process.wait(DEADLINE_S), DONE)
        reader.join()


def drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # EIO: the other end is closed
        pass


class RestartTest(JobCtlCase):

    def test_a_watch_outlives_the_proxy(self):
        self.fill("again:")
        address = f"127.0.0.1:{self.held_port()}"
        proxy = self.start_at(address, "--state-dir", self.state_dir())
        api = Api(address)
        watch = subprocess.Popen(
            self.words("start", "--to", "wide", "--prefix", "again:", "--rate",
                       SLOW, "--watch", "--json", address=address),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env=self.environment(""))
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.kill)
        self.until(lambda: any(job["objects"]["changed"] > 2 for job in
                               api.ask("GET", "/v1/jobs")[1]["jobs"]),
                   "objects are changed")
        proxy.process.kill()
        proxy.wait()
        self.start_at(address, "--state-dir", self.state_dir())
        job = json.loads(watch.communicate(timeout=DEADLINE_S)[0])
        self.assertEqual(watch.returncode, DONE)
        self.assertEqual((job["state"], job["objects"]["changed"]),
                         ("done", COUNT))


class ServersTest(JobCtlCase):
    up = ("-n", "6")

    def test_servers_have_the_latency_that_the_proxy_saw(self):
        self.fill("seen")
        result = self.run_ctl("--proxy", self.proxy.addresses[-1], "servers",
                              "--json", servers="")
        self.assertEqual(result.returncode, DONE, result.stderr)
        servers = json.loads(result.stdout)["servers"]
        self.assertEqual(sorted(server["name"] for server in servers),
                         sorted(self.servers.split(",")))
        for server in servers:
            self.assertEqual(server["state"], "in_sync")
            self.assertLessEqual(0, server["latency"]["p50_us"])
            self.assertLessEqual(server["latency"]["p50_us"],
                                 server["latency"]["p99_us"])
            self.assertIn("beside_others", server["latency"])


class WrongAddressTest(JobCtlCase):
    up = ("-n", "6")

    def test_what_is_no_admin_port_is_reported(self):
        absent = f"127.0.0.1:{self.held_port()}"
        self.fails(CLUSTER_ERROR, "Connection refused", "list", address=absent)
        self.fails(CLUSTER_ERROR, "admin address", "list", address=self.address)
        self.fails(CLUSTER_ERROR, "admin address", "list",
                   address=self.servers.split(",")[0])
        self.fails(BAD_USAGE, "IPv6", "list", address="/tmp/socket")
        self.fails(BAD_USAGE, "brackets", "list", address="::1:80")
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            self.fails(CLUSTER_ERROR, "no answer within", "list", "--timeout",
                       "0.2", address=f"127.0.0.1:{silent.getsockname()[1]}")

    def serve(self, page):
        """An HTTP server that gives this to every GET; its address."""
        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Page)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return f"127.0.0.1:{server.server_port}"

    def test_another_http_server_is_reported(self):
        address = self.serve(b"<html>hello</html>")
        self.fails(CLUSTER_ERROR, "HTTP status 200", "list", address=address)
        self.fails(CLUSTER_ERROR, "HTTP status 501", "start", "--to", "wide",
                   "--all", address=address)

    def test_odd_json_is_no_job(self):
        job = b'{"id": "1", "state": "done", "objects": {}}'
        self.assertEqual(self.job("list", address=self.serve(
            b'{"jobs": [%s]}' % job))[0]["id"], "1")
        for page in (b"{}", b'{"jobs": 5}', b'{"jobs": {"a": %s}}' % job,
                     b'{"jobs": [{}]}', b'{"jobs": [%s, 5]}' % job,
                     b'{"jobs": [{"id": 1, "state": "done"}]}'):
            address = self.serve(page)
            for words in (["list"], ["show", "1"], ["watch", "1"]):
                with self.subTest(page=page, words=words):
                    self.fails(CLUSTER_ERROR, "not with jobs", *words,
                               address=address)

    def test_no_address(self):
        result = self.run_ctl("job", "list")
        self.assertEqual(result.returncode, BAD_USAGE)
        self.assertIn(b"--proxy", result.stderr)

    def test_ipv6(self):
        with self.link() as link:
            link.set("six", b"x" * 9000)
        proxy = self.start_at("[::1]:0")
        job = self.job("start", "--to", "wide", "--all", "--watch",
                       address=proxy.addresses[-1])
        self.assertEqual(job["state"], "done")


if __name__ == "__main__":
    unittest.main()
