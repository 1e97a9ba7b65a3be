"""The page at / of the admin port: how it is served, and that the daemon
answers with all that its script reads."""

import http.client
import json
import os
import re
import unittest

from daemon_case import DaemonCase
from proxy_case import DEADLINE_S, TOP

SCRIPT = os.path.join(TOP, "proxy", "admin", "page", "page.js")
READ = re.compile(r'(?<!\.)\bget\((\w+), "([\w.]+)"\)')
# Only of keys that are no UTF-8, in place of prefix.
SELDOM = {("policy", "prefix_base64")}
# Null where no client asked for what happened.
OF_SOME = {("event", "asked_by.address"), ("event", "asked_by.agent")}


class PageCase(DaemonCase):

    def ask(self, admin, path, method="GET"):
        host, port = admin.rsplit(":", 1)
        link = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_S)
        try:
            link.request(method, path)
            reply = link.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            link.close()

    def json(self, admin, path):
        return json.loads(self.ask(admin, path)[2])

    def reads(self, script, names):
        """[(what is read, its path)] of what the script reads.

        names: the variables that hold what is read."""
        found = set(READ.findall(script))
        self.assertGreater(len(found), 3)
        # Nothing is read by a name that is not known here, nor otherwise.
        self.assertEqual({name for name, _ in found}, names)
        self.assertEqual(len(re.findall(r"(?<!\.)\bget\((?!from, path)", script)),
                         len(READ.findall(script)))
        return sorted(found)


def lacks(thing, path):
    for name in path.split("."):
        if not isinstance(thing, dict) or name not in thing:
            return True
        thing = thing[name]
    return False


class ServedTest(PageCase):

    def test_it_is_served_with_a_strict_policy(self):
        admin = self.start("--config", self.config(""), "--admin",
                           ":0").addresses[-1]
        code, headers, text = self.ask(admin, "/")
        self.assertEqual(code, 200)
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["X-Frame-Options"], "DENY")
        self.assertEqual(headers["Cache-Control"], "no-store")
        rules = dict(rule.split(" ", 1) for rule in
                     headers["Content-Security-Policy"].split("; "))
        nonce = rules["script-src"].strip("'").removeprefix("nonce-")
        self.assertGreaterEqual(len(nonce), 32)
        self.assertEqual(rules, {
            "default-src": "'none'", "script-src": f"'nonce-{nonce}'",
            "style-src": f"'nonce-{nonce}'", "connect-src": "'self'",
            "img-src": "data:", "base-uri": "'none'", "form-action": "'none'",
            "frame-ancestors": "'none'",
            "require-trusted-types-for": "'script'", "trusted-types": "'none'"})
        page = text.decode()
        self.assertEqual(page.count(f'nonce="{nonce}"'), 2)
        self.assertEqual(page.count("<script"), 1)
        self.assertNotIn("@ERS_", page)
        # All that it is made of is in it.
        for link in re.findall(r'(?:href|src)="([^"]*)"', page):
            self.assertRegex(link, r"^(#|data:)")
        again = self.ask(admin, "/")[1]["Content-Security-Policy"]
        self.assertNotEqual(again, headers["Content-Security-Policy"])
        code, headers, text = self.ask(admin, "/", "HEAD")
        self.assertEqual((code, text), (200, b""))

    def test_no_answer_is_for_other_sites_or_to_be_guessed_at(self):
        admin = self.start("--config", self.config(""), "--admin",
                           ":0").addresses[-1]
        for path in ("/status", "/metrics", "/healthz", "/v1/jobs", "/none"):
            headers = self.ask(admin, path)[1]
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cross-Origin-Resource-Policy"],
                             "same-origin")
            self.assertFalse([name for name in headers
                              if name.startswith("Access-Control")])


class FieldsTest(PageCase):

    def test_the_daemon_has_every_field_that_the_page_reads(self):
        daemon = self.start("--config", self.config(
            "policies: {widen: {idle_s: 90000, prefix: img/}, "
            "narrow: {hits: 1000, within_s: 60}}\ncount_objects_s: 1\n"),
            "--admin", ":0")
        admin, client = daemon.addresses[-1], daemon.client()
        for i in range(60):
            client.set(b"k%d" % i, b"v" * 9000)
            client.line(b"mg k%d\r\n" % i)
        host, port = admin.rsplit(":", 1)
        link = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_S)
        self.addCleanup(link.close)
        link.request("POST", "/v1/jobs", '{"to": "wide"}',
                     {"Content-Type": "application/json"})
        self.assertEqual(link.getresponse().status, 201)
        self.until(lambda: self.is_complete(self.json(admin, "/status")),
                   "/status has all that there may be")
        status = self.json(admin, "/status")
        policies = [status["policies"][name] for name in ("widen", "narrow")]
        sources = {
            "status": [status], "server": status["servers"],
            "object": status["objects"], "job": status["jobs"],
            "policy": policies, "pack": [status["policies"]["pack"]],
            "tier": [tier for policy in policies for tier in policy["tiers"]],
            "log": [self.json(admin, "/events")],
            "event": self.json(admin, "/events")["events"],
            "json": [self.json(admin, "/none")]}
        with open(SCRIPT, encoding="utf-8") as file:
            script = file.read()
        for name, path in self.reads(script, set(sources)):
            if (name, path) in SELDOM:
                continue
            with self.subTest(name=name, path=path):
                self.assertTrue(sources[name])
                lacking = [one for one in sources[name] if lacks(one, path)]
                if (name, path) in OF_SOME:
                    self.assertLess(len(lacking), len(sources[name]))
                else:
                    self.assertEqual(lacking, [])

    @staticmethod
    def is_complete(status):
        return (status["objects"] and status["epoch"] > 0
                and status["requests"]["history"]["get"]["per_second"]
                and all("latency" in server and server["memory"]
                        for server in status["servers"]))

    def test_the_numbers_are_those_of_what_was_asked(self):
        daemon = self.start("--config", self.config(
            "count_objects_s: 1\nscheme: ers2:4,1,5\n"), "--admin", ":0")
        admin, client = daemon.addresses[-1], daemon.client()
        client.line(b"flush_all\r\n")
        self.until(lambda: self.json(admin, "/status")["requests"]["seconds"]
                   > 0, "two samples were taken")
        for i in range(30):
            client.set(b"n%d" % i, b"v" * 20000)
        for _ in range(90):
            client.line(b"mg n1\r\n")
        asked = lambda requests: (
            requests["get"]["per_second"] * requests["seconds"],
            requests["set"]["per_second"] * requests["seconds"])
        self.until(lambda: all(
            abs(was - wanted) < 0.5 for was, wanted in zip(
                asked(self.json(admin, "/status")["requests"]), (90, 30))),
            "90 gets and 30 sets are seen")
        requests = self.json(admin, "/status")["requests"]
        for kind in ("get", "set"):
            self.assertLessEqual(requests[kind]["p50_us"],
                                 requests[kind]["p99_us"])
            self.assertGreater(requests[kind]["p50_us"], 0)
        self.assertEqual(requests["errors_per_second"], 0)
        form = {"scheme": "ers2:4,1,5", "width": "narrow", "objects": 30,
                "bytes": 600000}
        self.until(lambda: form in self.json(admin, "/status")["objects"],
                   "the objects are counted")


if __name__ == "__main__":
    unittest.main()
