"""eval/python-rate/measure reads by both, and prints a table. No rate is judged
here."""

import os
import subprocess
import sys

from package_case import DEADLINE_S, TOP, unittest

MEASURE = os.path.join(TOP, "eval", "python-rate", "measure")
PROGRAMS = os.path.dirname(os.environ.get(
    "ERS_PYTHON_RATE",
    os.path.join(TOP, "build", "release", "bin", "python-rate-get")))


class RateTest(unittest.TestCase):

    def run_it(self, *words, python=sys.executable):
        return subprocess.run(
            [python, "-B", MEASURE, *words], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=DEADLINE_S)

    def test_each_way_has_a_rate(self):
        done = self.run_it("--rounds", "2", "--mib", "3", "--programs",
                           PROGRAMS)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "2 GETs of 3145728 bytes each:")
        for line, name in zip(lines[-4:], ("C++", "Python") * 2, strict=True):
            self.assertRegex(
                line, rf"^\| {name}[^|]+\| \d+\.\d \| \d+ \| \d\.\d+ \|$")

    def test_what_is_missing_is_named(self):
        done = self.run_it("--programs", "/no/such/folder")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/folder/python-rate-get", done.stderr)
        bare = self.run_it(python="/usr/bin/python3")
        self.assertEqual(bare.returncode, 1)
        self.assertIn("pip install", bare.stderr)


if __name__ == "__main__":
    unittest.main()
