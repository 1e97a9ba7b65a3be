"""monitoring/ in Debian's Prometheus: its rules as promtool tries them, and
its queries and alerts on a real daemon that loses a server."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
import urllib.parse

from metrics_case import MetricsCase
from monitoring_test import FOLDER, expressions, read, rules
from proxy_case import DEADLINE_S, random_bytes

SKIPPED = 77
# What a cluster without load, jobs and faults has no sample of.
EMPTY = ("result=\"server_error\"", "ersproxy_objects{", "_transition",
         "result=\"out_of_memory\"")


class PromtoolTest(unittest.TestCase):

    def promtool(self, *words):
        result = subprocess.run(
            ["promtool", *words], stdin=subprocess.DEVNULL, cwd=FOLDER,
            capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_rules(self):
        self.promtool("check", "rules", "ersproxy.rules.yml")
        self.promtool("test", "rules", "ersproxy.rules.test.yml")


class PrometheusTest(MetricsCase):

    def begin(self):
        """A Prometheus that scrapes self.admin each second."""
        self.port = self.held_port()
        text = re.sub(r"\bfor: \w+", "for: 0s",
                      read(FOLDER, "ersproxy.rules.yml"))
        self.file("rules.yml", text.encode())
        self.file("prometheus.yml", json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "ersproxy", "static_configs": [
                {"targets": [self.admin]}]}]}).encode())
        process = subprocess.Popen(
            ["prometheus", f"--web.listen-address=127.0.0.1:{self.port}",
             "--config.file=prometheus.yml", "--storage.tsdb.path=data",
             "--log.level=error"], stdin=subprocess.DEVNULL, cwd=self.work)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGTERM)

    def get(self, path):
        link = http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=DEADLINE_S)
        try:
            link.request("GET", path)
            return json.loads(link.getresponse().read())
        finally:
            link.close()

    def ready(self):
        try:
            return self.query("ersproxy_serving == 1 and ersproxy_uptime_seconds"
                              " > 12")
        except (OSError, ValueError):
            return False

    def query(self, expression):
        answer = self.get("/api/v1/query?" + urllib.parse.urlencode(
            {"query": expression}))
        self.assertEqual(answer["status"], "success", (expression, answer))
        return answer["data"]["result"]

    def firing(self):
        return {(alert["labels"]["alertname"], alert["labels"].get("server"))
                for alert in self.get("/api/v1/alerts")["data"]["alerts"]
                if alert["state"] == "firing"}

    def test_queries_have_answers_and_a_lost_server_is_an_alert(self):
        client = self.serve().client()
        for i in range(50):
            client.set(b"k%d" % i, random_bytes(20_000, i))
            client.line(b"mg k%d\r\n" % i)
        self.begin()
        self.until(self.ready, "Prometheus has scraped it for a while")
        dashboard = json.loads(read(FOLDER, "ersproxy.dashboard.json"))
        for expression in [*expressions(dashboard), *rules().values()]:
            asked = expression.replace("$job", "ersproxy").replace(
                "$instance", ".*").replace("$__rate_interval", "10s")
            with self.subTest(asked):
                found = self.query(asked)
                # An alert has no sample, where all is well.
                if "$job" in expression and " > 0" not in expression and \
                        not any(part in expression for part in EMPTY):
                    self.assertTrue(found)
        quiet = {name for name, _ in self.firing()}
        self.assertFalse(quiet & {"ErsproxyServerOut", "ErsproxyNotServing",
                                  "ErsproxyNoServerMayFail"}, quiet)
        self.tool("kill", "4")
        name = self.servers.split(",")[3]
        self.until(lambda: ("ErsproxyServerOut", name) in self.firing(),
                   "the alert fires")
        self.tool("start", "4")
        self.until(lambda: ("ErsproxyServerOut", name) not in self.firing(),
                   "the alert is over")


if __name__ == "__main__":
    lacking = [program for program in ("prometheus", "promtool")
               if not shutil.which(program)]
    if lacking:
        print(f"not run: there is no {' and no '.join(lacking)}, which is in "
              "Debian's package prometheus")
        sys.exit(SKIPPED)
    unittest.main()
