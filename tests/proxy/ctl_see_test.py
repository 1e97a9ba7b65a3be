"""What a daemon shows of itself and its cluster: /events, `ersctl events` and
`ersctl top`."""

import http.client
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from daemon_case import DaemonCase
from proxy_case import DEADLINE_S
from ctl_case import BAD_USAGE, CLUSTER_ERROR, ERSCTL

ESCAPES = "\x1b[31m\x9b31m"  # orders to a terminal


class SeeCase(DaemonCase):

    def serve(self, *words, config="", admin=":0"):
        daemon = self.start("--config", self.config(config), "--admin", admin,
                            *words)
        self.admin = daemon.addresses[-1]
        return daemon

    def ask(self, method, path, body=None, agent="a test"):
        host, port = self.admin.rsplit(":", 1)
        link = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_S)
        try:
            link.request(method, path, json.dumps(body) if body else None, {
                "Content-Type": "application/json", "User-Agent": agent})
            return json.loads(link.getresponse().read())
        finally:
            link.close()

    def events(self, kind=None):
        return [event for event in self.ask("GET", "/events")["events"]
                if kind in (None, event["kind"])]

    def texts(self, kind):
        return [event["text"] for event in self.events(kind)]

    def see(self, *words):
        return self.ctl("--proxy", self.admin, *words).decode()


