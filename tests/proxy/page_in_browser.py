"""The page at / of the admin port in a headless Chromium, while a cluster of
real processes is healthy, loses a server, and is rebuilt.

Pictures of it go to the folder ERS_PICTURES, if that is given.
"""

import http.client
import json
import os
import re
import sys
import threading
import unittest

from browser import MISSING, Browser
from daemon_case import Client, DaemonCase
from proxy_case import DEADLINE_S, KIB, random_bytes

SKIPPED = 77
HOSTILE = "<img src=x onerror=document.title=1>&amp;"
OBJECTS = 400
# Read and written: a backfill of one server takes some seconds.
SLOWLY = 6_000_000


class Load:
    """A client that reads and writes until it is ended."""

    def __init__(self, address):
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(address,))
        self.thread.start()

    def run(self, address):
        client, number = Client(address), 0
        while not self.ending.is_set():
            number += 1
            client.set(b"load%d" % (number % 50), b"v" * 12000)
            for _ in range(4):
                client.line(b"mg load%d\r\n" % (number % 50))
        client.close()

    def end(self):
        self.ending.set()
        self.thread.join(DEADLINE_S)


class BrowserCase(DaemonCase):

    def open(self, admin):
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(f"http://{admin}/")
        self.browser = browser

    def wait_for(self, selector, words):
        self.until(lambda: words in (self.browser.text(selector) or ""),
                   f"{words} in {selector}")

    def wait_for_health(self, words):
        self.wait_for("#health", words)

    def picture(self, name, scheme="light"):
        self.browser.prefer(scheme)
        folder = os.environ.get("ERS_PICTURES", self.work)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name + ".png")
        self.browser.picture(path)
        self.assertGreater(os.path.getsize(path), 10 * KIB)

    def api(self, admin, method, path, body=None):
        host, port = admin.rsplit(":", 1)
        link = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_S)
        try:
            link.request(method, path, json.dumps(body) if body else None,
                         {"Content-Type": "application/json"})
            return json.loads(link.getresponse().read())
        finally:
            link.close()


class HealthTest(BrowserCase):

    def settings(self, rate):
        return self.config(
            "scheme: ers2:4,1,5\ncount_objects_s: 1\n"
            f"backfill: {{bytes_per_second: {rate}}}\n"
            "policies: {widen: {tiers: [{idle_s: 86400, width: wide}]}, "
            "pack: {idle_s: 172800}}\n",
            max_failures=False)

    def test_healthy_degraded_rebuilding_and_gone(self):
        daemon = self.start("--config", self.settings(SLOWLY), "--admin", ":0")
        admin, client = daemon.addresses[-1], daemon.client()
        for i in range(OBJECTS):
            client.set(b"img/%d" % i, random_bytes(100 * KIB, i))
        load = Load(daemon.addresses[0])
        self.addCleanup(load.end)
        for to, select in (("wide", {"prefix": "img/1"}),
                           ("narrow", {"prefix": HOSTILE})):
            self.api(admin, "POST", "/v1/jobs", {"to": to, "select": select})
        self.open(admin)
        self.wait_for_health("Healthy")
        self.wait_for("#health-why", "All 6 servers are in sync")
        self.wait_for("#jobs", "done")
        self.wait_for("#objects", "ers2:4,1,5")
        self.until(lambda: "–" not in self.browser.text("#servers"),
                   "all that there is of each server is shown")
        self.see_text_as_text()
        self.until(lambda: len(self.api(admin, "GET", "/status")["requests"][
            "history"]["get"]["per_second"]) > 20, "there is some history")
        self.picture("healthy")

        self.tool("kill", "3")
        name = self.servers.split(",")[2]
        self.wait_for_health("Degraded")
        self.wait_for("#health-why", f"1 of 6 servers is out ({name})")
        self.wait_for("#servers", "✕")
        self.picture("degraded")

        self.tool("start", "3")
        self.wait_for_health("Rebuilding")
        self.wait_for("#health-why", name)
        self.until(lambda: re.search(r"[1-9]\d* of \d+ objects", self.browser.text(
            "#rebuild-text") or ""), "a bar shows how far it is")
        self.picture("rebuilding", "dark")
        self.settings(0)
        daemon.reload()
        self.wait_for_health("Healthy")

        load.end()
        daemon.stop()
        self.wait_for_health("Unreachable")
        self.wait_for("#health-why", "Last seen")
        self.assertEqual(self.browser.run(
            "[...document.querySelectorAll('td button')]"
            ".every(b => b.disabled)"), True)
        self.picture("unreachable")
        self.assertEqual(self.browser.complaints, [])

    def see_text_as_text(self):
        """What clients chose is no part of the page."""
        self.assertIn(HOSTILE, self.browser.text("#jobs"))
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('img').length"), 0)
        self.assertIn("Healthy", self.browser.run("document.title"))


class ButtonsTest(BrowserCase):

    def test_jobs_are_steered(self):
        daemon = self.start("--config", self.config(""), "--admin", ":0")
        admin, client = daemon.addresses[-1], daemon.client()
        for i in range(40):
            client.set(b"b%d" % i, random_bytes(100 * KIB, i))
        job = self.api(admin, "POST", "/v1/jobs", {
            "to": "wide", "bytes_per_second": 100_000, "parallel": 1})["id"]
        state = lambda: self.api(admin, "GET", f"/v1/jobs/{job}")["state"]
        self.open(admin)
        for name, becomes in (("Pause", "paused"), ("Resume", "running"),
                              ("Cancel", "cancelled")):
            self.until(lambda name=name: self.browser.run(
                f"!!document.querySelector('[aria-label=\"{name} job {job}\"]"
                ":not(:disabled)')"), f"there is a button {name}")
            self.browser.press(f"{name} job {job}")
            self.until(lambda becomes=becomes: state() == becomes,
                       f"it is {becomes}")
            # The row is the same one: what had the focus has not lost it for
            # good.
            self.wait_for("#jobs", becomes)
        self.wait_for("#jobs", "Run again")
        self.browser.press(f"Run again job {job}")
        self.until(lambda: len(self.api(admin, "GET", "/v1/jobs")["jobs"]) == 2,
                   "it was started again")
        again = self.api(admin, "GET", "/v1/jobs")["jobs"][0]
        self.assertEqual((again["to"], again["bytes_per_second"],
                          again["parallel"]), ("wide", 100_000, 1))
        self.api(admin, "POST", f"/v1/jobs/{again['id']}/cancel")
        self.browser.run(
            "(f => {f.to.value = 'nonsense'; f.requestSubmit()})"
            "(document.getElementById('job-form'))")
        self.wait_for("#error", "to: ")
        self.assertEqual(self.browser.complaints, [])

    def test_a_port_with_a_token_asks_for_it(self):
        token = "0123456789abcdef" * 2
        path = self.file("token", token.encode())
        os.chmod(path, 0o600)
        daemon = self.start("--config", self.config(""), "--admin", ":0",
                            "--admin-token-file", path)
        daemon.client().set(b"k", b"v")
        self.open(daemon.addresses[-1])
        self.wait_for("#health-why", "send the token")
        self.wait_for("#token-form", "This port has a token")
        for given in ("wrong", token):
            self.browser.run(
                f"(f => {{f.token.value = '{given}'; f.requestSubmit()}})"
                "(document.getElementById('token-form'))")
            self.wait_for("#health-why", "not the token" if given == "wrong"
                          else "in sync")
        self.assertEqual(self.browser.text("#token-form"), None)


if __name__ == "__main__":
    if MISSING:
        print(f"not run: {MISSING}")
        sys.exit(SKIPPED)
    unittest.main()
