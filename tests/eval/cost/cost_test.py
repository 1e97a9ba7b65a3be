"""What schemes cost, by the paper's inputs and by others."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.dirname(HERE))

import needs  # noqa: E402, after the path

MODEL = os.path.join(TOP, "eval", "cost", "model")
DEFAULTS = os.path.join(TOP, "eval", "cost", "inputs.yaml")
DEADLINE_S = 60


def run(*words):
    return subprocess.run([MODEL, *words], check=False, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=DEADLINE_S)


@needs.module("yaml", "python3-yaml")
class CostTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(DEFAULTS, encoding="utf-8") as file:
            self.defaults = file.read()

    def edited(self, *changes):
        """The defaults with places (before, after) changed."""
        text = self.defaults
        for before, after in changes:
            self.assertEqual(text.count(before), 1, before)
            text = text.replace(before, after)
        path = os.path.join(self.folder, "inputs.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def rows(self, what, inputs=DEFAULTS, **wanted):
        done = run(what, "--format", "json", "--inputs", inputs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [row for row in json.loads(done.stdout)
                if all(row[name] == value for name, value in wanted.items())]

    def test_only_what_stores_bytes_costs_less(self):
        row, = self.rows("dollars", system="Condo", storage_share=0.34,
                         scheme="rs:3,2")
        # 5/3 in place of 3 bytes for one, of a third of the cost.
        self.assertAlmostEqual(row["saved_percent"], 100 * 0.34 * 4 / 9)
        self.assertAlmostEqual(row["dollars_per_year"],
                               71000 * (1 - 0.34 * 4 / 9))
        for row in self.rows("dollars", scheme="rep:3"):
            self.assertEqual(row["saved_percent"], 0)

    def test_gears_are_one_more_than_the_failures_survived(self):
        row, = self.rows("gears", scheme="rs:3,2", system="Condo")
        self.assertEqual((row["gears"], row["off_in_groups"],
                          row["off_on_ring"]), (3, 18, 2))
        row, = self.rows("gears", scheme="rep:3", system="Condo")
        self.assertEqual((row["gears"], row["off_in_groups"]), (3, 32))
        # One server is no group of five.
        self.assertFalse(self.rows("gears", scheme="rs:3,2", system="FAWN"))

    def test_the_more_is_read_the_less_is_saved(self):
        rows = self.rows("network", scheme="rs:3,2")
        rows.sort(key=lambda row: row["reads_per_write"])
        saved = [row["saved_percent"] for row in rows]
        self.assertEqual(saved, sorted(saved, reverse=True))
        hotmail, = (r for r in rows if r["workload"] == "Hotmail")
        self.assertAlmostEqual(hotmail["moved_per_byte_written"], 5 / 3 + 0.85)

    def test_the_papers_figures_of_the_network_come_out(self):
        def saved(inputs):
            row, = self.rows("network", inputs, scheme="rs:3,2",
                             workload="Hotmail")
            return row["saved_percent"]
        writes_only = ("reads_per_write: 0.85", "reads_per_write: 0")
        self.assertEqual(round(saved(self.edited(writes_only))), 44)  # "45 %"
        local = ("writers_are_servers: false", "writers_are_servers: true")
        self.assertEqual(round(saved(self.edited(writes_only, local))), 33)
        row, = self.rows("network", scheme="rs:3,2", workload="Hotmail")
        self.assertAlmostEqual(row["client_writes_mb_per_s"], 60)

    def test_what_makes_no_sense_is_refused_in_one_sentence(self):
        for before, after, said in (
                ("storage_shares: [0.30]", "storage_shares: [1.3]",
                 "system 'FAWN': 1.3 is out of range"),
                ("storage_shares: [0.30]", "storage_shares: [yes]",
                 "system 'FAWN': a storage share cannot be True"),
                ('"rs:5,2"', '"rs:5"', "'rs:5' is no scheme"),
                ('"ers2:4,1,5"', '"ers2:4,1,4"', "KP must be more than K"),
                ("client_mb_per_s: 100", "client_mb_per_second: 100",
                 "there is no 'client_mb_per_second'"),
                ("    servers: 48\n", "", "system 'Condo': 'servers' is missing"),
                ("network:", "network: [", "inputs.yaml: ")):
            with self.subTest(after=after):
                done = run("dollars", "--inputs", self.edited((before, after)))
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, r"\Aeval/cost/model: .*\n\Z")
                self.assertIn(said, done.stderr)

    def test_the_page_is_that_of_the_defaults(self):
        path = os.path.join(self.folder, "page.md")
        done = run("page", "--no-figures", "--page", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(path, encoding="utf-8") as file:
            made = file.read()
        with open(os.path.join(TOP, "docs", "evaluation", "cost.md"),
                  encoding="utf-8") as file:
            kept = file.read()
        kept = re.sub(r"!\[.*\n\n\[As SVG\].*\n\n", "", kept)
        self.assertEqual(made, kept, "run eval/cost/model page")

    @needs.module("matplotlib", "python3-matplotlib")
    def test_the_page_shows_its_figure(self):
        path = os.path.join(self.folder, "page.md")
        done = run("page", "--page", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(path, encoding="utf-8") as file:
            self.assertIn("figures/cost/network.png", file.read())
        for ending in ("png", "svg"):
            self.assertTrue(os.path.getsize(os.path.join(
                self.folder, "figures", "cost", f"network.{ending}")))


if __name__ == "__main__":
    unittest.main()
