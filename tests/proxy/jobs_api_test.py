"""Every call of the /v1/ of the admin port, and each of its errors."""

import base64
import socket
import unittest

from jobs_case import JSON, JobsCase
from proxy_case import KIB, random_bytes

NO_JOB = "there is no job 12345"
# What is refused, and what the message names.
BAD_JOBS = [
    ("", "no JSON"),
    ("{", "no JSON"),
    ("[]", "this must be a JSON object"),
    ('"wide"', "this must be a JSON object"),
    ('{"to": "wide", "to": "narrow"}', "to: it is given twice"),
    ('{"to": "wide", "select": {"age_seconds": 5, "prefix": "a", '
     '"age_seconds": 5}}', "select.age_seconds: it is given twice"),
    ('{"select": {"prefix": "a"}, "to": "wide", "select": {}}',
     "select: it is given twice"),
    ({}, "to: missing"),
    ({"to": 1}, "to: must be text"),
    ({"to": "wider"}, "to: "),
    ({"to": "rs:0,1"}, "to: "),
    ({"to": "rs:9,1"}, "to: scheme rs:9,1 needs 10 servers and there are 6"),
    ({"to": "rs:3,2"}, "to: scheme rs:3,2 has m = 2: max_failures is 1"),
    ({"to": "wide,2"}, "to: 2 parity blocks: max_failures is 1"),
    ({"to": "wide,0"}, "to: 'wide,0': "),
    ({"to": "wide", "too": 1}, "too: no such field; there are to, "),
    ({"to": "wide", "select": []}, "select must be a JSON object"),
    ({"to": "wide", "select": {"key": "a"}}, "select.key: no such field"),
    ({"to": "wide", "select": {"pattern": "("}},
     "select.pattern: no regular expression (RE2): missing )"),
    ({"to": "wide", "select": {"pattern": "a" * 5000}}, "select.pattern: "),
    ({"to": "wide", "select": {"prefix": "a" * 251}}, "select.prefix: "),
    ({"to": "wide", "select": {"prefix": 5}}, "select.prefix: must be text"),
    ({"to": "wide", "select": {"prefix_base64": "!"}},
     "select.prefix_base64: must be base64"),
    ({"to": "wide", "select": {"prefix": "a", "prefix_base64": "YQ=="}},
     "select.prefix: give it or prefix_base64"),
    ({"to": "wide", "select": {"min_bytes": -1}}, "select.min_bytes: must be"),
    ({"to": "wide", "select": {"max_bytes": 1 << 40}}, "select.max_bytes: "),
    ({"to": "wide", "select": {"min_bytes": 5, "max_bytes": 4}},
     "select.min_bytes: 5 is over max_bytes 4"),
    ({"to": "wide", "select": {"idle_seconds": 1.5}}, "select.idle_seconds: "),
    ({"to": "wide", "select": {"age_seconds": "1"}}, "select.age_seconds: "),
    ({"to": "wide", "parallel": 0}, "parallel: must be a whole number from 1"),
    ({"to": "wide", "parallel": 65}, "parallel: must be a whole number"),
    ({"to": "wide", "bytes_per_second": -1}, "bytes_per_second: must be"),
]
BAD_KEYS = [
    ({"to": "wide"}, "key: missing"),
    ({"key": "", "to": "wide"}, "key: it has 0 bytes"),
    ('{"key": "a", "to": "wide", "key": "b"}', "key: it is given twice"),
    ({"key": "a"}, "to: missing"),
    ({"key": "a" * 251, "to": "wide"}, "key: it has 251 bytes"),
    ({"key": "a", "to": "wide", "width": 1}, "width: no such field"),
    ({"key": "a", "to": "rs:9,1"}, "to: scheme rs:9,1 needs 10 servers"),
]