class EventsTest(SeeCase):

    def test_who_asked_for_jobs(self):
        daemon = self.serve()
        daemon.client().set(b"k", b"v" * 100_000)
        job = self.ask("POST", "/v1/jobs", {"to": "wide"})["id"]
        self.until(lambda: self.ask("GET", f"/v1/jobs/{job}")["state"]
                   == "done", "it is done")
        self.ask("DELETE", f"/v1/jobs/{job}")
        self.see("job", "start", "--to", "narrow", "--all")
        self.ask("POST", "/v1/transition", {"key": "no\nne", "to": "wide"},
                 agent="x" * 500)
        asked = [(event["text"], event["asked_by"]) for event in
                 reversed(self.events("job")) if event["asked_by"]]
        mine = {"address": "127.0.0.1", "agent": "a test"}
        self.assertEqual(asked[0], (
            f"job {job}, to wide, asked for over HTTP: start", mine))
        self.assertEqual(asked[1], (f"job {job} is forgotten", mine))
        self.assertEqual(asked[2][0],
                         "job 2, to narrow, asked for over HTTP: start")
        self.assertRegex(asked[2][1]["agent"], r"^ersctl/\d+\.\d+\.\d+$")
        # What a client calls itself, and its keys, stay one short line.
        self.assertIn("transition of 'no ne', asked for over HTTP: ",
                      asked[3][0])
        self.assertEqual(asked[3][1]["agent"], "x" * 120)
        texts = self.texts("job")
        self.assertTrue(any(re.match(
            rf"job {job}, to wide: done, 1 object changed", text)
            for text in texts), texts)
        # All of it is in the log, too, in lines of their own.
        log = daemon.log()
        self.assertIn(f"job {job}, to wide, asked for over HTTP: start, by "
                      "127.0.0.1 (a test)\n", log)
        self.assertNotIn("\nne", log)

    def test_ids_rise_and_status_has_the_last(self):
        daemon = self.serve()
        for _ in range(3):
            daemon.reload()
        events = self.events()
        ids = [event["id"] for event in events]
        self.assertEqual(ids, list(range(len(ids), 0, -1)))
        self.assertEqual(self.ask("GET", "/status")["last_event"], ids[0])
        self.assertTrue(all(abs(event["time_ms"] / 1000 - time.time()) < 600
                            for event in events))
        self.assertEqual(sum("reloaded" in text for text in
                             self.texts("daemon")), 3)
        # The memory has an end.
        for _ in range(300):
            self.ask("POST", "/v1/transition", {"key": "none", "to": "wide"})
        events = self.events()
        self.assertEqual(len(events), 256)
        self.assertEqual(events[0]["id"], events[-1]["id"] + 255)

    def test_policies_when_they_change(self):
        daemon = self.serve()
        self.assertEqual(self.texts("policy"), [])
        self.config("policies: {widen: {tiers: [{idle_s: 600, width: 5}, "
                    "{idle_s: 900, width: wide}]}}\n")
        daemon.reload()
        self.until(lambda: self.texts("policy") == [
            "policies in force: widen: 600 s idle to 5, 900 s idle to wide; "
            "narrow: off"], "they are noted")

    def test_the_command(self):
        daemon = self.serve()
        shown = self.see("events").splitlines()
        self.assertRegex(shown[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  info "
                         r"+daemon +ersproxy [\d.]+ has started$")
        for _ in range(2):
            daemon.reload()
        self.assertIn("reloaded", self.see("events", "--last", "1"))
        one = json.loads(self.see("events", "--last", "1", "--json"))
        self.assertEqual(one, self.events()[0])
        # A key's bytes are no orders to a terminal.
        self.ask("POST", "/v1/transition", {"key": ESCAPES, "to": "wide"})
        last = self.see("events", "--last", "1")
        self.assertIn("[31m", last)
        for control in ("\x1b", "\x9b"):
            self.assertNotIn(control, last)
        result = self.run_ctl("--proxy", daemon.addresses[0], "events",
                              "--timeout", "5")
        self.assertEqual(result.returncode, CLUSTER_ERROR, result)
        self.assertIn(b"admin", result.stderr)
        self.assertEqual(self.run_ctl("events").returncode, BAD_USAGE)

    def test_following(self):
        daemon = self.serve(admin=f"127.0.0.1:{self.held_port()}")
        process = subprocess.Popen(
            [ERSCTL, "--proxy", self.admin, "events", "--follow"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        shown = b""
        for times in (0, 1, 2):
            if times > 0:
                daemon.reload()
            while b"has started" not in shown or shown.count(
                    b"reloaded") < times:
                self.assertTrue(select.select([process.stdout], [], [],
                                              DEADLINE_S)[0], shown)
                part = os.read(process.stdout.fileno(), 65536)
                self.assertNotEqual(part, b"")
                shown += part
        self.assertEqual(shown.count(b"SIGHUP by process"), 2)
        # Another process, whose ids begin anew.
        daemon.stop()
        again = self.start("--config", self.config(""), "--admin", self.admin)
        again.reload()
        while shown.count(b"has started") < 2 or shown.count(
                b"reloaded") < 3:
            self.assertTrue(select.select([process.stdout], [], [],
                                          DEADLINE_S)[0], shown)
            shown += os.read(process.stdout.fileno(), 65536)


class ViewEventsTest(SeeCase):

    def test_a_server_that_leaves_and_returns(self):
        daemon = self.serve()
        client = daemon.client()
        client.set(b"k", b"v" * 100_000)
        self.until(lambda: any(re.fullmatch(
            r"view \d+: 6 of 6 servers are in sync", text)
            for text in self.texts("view")), "the first view")
        name = self.servers.split(",")[1]
        self.tool("kill", "2")
        self.until(lambda: any(f"{name} does not answer: " in text for text in
                               self.texts("server")), "it does not answer")
        for i in range(30):
            client.set(b"k%d" % i, b"v" * 100_000)
        out = lambda: [event for event in self.events("view")
                       if f": {name} is out: " in event["text"]]
        self.until(out, "it is out, and why")
        self.assertEqual(out()[0]["level"], "warning")
        self.tool("start", "2")
        self.until(lambda: any(re.search(
            rf"{name} is in sync again", text) for text in self.texts("view")),
            "it is in sync")
        self.assertTrue(any(f"{name} is backfilled: " in text for text in
                            self.texts("server")))
        client.line(b"flush_all\r\n")
        self.until(lambda: any("flush_all was asked for" in text for text in
                               self.texts("view")), "the flush")


class OtherProcessTest(SeeCase):

    def test_what_another_process_did_is_seen_here(self):
        first = self.serve()
        first.client().set(b"k", b"v" * 100_000)
        self.serve()  # whose events are read
        self.until(lambda: self.texts("view"), "it knows the view")
        name = self.servers.split(",")[0]
        self.tool("kill", "1")
        client = first.client()
        for i in range(30):
            client.set(b"k%d" % i, b"v" * 100_000)
        self.until(lambda: any(f"{name} is out" in text for text in
                               self.texts("view")), "it has left the view")


class TopTest(SeeCase):

    def test_once(self):
        daemon = self.serve(config="count_objects_s: 1\n")
        client = daemon.client()
        for i in range(40):
            client.set(b"t%d" % i, b"v" * 20_000)
            client.line(b"mg t%d\r\n" % i)
        self.ask("POST", "/v1/jobs", {"to": "wide"})
        self.until(lambda: self.ask("GET", "/status")["health"] == "healthy"
                   and "done" in self.see("top", "--once")
                   and re.search(r"narrow|wide +\d", self.see("top", "--once"))
                   and all(server["memory"] for server in
                           self.ask("GET", "/status")["servers"]),
                   "all that there is")
        shown = self.see("top", "--once")
        self.assertRegex(shown, r"(?m)^HEALTHY  All 6 servers are in sync\.")
        for server in self.servers.split(","):
            self.assertRegex(shown, rf"(?m)^{server} +in_sync .*\[[#.]{{10}}\]")
        self.assertRegex(shown, r"(?m)^get +\d")
        self.assertRegex(shown, r"(?m)^1 +wide +done +\[#{20}\] 100 %")
        self.assertIn("ersproxy 0", shown.replace("  version", ""))
        self.assertIn("has started", shown)
        self.assertNotIn("\x1b", shown)
        self.assertEqual(json.loads(self.see("top", "--json"))["health"],
                         "healthy")
        result = self.run_ctl("--proxy", daemon.addresses[0], "top", "--once",
                              "--timeout", "5")
        self.assertEqual(result.returncode, CLUSTER_ERROR, result)

    def terminal(self, *words):
        """(process, a file of what it paints)"""
        screen, own = pty.openpty()
        self.addCleanup(os.close, screen)
        process = subprocess.Popen(
            [ERSCTL, "--proxy", self.admin, "top", "--interval", "0.2", *words],
            stdin=own, stdout=own, stderr=own,
            env={**self.environment(""), "LINES": "", "COLUMNS": ""})
        os.close(own)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, screen

    def read_until(self, screen, words):
        text = ""
        while words not in text:
            self.assertTrue(select.select([screen], [], [], DEADLINE_S)[0],
                            text[-2000:])
            text += os.read(screen, 65536).decode()
        return text

    def test_in_a_terminal(self):
        daemon = self.serve()
        daemon.client().set(b"k", b"v")
        process, screen = self.terminal()
        text = self.read_until(screen, "HEALTHY")
        self.assertIn("\x1b[?1049h", text)
        self.assertIn("\x1b[32mHEALTHY", text)
        name = self.servers.split(",")[5]
        self.tool("kill", "6")
        text = self.read_until(screen, "DEGRADED")
        self.assertIn("\x1b[33mDEGRADED", text)
        self.read_until(screen, f"1 of 6 servers is out ({name})")
        self.tool("start", "6")
        self.read_until(screen, "HEALTHY")
        daemon.process.terminate()
        daemon.process.wait(DEADLINE_S)
        self.read_until(screen, "UNREACHABLE")
        process.send_signal(signal.SIGINT)
        self.read_until(screen, "\x1b[?1049l")  # the screen of before is back
        self.assertEqual(process.wait(DEADLINE_S), 0)


if __name__ == "__main__":
    unittest.main()
