"""docs/evaluation/lhrs.md is made of rows, and says what they cannot show."""

import io
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..",
                                    ".."))
sys.path[:0] = [os.path.join(TOP, "eval", "lhrs"), os.path.join(TOP, "eval")]
# pylint: disable=wrong-import-position
import page
import records

REPORT = os.path.join(TOP, "eval", "lhrs", "report")
CODES = os.path.join(TOP, "eval", "write-cost", "rows", "codes.csv")


def record(**values):
    given = {
        "time": "2026-01-02T00:00:00Z", "revision": "r2", "host": "a host",
        "load": 0.5, "bed": "unshaped", "link_mbit": None,
        "measured_mbit": None, "tcp": "cubic", "repetition": 0,
        "scenario": "search", "case": "", "records": 5000,
        "record_bytes": 4096, "in_flight": 1, "lost": 0, "seconds": 1.0,
        "process_s": 0.0, "microseconds": None, "bytes_read": None,
        "bytes_written": None}
    given.update(values)
    return records.Record(**given)


def searches(count, **values):
    """A pipelined search takes a quarter of the time."""
    return [record(repetition=number, in_flight=in_flight,
                   seconds=seconds + number / 100, **values)
            for number in range(count)
            for in_flight, seconds in ((1, 1.0), (32, 0.25))]


LINKS = {"bed": "namespaces", "link_mbit": 1000.0, "measured_mbit": 940.0}


class PageTest(unittest.TestCase):

    def render(self, found):
        return page.render(found, records.load_codes(CODES))

    def test_figures_are_medians_with_what_they_spread(self):
        text = self.render(searches(3))
        self.assertIn("| search |  | 5000 | 32 | 0.260 (0.250 to 0.270) | 52 "
                      "(50 to 54) |", text)
        self.assertIn("| parallel search saves | 77 % (table 62) | 74 % (74 to "
                      "75) |", text)

    def test_fewer_than_ten_repetitions_are_noted(self):
        self.assertIn("3 repetitions, not 10", self.render(searches(3)))
        self.assertNotIn("not 10", self.render(searches(10)))

    def test_both_settings_of_the_network_are_shown(self):
        text = self.render(searches(10))
        self.assertIn("On links of 1 Gbit/s: not measured", text)
        text = self.render(searches(10) + searches(10, **LINKS))
        self.assertNotIn("not measured", text)
        self.assertIn("## Measured on loopback, unshaped", text)
        self.assertIn("## Measured on links of 1 Gbit/s", text)
        self.assertIn("|  | LH*RS | loopback, unshaped | links of 1 Gbit/s |",
                      text)

    def test_another_tcp_and_a_busy_machine_are_noted(self):
        self.assertNotIn("comparable with other pages",
                         self.render(searches(10)))
        text = self.render(searches(10, tcp="bbr", load=4.0)
                           + searches(10, **LINKS))
        self.assertIn("TCP is bbr and not cubic: not comparable with other "
                      "pages", text)
        self.assertIn("not comparable with each other", text)
        self.assertIn("load never under 4", text)
        self.assertIn("TCP is not recorded",
                      self.render(searches(10, tcp=None)))

    def test_a_newer_run_takes_the_place_of_an_older_one(self):
        old = searches(3, time=None, revision=None, tcp=None)
        self.assertEqual(self.render(old + searches(10)),
                         self.render(searches(10)))

    def test_words_of_16_bits_are_those_of_the_codes_that_were_timed(self):
        codes = records.load_codes(CODES)
        slower = sum(found["rs-16"].microseconds[0] > found["rs"].microseconds[0]
                     for found in codes.values())
        self.assertIn(f"here it is in {len(codes) - slower} of {len(codes)} "
                      "sizes", page.render([], codes))


class RecordsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text):
        with open(os.path.join(self.folder, "rows.csv"), "w",
                  encoding="utf-8") as file:
            file.write(text)

    def test_what_is_written_reads_back(self):
        rows = [*searches(2, **LINKS), record(host='2 "cores", busy')]
        file = io.StringIO()
        write = records.writer(file)
        for row in rows:
            write(row)
        self.write(file.getvalue())
        self.assertEqual(records.load(os.path.join(self.folder, "rows.csv")),
                         rows)

    def report(self, *words):
        return subprocess.run(
            [sys.executable, "-B", REPORT, *words, "--page",
             os.path.join(self.folder, "page.md")], check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def test_other_files_are_refused_in_one_sentence(self):
        self.write("a,b\n1,2\n")
        done = self.report(self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Aeval/lhrs/report: .*rows.csv: no rows "
                         r"of eval/lhrs/measure\n\Z")

    def test_the_page_is_that_of_the_rows(self):
        self.assertEqual(self.report().stderr, "")
        texts = []
        for path in (os.path.join(self.folder, "page.md"),
                     os.path.join(TOP, "docs", "evaluation", "lhrs.md")):
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        self.assertEqual(*texts, "run eval/lhrs/report")


if __name__ == "__main__":
    unittest.main()
