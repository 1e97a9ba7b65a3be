"""The model finds again what rows were made by, and says so in page and
advice."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path[:0] = [os.path.dirname(HERE),
                os.path.join(os.path.dirname(HERE), "report")]

import needs  # noqa: E402, after the path
from synthetic import MIB, rows, sample  # noqa: E402

REPORT = os.path.join(TOP, "eval", "ec-vs-replication", "report")
DEADLINE_S = 120
KEPT_PAGE = os.path.join(TOP, "docs", "evaluation",
                         "ec-vs-replication.md")
KEPT_ADVICE = os.path.join(TOP, "eval", "ec-vs-replication", "advice.json")


def invented(read_penalty):
    """Rows of a link that takes 1.1 of its time, 50 us a server for copies and
    10 us for codes, and so many us a block for codes that are read."""
    found = []
    for mbit in (10.0, 100.0, 1000.0, 10000.0):
        for size in (MIB // 1024, MIB // 16, MIB):
            for k, m, k_to in ((4, 1, 5), (4, 2, 6), (8, 3, 10)):
                about = {"experiment": "kv", "link_mbit": mbit, "k": k, "m": m,
                         "k_to": k_to, "object_bytes": size}
                second = 1.1 * size * 8 / (mbit * 1e6)
                found += sample((m + 1) * (second + 50e-6), scheme="rep",
                                operation="put", **about)
                found += sample(second + 50e-6, scheme="rep", operation="get",
                                **about)
                found += sample((k + m) * (second / k + 10e-6), scheme="rs",
                                operation="put", **about)
                found += sample(second + k * (10e-6 + read_penalty),
                                scheme="rs", operation="get", **about)
    return found


def run(*words):
    return subprocess.run([REPORT, *words], check=False, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=DEADLINE_S)


def without_figures(text):
    return re.sub(r"## Heat maps\n.*\[As SVG\][^\n]*\n\n", "", text,
                  flags=re.DOTALL)


@needs.module("matplotlib", "python3-matplotlib")
@needs.module("yaml", "python3-yaml")
class KvTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def made(self, *words):
        done = run(*words, "--page", self.path("page.md"), "--advice",
                   self.path("advice.json"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("page.md"), encoding="utf-8") as file:
            page = file.read()
        with open(self.path("advice.json"), encoding="utf-8") as file:
            return page, json.load(file)

    def test_the_model_is_what_the_rows_were_made_by(self):
        rows.append(self.path("rows.csv"), invented(0))
        page, advice = self.made(self.path("rows.csv"))
        for kind, server in (("copies", 50e-6), ("coded", 10e-6)):
            put = advice["seconds"][kind]["put"]
            self.assertAlmostEqual(put["link"], 1.1, delta=0.03)
            self.assertLess(put["error"], 0.05)
            # All of a server's time, on whichever term it is.
            self.assertAlmostEqual(put["server"] + put["block"], server,
                                   delta=server / 4)
        self.assertEqual(advice["measured"]["mbit"], [10.0, 10000.0])
        self.assertEqual(advice["storage_share_of_cost"], [0.14, 0.61])
        # One server's 50 us against four times 10: coding reads faster, too.
        self.assertIn("Reads that coding clearly wins", page)
        self.assertRegex(page, r"`rs:4,1` \| `rep:2` \| put \| always")
        for ending in ("png", "svg"):
            self.assertTrue(os.path.getsize(self.path(
                f"figures/ec-vs-replication/heat.{ending}")))

    def test_reads_that_codes_lose_are_reported(self):
        rows.append(self.path("rows.csv"), invented(100e-6))
        page, _ = self.made(self.path("rows.csv"), "--no-figures")
        self.assertIn("coding is faster in 0 of 36 settings", page)
        self.assertRegex(page, r"`rs:4,1` \| `rep:2` \| get \| never \| never")
        self.assertNotIn("Reads that coding clearly wins", page)

    def test_page_and_advice_are_those_of_the_rows(self):
        page, advice = self.made("--no-figures")
        with open(KEPT_PAGE, encoding="utf-8") as file:
            self.assertEqual(page, without_figures(file.read()),
                             "run eval/ec-vs-replication/report")
        with open(KEPT_ADVICE, encoding="utf-8") as file:
            self.assertEqual(advice, json.load(file),
                             "run eval/ec-vs-replication/report")

    def test_rows_that_no_model_can_be_made_of_are_refused(self):
        rows.append(self.path("rows.csv"), sample(0.1, operation="get",
                                                  experiment="kv"))
        done = run(self.path("rows.csv"), "--page", self.path("page.md"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr,
                         r"\Aeval/ec-vs-replication/report: .*\n\Z")


if __name__ == "__main__":
    unittest.main()
