"""eval/dead-server/measure reads on while servers die, and prints a table."""

import os
import subprocess
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
MEASURE = os.path.join(TOP, "eval", "dead-server", "measure")
PROGRAMS = os.environ.get(
    "PROGRAMS", os.path.join(TOP, "build", "release", "bin"))
DEADLINE_S = 300


class DeadServerTest(unittest.TestCase):

    def run_it(self, *words):
        return subprocess.run([MEASURE, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False,
                              timeout=DEADLINE_S)

    def test_every_read_is_answered(self):
        done = self.run_it("--reads", "20", "--programs", PROGRAMS)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [line.split("|")[1].strip()
                 for line in done.stdout.splitlines()[2:]]
        self.assertEqual(names, ["all servers up", "one is killed",
                                 "it is back", "one is frozen", "it goes on"])

    def test_a_program_that_is_not_there_is_named(self):
        done = self.run_it("--programs", "/no/such/folder")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/folder/ersproxy", done.stderr)


if __name__ == "__main__":
    unittest.main()