class ApiTest(JobsCase):

    def refused(self, path, body, names, code=400):
        got, answer = self.api.ask("POST", path, body)
        self.assertEqual(got, code, (body, answer))
        self.assertEqual(list(answer)[0], "error")
        self.assertIn(names, answer["error"], body)

    def test_bad_jobs_and_keys(self):
        before = self.api.ask("GET", "/v1/jobs")
        for body, names in BAD_JOBS:
            self.refused("/v1/jobs", body, names)
        for body, names in BAD_KEYS:
            self.refused("/v1/transition", body, names)
        self.assertEqual(self.api.ask("GET", "/v1/jobs"), before)

    def test_methods_and_paths(self):
        for method, path, code in [
                ("GET", "/v1/", 404), ("GET", "/v1/job", 404),
                ("GET", "/v1/jobs/", 404), ("GET", "/v1/jobs/x", 404),
                ("GET", "/v1/jobs/-1", 404), ("GET", "/v1/jobsx", 404),
                ("GET", "/v1/jobs/99999999999999999999", 404),
                ("POST", "/v1/jobs/1/stop", 404),
                ("POST", "/v1/jobs/1/pause/", 404),
                ("DELETE", "/v1/jobs", 405), ("POST", "/v1/jobs/1", 405),
                ("GET", "/v1/jobs/1/pause", 405),
                ("GET", "/v1/transition", 405)]:
            with self.subTest(method=method, path=path):
                got, answer = self.api.ask(method, path)
                self.assertEqual(got, code)
                self.assertEqual(list(answer)[0], "error")
        for method, path in [("GET", "/v1/jobs/12345"),
                             ("DELETE", "/v1/jobs/12345"),
                             ("POST", "/v1/jobs/12345/pause"),
                             ("POST", "/v1/jobs/12345/resume"),
                             ("POST", "/v1/jobs/12345/cancel")]:
            got, answer = self.api.ask(method, path)
            self.assertEqual((got, answer["error"]), (404, NO_JOB))
        self.assertEqual(self.api.ask("POST", "/v1/jobs/1/pause", "x")[0], 400)
        self.assertEqual(self.api.raw("HEAD", "/v1/jobs")[::2], (200, b""))

    def test_pages_of_other_sites_can_start_nothing(self):
        body = {"to": "wide", "select": {"prefix": "none:"}}
        for headers, code in [
                ({}, 415), ({"Content-Type": "text/plain"}, 415),
                ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
                ({**JSON, "Origin": "http://evil.example"}, 403)]:
            got, answer = self.api.ask("POST", "/v1/jobs", body, headers)
            self.assertEqual(got, code, answer)
        here = f"{self.api.host}:{self.api.port}"
        for headers in [
                {"Origin": "null"}, {"Origin": here}, {"Origin": "http://"},
                {"Origin": f"http://{self.api.host}"},
                {"Origin": f"http://{self.api.host}:1{self.api.port}"},
                {"Origin": f"http://{here}.evil.example"},
                {"Origin": f"http://evil.example/://{here}"},
                {"Origin": f"http://{here}", "Sec-Fetch-Site": "same-site"},
                {"Sec-Fetch-Site": "cross-site"}]:
            with self.subTest(headers=headers):
                for method, path in (("POST", "/v1/jobs"),
                                     ("DELETE", "/v1/jobs/1")):
                    self.assertEqual(self.api.ask(
                        method, path, body, {**JSON, **headers})[0], 403)
        # A name that leads here by a trick is no name of this port.
        self.assertEqual(self.api.ask(
            "POST", "/v1/jobs", body,
            {**JSON, "Host": "evil.example", "Origin": "http://evil.example",
             "Sec-Fetch-Site": "same-origin"})[0], 403)
        # Its own page may.
        got, job = self.api.ask(
            "POST", "/v1/jobs", body,
            {**JSON, "Origin": f"http://{here}",
             "Sec-Fetch-Site": "same-origin"})
        self.assertEqual(got, 201)
        self.wait_for(self.api, job["id"], "done")
        self.assertEqual(self.api.ask("DELETE", f"/v1/jobs/{job['id']}",
                                      headers={"Origin": f"http://{here}"}),
                         (200, {}))
        got, job = self.api.ask(
            "POST", "/v1/jobs", body,
            {"Content-Type": "application/json; charset=utf-8"})
        self.assertEqual(got, 201)
        self.wait_for(self.api, job["id"], "done")

    def test_a_body_that_is_too_long_and_one_that_never_comes(self):
        self.assertEqual(self.api.raw("POST", "/v1/jobs", "x" * (65 * KIB))[0],
                         413)
        slow = socket.create_connection((self.api.host, self.api.port))
        self.addCleanup(slow.close)
        slow.sendall(b"POST /v1/jobs HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        # Others are not held up.
        self.assertEqual(self.api.ask("GET", "/v1/jobs")[0], 200)
        # Nor by a client that leaves before its answer.
        for _ in range(20):
            with socket.create_connection((self.api.host,
                                           self.api.port)) as hasty:
                hasty.sendall(b"POST /v1/jobs/1/pause HTTP/1.1\r\n"
                              b"Content-Type: application/json\r\n"
                              b"Content-Length: 0\r\n\r\n")
        self.assertEqual(self.api.ask("GET", "/v1/jobs")[0], 200)

    def test_one_object(self):
        value = random_bytes(100 * KIB, 1)
        link = self.link()
        link.set("one", value, flags=7)
        code, answer = self.api.ask("POST", "/v1/transition",
                                    {"key": "one", "to": "wide"})
        self.assertEqual(code, 200)
        self.assertEqual(list(answer), [
            "key", "path", "scheme", "width", "data_reads", "parity_reads",
            "writes", "bytes_read", "bytes_written", "microseconds"])
        self.assertEqual((answer["path"], answer["width"]), ("plan", "wide"))
        self.refused("/v1/transition", {"key": "one", "to": "wide"}, "already",
                     409)
        code, answer = self.api.ask("POST", "/v1/transition",
                                    {"key": "one", "to": "rs:3,1"})
        self.assertEqual((code, answer["path"], answer["scheme"]),
                         (200, "reencode", "rs:3,1"))
        self.refused("/v1/transition", {"key": "one", "to": "wide"},
                     "one width only")
        self.refused("/v1/transition", {"key": "none", "to": "wide"}, "none",
                     404)
        log = self.proxy.said()
        self.assertIn("transition of 'one', asked for over HTTP: done", log)
        self.assertIn("transition of 'none', asked for over HTTP: key", log)
        self.same(link.get_many("one")["one"][:2], (value, 7))

    def test_a_key_of_any_bytes(self):
        key = b"\xff\x00 any"
        name = base64.b64encode(key).decode()
        with self.link() as link:
            link.send(b"ms " + base64.b64encode(key) + b" 5000 b\r\n"
                      + bytes(5000) + b"\r\n")
            self.assertEqual(link.line(), b"HD")
        code, answer = self.api.ask("POST", "/v1/transition",
                                    {"key_base64": name, "to": "wide"})
        self.assertEqual((code, answer["key_base64"]), (200, name))
        prefix = base64.b64encode(key[:2]).decode()
        job = self.api.start("narrow", select={"prefix_base64": prefix})
        self.assertEqual(job["select"], {"prefix_base64": prefix})
        job = self.wait_for(self.api, job["id"], "done")
        self.assertEqual(job["objects"]["changed"], 1)

    def test_a_plain_item_and_what_is_gone(self):
        with self.server_link(1) as server:
            server.set("plain", b"x")
            listed = self.api.start(select={"prefix": "plain"})
            job = self.wait_for(self.api, listed["id"], "done")
            self.assertEqual(job["objects"]["selected"], 0)
            server.ask(b"delete plain")

    def test_pause_resume_cancel_and_forget(self):
        link = self.link()
        for i in range(40):
            link.set(f"prc:{i}", random_bytes(100 * KIB, i))
        # About 60 KB each: some seconds, if it were left alone.
        job = self.api.start(select={"prefix": "prc:"}, parallel=2,
                             bytes_per_second=100_000)
        number = job["id"]
        self.assertEqual((job["state"], job["ended"]), ("listing", None))
        self.until(lambda: self.api.job(number)["objects"]["changed"] > 3,
                   "some objects are changed")
        now = self.api.job(number)
        self.assertEqual(now["state"], "running")
        self.assertGreater(now["seconds_left"], 0)
        self.assertEqual(now["bytes_left"],
                         now["objects"]["left"] * 100 * KIB)
        code, answer = self.api.ask("DELETE", f"/v1/jobs/{number}")
        self.assertEqual(code, 409)
        self.assertIn(f"job {number} is running: cancel it", answer["error"])
        for _ in range(2):  # the second time, too
            code, answer = self.api.command(number, "pause")
            self.assertEqual((code, answer["state"]), (200, "paused"))
        self.assertIsNone(answer["seconds_left"])
        # What is under way ends; then nothing moves.
        self.until(lambda: not link.lines(b"ers list transitioning prc:"),
                   "nothing is under way")
        still = self.api.job(number)["objects"]
        transitions = self.api.metrics()[
            'ersproxy_transitions_total{kind="widen"}']
        self.assertEqual(self.api.job(number)["objects"], still)
        for _ in range(2):
            code, answer = self.api.command(number, "resume")
            self.assertEqual((code, answer["state"]), (200, "running"))
        self.until(lambda: self.api.job(number)["objects"]["changed"]
                   > still["changed"], "it goes on")
        self.assertGreater(self.api.metrics()[
            'ersproxy_transitions_total{kind="widen"}'], transitions)
        for _ in range(2):
            code, answer = self.api.command(number, "cancel")
            self.assertEqual((code, answer["state"]), (200, "cancelled"))
        self.assertIsNotNone(answer["ended"])
        self.assertGreater(answer["objects"]["left"], 0)
        for word in ("pause", "resume"):
            self.assertEqual(self.api.command(number, word)[0], 409)
        self.until(lambda: self.api.ask("DELETE", f"/v1/jobs/{number}")
                   == (200, {}), "its last objects are done")
        self.assertEqual(self.api.ask("GET", f"/v1/jobs/{number}")[0], 404)
        log = self.proxy.said()
        for state in ("listing", "running, 0 objects changed", "paused, ",
                      "running, ", "cancelled, "):
            line = f"job {number}, to wide: {state}"
            self.assertIn(line, log)
            log = log[log.index(line) + 1:]
        self.assertIn(f"job {number} is forgotten", log)

    def test_the_commands_of_one_that_has_ended(self):
        number = self.api.start(select={"prefix": "none:"})["id"]
        self.assertEqual(self.sums_up(
            self.wait_for(self.api, number, "done"))["selected"], 0)
        for word in ("pause", "resume", "cancel"):
            code, answer = self.api.command(number, word)
            self.assertEqual(code, 409)
            self.assertIn(f"job {number} is done", answer["error"])

    def test_many_unfinished_jobs(self):
        _, api = self.start_with()
        self.link().set("held", random_bytes(5000, 1))
        numbers = []
        for _ in range(32):
            numbers.append(api.start(select={"prefix": "none:"})["id"])
            # Those that end make room; these do not.
            while api.command(numbers[-1], "pause")[0] == 409:
                numbers[-1] = api.start(select={"prefix": "held"},
                                        bytes_per_second=1)["id"]
        code, answer = api.ask("POST", "/v1/jobs", {"to": "wide"})
        self.assertEqual(code, 503)
        self.assertIn("32 jobs have not ended", answer["error"])
        self.assertEqual([job["id"] for job in api.ask("GET", "/v1/jobs")[1]
                          ["jobs"] if job["state"] == "paused"],
                         sorted(numbers, key=int, reverse=True))
        api.command(numbers[0], "cancel")
        self.assertEqual(api.ask("POST", "/v1/jobs", {
            "to": "wide", "select": {"prefix": "none:"}})[0], 201)

    def test_what_is_being_changed_is_listed(self):
        link = self.link()
        link.set("changing:a", random_bytes(4 << 20, 1))
        seen = set()
        for width in ("wide", "narrow") * 20:
            other = self.link()
            other.send(f"ers transition changing:a {width}\r\n".encode())
            seen.update(link.lines(b"ers list transitioning changing:"))
            while other.line() != b"END":
                pass
            if seen:
                break
        self.assertIn(b"KEY changing:a ers2:4,1,5", b" ".join(seen))
        self.assertEqual(link.lines(b"ers list transitioning"), [])
        self.assertEqual(link.lines(b"ers list transitioning none"), [])

    def test_metrics_and_status(self):
        _, api = self.start_with()
        self.link().set("counted", random_bytes(50 * KIB, 1))
        number = api.start(select={"prefix": "counted"})["id"]
        job = self.wait_for(api, number, "done")
        self.assertEqual(job["objects"]["changed"], 1)
        metrics = api.metrics()
        self.assertEqual(
            metrics['ersproxy_job_objects_total{outcome="changed"}'], 1)
        self.assertEqual(metrics['ersproxy_jobs{job_state="done"}'], 1)
        self.assertEqual(metrics["ersproxy_job_read_bytes_total"],
                         job["bytes_read"])
        self.assertEqual(metrics["ersproxy_job_written_bytes_total"],
                         job["bytes_written"])
        self.assertGreater(job["bytes_written"], 0)
        status = api.ask("GET", "/status")[1]
        self.assertEqual(status["jobs"], [job])


class ServersDownTest(JobsCase):
    """Kills servers: a class of its own."""

    def test_objects_fail_and_the_job_goes_on(self):
        link = self.link()
        for i in range(5):
            link.set(f"down:{i}", random_bytes(20 * KIB, i))
        link.set("another", random_bytes(20 * KIB, 9))
        # The first at once, and then not much in a second.
        number = self.api.start(select={"prefix": "down:"}, parallel=1,
                                bytes_per_second=8_000)["id"]
        self.until(lambda: self.api.job(number)["objects"]["changed"] > 0,
                   "the first is changed")
        self.assertEqual(self.api.command(number, "pause")[0], 200)
        self.tool("kill", "1")
        self.tool("kill", "2")  # and the cluster survives one
        self.api.command(number, "resume")
        job = self.wait_for(self.api, number, "done")
        objects = self.sums_up(job)
        self.assertEqual((objects["selected"], objects["left"]), (5, 0))
        self.assertGreater(objects["failed"], 0)
        self.assertNotEqual(job["last_error"], "")
        self.assertEqual(
            self.api.metrics()['ersproxy_job_objects_total{outcome="failed"}'],
            objects["failed"])
        # Nothing can be listed any more.
        job = self.wait_for(self.api, self.api.start()["id"], "failed")
        self.assertIn("cannot list their keys", job["last_error"])
        for number in ("3", "4", "5", "6"):
            self.tool("kill", number)
        code, answer = self.api.ask("POST", "/v1/transition",
                                    {"key": "another", "to": "wide"})
        self.assertEqual(code, 503, answer)


if __name__ == "__main__":
    unittest.main()
