"""docs/evaluation/tails.md is made of rows, and a limit that was missed is
shown as missed."""

import io
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..",
                                    ".."))
sys.path[:0] = [os.path.join(TOP, "eval", "tails"), os.path.join(TOP, "eval")]
# pylint: disable=wrong-import-position
import limits
import page
import records

REPORT = os.path.join(TOP, "eval", "tails", "report")


def record(**values):
    given = {
        "time": "2026-01-02T00:00:00Z", "revision": "r1", "host": "a host",
        "load": 0.5, "quick": 0, "repetition": 0, "row": "late",
        "system": "ersproxy", "value_bytes": 16384, "clients": 1,
        "figure": "GET p99", "value": 5.0, "healthy": 1.0}
    given.update(values)
    return records.Record(**given)


def repeated(values, **more):
    return [record(repetition=number, value=value, **more)
            for number, value in enumerate(values)]


class LimitsTest(unittest.TestCase):

    def only(self, found):
        made = limits.lines(found)
        self.assertEqual(len(made), 1)
        return made[0]

    def test_a_limit_of_the_healthy_figure_is_a_factor_and_a_sum(self):
        # 2 x 1 ms + 3 ms.
        self.assertEqual(self.only(repeated([5.0])).verdict(), "kept")
        self.assertEqual(self.only(repeated([5.01])).verdict(), "missed")

    def test_quantiles_go_by_the_median_of_the_repetitions(self):
        line = self.only(repeated([4.0, 90.0, 4.5, 1.0, 80.0]))
        self.assertEqual((line.median, line.verdict()), (4.5, "kept"))

    def test_what_no_request_may_do_goes_by_the_worst_repetition(self):
        line = self.only(repeated([10.0, 51.0, 10.0], row="frozen",
                                  figure="worst GET"))
        self.assertEqual((line.median, line.verdict()), (10.0, "missed"))

    def test_the_healthy_figure_is_the_median_of_its_own_repetitions(self):
        found = [record(repetition=number, value=6.0, healthy=healthy)
                 for number, healthy in enumerate((0.1, 2.0, 9.0))]
        self.assertEqual(self.only(found).verdict(), "kept")  # 2 x 2 + 3

    def test_nothing_is_allowed_to_fail(self):
        line = self.only([record(figure="failed", value=1.0, healthy=None)])
        self.assertEqual(line.verdict(), "missed")
        line = self.only([record(row="cut", figure="refused SETs", value=1.0,
                                 healthy=0.0)])
        self.assertEqual(line.verdict(), "missed")

    def test_what_has_no_limit_has_no_verdict(self):
        self.assertEqual(self.only(repeated([1.0], figure="GET p99.9"))
                         .verdict(), "")
        self.assertEqual(self.only(repeated([99.0], system="copies"))
                         .verdict(), "")

    def test_other_cases_are_lines_of_their_own(self):
        found = (repeated([1.0]) + repeated([1.0], clients=8)
                 + repeated([1.0], value_bytes=1 << 20)
                 + repeated([1.0], system="copies"))
        self.assertEqual(len(limits.lines(found)), 4)


class PageTest(unittest.TestCase):

    def test_a_line_has_the_figure_the_healthy_one_and_the_limit(self):
        text = page.render(repeated([4.0, 9.0, 6.0]))
        self.assertIn("| ersproxy | 16 KiB | 1 | GET p99, ms | 6 (4 to 9) | 1 "
                      "| 2 x + 3 ms | missed |", text)
        self.assertIn("0 limits were kept, 1 were missed", text)

    def test_the_system_itself_comes_first(self):
        text = page.render(repeated([1.0], system="copies")
                           + repeated([1.0]))
        self.assertLess(text.index("| ersproxy |"), text.index("| copies |"))

    def test_what_was_not_measured_is_named(self):
        text = page.render(repeated([4.0]))
        self.assertIn("Not measured: `late`, `slow`, `rate`, `frozen`, "
                      "`killed` of nutcracker.", text)
        self.assertRegex(text, "Not measured: `round-trips`, .*`thousand` of "
                         "ersproxy.")

    def test_few_repetitions_a_busy_machine_and_short_spans_are_noted(self):
        well = page.render(repeated([4.0] * 5))
        self.assertNotIn("say little", well)
        self.assertNotIn("other work", well)
        text = page.render(repeated([4.0], load=7.0, quick=1))
        self.assertIn("1 repetition, not 5", text)
        self.assertIn("other work", text)
        self.assertIn("`--quick`", text)


class RecordsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def report(self, *words):
        return subprocess.run(
            [sys.executable, "-B", REPORT, *words, "--page",
             os.path.join(self.folder, "page.md")], check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def test_what_is_written_reads_back(self):
        found = [record(), record(value_bytes=None, clients=None,
                                  healthy=None, host='2 "cores", busy')]
        file = io.StringIO()
        write = records.writer(file)
        for one in found:
            write(one)
        path = os.path.join(self.folder, "rows.csv")
        with open(path, "w", encoding="utf-8") as there:
            there.write(file.getvalue())
        self.assertEqual(records.load(path), found)

    def test_other_files_are_refused_in_one_sentence(self):
        with open(os.path.join(self.folder, "rows.csv"), "w",
                  encoding="utf-8") as file:
            file.write("a,b\n1,2\n")
        done = self.report(self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Aeval/tails/report: .*rows.csv: no "
                         r"rows of eval/tails/measure\n\Z")

    def test_the_page_is_that_of_the_rows(self):
        self.assertEqual(self.report().stderr, "")
        texts = []
        for path in (os.path.join(self.folder, "page.md"),
                     os.path.join(TOP, "docs", "evaluation", "tails.md")):
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        self.assertEqual(*texts, "run eval/tails/report")


if __name__ == "__main__":
    unittest.main()
