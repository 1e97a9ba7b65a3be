"""What monitoring/ asks Prometheus for is there, and each alert has its place
in the runbook."""

import json
import os
import re
import unittest

from metrics_case import MetricsCase
from proxy_case import TOP

FOLDER = os.path.join(TOP, "monitoring")
METRIC = re.compile(r"\b((?:ersproxy|process)_[a-z_]+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|=|!=|!~)"([^"]*)"')
# Of the scrape, not of the daemon.
ADDED = {"job", "instance"}
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def expressions(thing):
    """All that stands under "expr" in JSON."""
    if isinstance(thing, dict):
        for name, value in thing.items():
            if name == "expr":
                yield value
            else:
                yield from expressions(value)
    elif isinstance(thing, list):
        for one in thing:
            yield from expressions(one)


def rules():
    """{alert: its expression}"""
    found = re.findall(r"- alert: (\w+)\n\s+expr: >-\n((?:\s{10}.*\n)+)",
                       read(FOLDER, "ersproxy.rules.yml"))
    return {name: " ".join(text.split()) for name, text in found}


def known_values():
    """{label: its values} where docs/reference/metrics.md lists them."""
    page = read(TOP, "docs", "reference", "metrics.md")
    section = page.partition("## Values of labels")[2]
    return {label: set(re.findall(r"`(\w+)`", values)) for label, values in
            re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.M)}


class MonitoringTest(MetricsCase):

    def check(self, expression, families, labels, values):
        used = METRIC.findall(expression)
        self.assertTrue(used or expression.startswith("up{"), expression)
        for name, matchers in used:
            family = name if name in families else HISTOGRAM.sub("", name)
            self.assertIn(family, families)
            for label, _, wanted in MATCHER.findall(matchers):
                if label in ADDED:
                    continue
                self.assertIn(label, labels[family], name)
                for value in wanted.split("|") if label in values else ():
                    self.assertIn(value, values[label], f"{name} {label}")

    def test_every_metric_and_label_is_exported(self):
        self.serve().client().set(b"k", b"v")
        families = self.metrics().families
        page = read(TOP, "docs", "reference", "metrics.md")
        # What has no sample yet has its labels in the page, which is made of
        # the same table.
        labels = {name: set(words.split(", ")) for name, words in re.findall(
            r"^\| `(\w+)` \| \w+ \| ([\w, ]*) \|", page, re.M)}
        values = known_values()
        self.assertIn("down", values["state"])
        dashboard = json.loads(read(FOLDER, "ersproxy.dashboard.json"))
        asked = [*expressions(dashboard), *rules().values()]
        self.assertGreater(len(asked), 50)
        for expression in asked:
            with self.subTest(expression):
                self.check(expression, families, labels, values)


class FilesTest(unittest.TestCase):

    def test_each_alert_has_a_test_and_a_line_in_the_runbook(self):
        text = read(FOLDER, "ersproxy.rules.yml")
        names = re.findall(r"- alert: (\w+)", text)
        self.assertEqual(sorted(rules()), sorted(names))
        self.assertEqual(re.findall(r"runbook_url: (\S+)", text),
                         [f"runbook.md#{name.lower()}" for name in names])
        runbook = read(TOP, "docs", "guides", "runbook.md")
        section = runbook.partition("\n## Alerts\n")[2].partition("\n## ")[0]
        told = re.findall(r"^### (\w+)\n\n\S", section, re.M)
        self.assertEqual(told, names)
        tests = read(FOLDER, "ersproxy.rules.test.yml")
        for name in names:
            self.assertIn(f"alertname: {name}\n        exp_alerts:\n", tests)

    def test_the_dashboard_is_whole(self):
        dashboard = json.loads(read(FOLDER, "ersproxy.dashboard.json"))
        panels = dashboard["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        variables = {one["name"] for one in dashboard["templating"]["list"]}
        text = json.dumps(dashboard)
        used = set(re.findall(r"\$\{?(\w+)", text)) - {"__all",
                                                      "__rate_interval"}
        self.assertEqual(used, variables)
        taken = set()
        for panel in panels:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(taken & cells, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells


if __name__ == "__main__":
    unittest.main()
