"""eval/columns/measure: values in columns beside blocks, on real servers."""

import os
import subprocess
import sys
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 3))
MEASURE = os.path.join(TOP, "eval", "columns", "measure")
BENCH = os.path.join(os.environ["PROGRAMS"], "ers-bench")
DEADLINE_S = 120


def run(*words):
    return subprocess.run([sys.executable, "-B", MEASURE, "--bench", BENCH,
                           *words], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=DEADLINE_S)


class MeasureTest(unittest.TestCase):

    def test_each_size_has_a_row_of_ratios(self):
        done = run("--link-mbit", "0", "--sizes", "4096", "16384", "--reps",
                   "2", "--scheme", "ers2:2,1,3")
        self.assertEqual(done.returncode, 0, done.stderr)
        head, _, *rows = done.stdout.splitlines()
        self.assertEqual(
            head, "| links | value | put | get | forward | backward |")
        self.assertEqual([row.split(" | ")[1] for row in rows],
                         ["4 KiB", "16 KiB"])
        for row in rows:
            self.assertRegex(row, r"^\| loopback \| \d+ KiB( \| \d+\.\d\d){4} \|$")

    def test_what_the_bench_refuses_is_said(self):
        done = run("--link-mbit", "0", "--sizes", "4096", "--scheme",
                   "ers2:3,1,2")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("eval/columns/measure: ers-bench failed", done.stderr)

    def test_other_schemes_are_refused(self):
        done = run("--scheme", "rep:2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'rep:2' is no scheme", done.stderr)


if __name__ == "__main__":
    unittest.main()
