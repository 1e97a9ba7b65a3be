"""ersctl servers: where a proxy is asked, what it knows of its servers, and how
long each has taken to answer."""

import http.server
import json
import threading
import unittest

from ctl_case import BAD_USAGE, CLUSTER_ERROR, DONE, CtlCase

SLOW = "10.0.0.3:11211"
STATUS = {
    "servers": [
        {"name": "10.0.0.1:11211", "slot": "10.0.0.1:11211",
         "state": "in_sync", "since_s": 1700000000,
         "latency": {"p50_us": 850, "p99_us": 2500, "beside_others": 0.98}},
        {"name": SLOW, "slot": "10.0.0.2:11211",
         "state": "in_sync", "since_s": 1700000000,
         "latency": {"p50_us": 21000, "p99_us": 1234567,
                     "beside_others": 24.7}},
        {"name": "10.0.0.4:11211", "slot": "10.0.0.4:11211", "state": "down",
         "since_s": 0},
        # The only one that has answered: there is nothing to put it beside.
        {"name": "10.0.0.5:11211", "slot": "10.0.0.5:11211",
         "state": "backfilling", "since_s": 0,
         "latency": {"p50_us": 7, "p99_us": 9}},
    ]}

# What the daemon finds when it asks them.
ASKED = {"epoch": 7, "max_failures": 2, "servers": [
    {"name": "10.0.0.1:11211", "state": "in_sync", "reachable": True,
     "last_error": ""},
    # What it has is not known to be lost yet, by its state.
    {"name": SLOW, "state": "in_sync", "reachable": False,
     "last_error": "it was restarted"},
    {"name": "10.0.0.4:11211", "state": "down", "reachable": False,
     "last_error": "Connection refused"},
    {"name": "10.0.0.5:11211", "state": "backfilling", "reachable": True,
     "last_error": ""}]}


class Admin(http.server.BaseHTTPRequestHandler):
    """/status and /v1/servers are what the test says."""

    def do_GET(self):  # the name that the base class calls
        pages = {"/status": self.server.status,
                 "/v1/servers": self.server.asked}
        body = json.dumps(pages.get(self.path, {})).encode()
        self.send_response(200 if self.path in pages else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ServersOfProxyTest(CtlCase):

    def setUp(self):
        super().setUp()
        self.admin = http.server.HTTPServer(("127.0.0.1", 0), Admin)
        self.admin.status, self.admin.asked = STATUS, ASKED
        threading.Thread(target=self.admin.serve_forever, daemon=True).start()
        self.addCleanup(self.admin.server_close)
        self.addCleanup(self.admin.shutdown)
        self.address = f"127.0.0.1:{self.admin.server_address[1]}"

    def run_it(self, *words):
        # The proxy is asked also where the environment has servers.
        return self.run_ctl("--proxy", self.address, "servers", *words)

    def test_latency_is_shown_beside_that_of_the_others(self):
        result = self.run_it()
        self.assertEqual(result.returncode, DONE, result.stderr)
        rows = [line.split("  ") for line in
                result.stdout.decode().splitlines()]
        rows = [[cell.strip() for cell in row if cell.strip()]
                for row in rows]
        self.assertEqual(rows, [
            ["server", "state", "since", "p50", "p99", "beside others"],
            ["10.0.0.1:11211", "in_sync", "2023-11-14T22:13:20Z", "850us",
             "2.5ms", "0.98x"],
            [f"{SLOW} (for 10.0.0.2:11211)", "in_sync",
             "2023-11-14T22:13:20Z", "21ms", "1.23s", "24.70x"],
            ["10.0.0.4:11211", "down", "-", "-", "-", "-"],
            ["10.0.0.5:11211", "backfilling", "-", "7us", "9us",
             "-"]])

    def test_json_has_what_the_proxy_has(self):
        shown = json.loads(self.run_it("--json").stdout)
        self.assertEqual(list(shown), ["servers"])
        for server, known in zip(shown["servers"], STATUS["servers"],
                                 strict=True):
            self.assertEqual(list(server), ["name", "slot", "state", "since",
                                            "latency"])
            self.assertEqual(server["name"], known["name"])
            self.assertEqual(server["since"], known["since_s"])
            self.assertEqual(server["latency"], known.get("latency"))

    def in_sync_refused(self, code, text, *words):
        return self.refused(code, text, "--proxy", self.address, "servers",
                            "--in-sync", *words)

    def test_what_is_not_in_sync_is_named_with_the_reason(self):
        self.assertEqual(self.run_it("--in-sync", "10.0.0.1:11211").returncode,
                         DONE)
        reasons = {SLOW: "it was restarted", "10.0.0.4:11211": "it is down",
                   "10.0.0.5:11211": "it is backfilling"}
        for name, why in reasons.items():
            self.in_sync_refused(CLUSTER_ERROR, f"not in sync: {name}: {why}\n",
                                 name)
        self.in_sync_refused(CLUSTER_ERROR, "not in sync: " + "; ".join(
            f"{name}: {why}" for name, why in reasons.items()))
        self.in_sync_refused(BAD_USAGE, "no such server", "10.0.0.9:11211")

    def test_a_server_is_also_named_by_the_environment(self):
        named = ("--proxy", self.address, "servers")
        for name, code in (("10.0.0.1:11211", DONE), (SLOW, CLUSTER_ERROR)):
            result = self.run_ctl(*named, env={"ERS_IN_SYNC": name})
            self.assertEqual((result.returncode, result.stdout), (code, b""))

    def test_before_anything_is_stored_it_is_enough_to_answer(self):
        servers = [{"name": SLOW, "state": "down", "reachable": True},
                   {"name": "10.0.0.4:11211", "state": "in_sync",
                    "reachable": False, "last_error": ""}]
        self.admin.asked = {"epoch": 0, "servers": servers}
        self.assertEqual(self.run_it("--in-sync", SLOW).returncode, DONE)
        self.in_sync_refused(CLUSTER_ERROR, "it does not answer")

    def test_without_a_proxy_the_servers_are_asked(self):
        self.put("any", b"x")
        self.assertEqual(self.ctl("servers", "--in-sync"), b"")
        self.refused(BAD_USAGE, "no such server", "servers", "--in-sync",
                     "10.0.0.9:11211")
        # It is restarted between two commands: no process has noticed.
        self.tool("kill", "2")
        self.tool("start", "2")
        name = self.servers.split(",")[1]
        self.refused(CLUSTER_ERROR, name, "servers", "--in-sync")
        # It answers all the same, and what is shown says so; it is out where
        # the command before had the time to say so.
        row = next(line for line in self.ctl("servers").decode().splitlines()
                   if line.startswith(name))
        self.assertRegex(row, r" (down|in_sync) .* yes +\d.* it was "
                              r"restarted\b")
        self.ctl("rebuild")
        self.ctl("servers", "--in-sync")

    def test_a_status_without_servers_is_refused(self):
        self.admin.status = {"version": "1"}
        self.refused(CLUSTER_ERROR, "no servers", "--proxy", self.address,
                     "servers")

    def test_without_a_proxy_there_is_a_dash(self):
        self.put("any", b"x")
        lines = self.ctl("servers").decode().splitlines()
        header = next(i for i, line in enumerate(lines)
                      if line.startswith("server"))
        self.assertRegex(lines[header], r"p50 +p99 +beside others")
        for line in lines[header + 1:]:
            self.assertRegex(line, r" - +- +-\s*$")


if __name__ == "__main__":
    unittest.main()
