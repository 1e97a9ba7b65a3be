"""eval/chains/measure: a chain beside ERS-2 and re-encoding, on real servers."""

import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 3))
MEASURE = os.path.join(TOP, "eval", "chains", "measure")
PROGRAMS = os.environ["PROGRAMS"]
DEADLINE_S = 120
# Says that each width change of a chain reads one block more than it does.
LIAR = """#!/bin/sh
if [ "$1" = chain ]; then
  "{program}" "$@" | awk -F, -v OFS=, 'NR > 1 {{ $5 += 1 }} 1'
else
  exec "{program}" "$@"
fi
"""


def run(*words, programs=PROGRAMS):
    return subprocess.run([sys.executable, "-B", MEASURE, "--programs", programs,
                           "--link-mbit", "0", "--reps", "2", *words],
                          check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=DEADLINE_S)


class MeasureTest(unittest.TestCase):

    def test_each_ordered_pair_has_a_row(self):
        done = run("--chain", "2-3-6", "--sizes", "12288")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, _, *rows = done.stdout.splitlines()
        self.assertEqual(
            [row.split(" | ")[2] for row in rows],
            ["2 to 3", "3 to 2", "2 to 6", "6 to 2", "3 to 6", "6 to 3"])
        for row in rows:
            self.assertRegex(
                row, r"^\| loopback \| 12 KiB \| \d to \d"
                r"( \| \d+\.\d\d \| \d+ \| \d+){3} \|$")

    def test_bytes_that_are_not_the_analyser_s_are_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(PROGRAMS, "ers-bench"),
                       os.path.join(folder, "ers-bench"))
            liar = os.path.join(folder, "ers-analyze")
            with open(liar, "w", encoding="utf-8") as file:
                file.write(LIAR.format(
                    program=os.path.join(PROGRAMS, "ers-analyze")))
            os.chmod(liar, 0o755)
            done = run("--chain", "2-4", "--sizes", "4096", programs=folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the analyser says", done.stderr)

    def test_what_is_no_chain_is_said(self):
        done = run("--chain", "4,6")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'4,6' is no chain", done.stderr)
        self.assertIn("ers-analyze failed", run("--chain", "6-4").stderr)


if __name__ == "__main__":
    unittest.main()
