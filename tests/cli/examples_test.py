"""The programs in examples/ do what they say."""

import os
import subprocess
import unittest

from ctl_case import DEADLINE_S, DONE, ERSCTL, CtlCase

BIN = os.path.dirname(ERSCTL)


class ExamplesTest(CtlCase):

    def run_example(self, variable, default, *words):
        program = os.environ.get(variable, os.path.join(BIN, default))
        return subprocess.run([program, *words], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)

    def test_cpp(self):
        result = self.run_example("ERS_EXAMPLE_CPP", "example_cpp",
                                  self.servers)
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(result.stdout.splitlines(), [
            "read 1000000 bytes, narrow",
            "transition read 8 blocks and wrote 4",
            "read 1000000 bytes, wide"])

    def test_c(self):
        result = self.run_example("ERS_EXAMPLE_C", "example_c", self.servers)
        self.assertEqual(result.returncode, DONE, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0],
                         "Any one server may die and this line is read.")
        self.assertEqual(lines[1],
                         "ANY one server may die and this line is read.")
        self.assertEqual(lines[2], "ers2:4,1,5, 46 bytes")
        self.assertRegex(lines[3], r"^ers2:4,1,5, \d+ blocks, the first on 127")

    def test_wrong_use_is_reported(self):
        for variable, default in (("ERS_EXAMPLE_CPP", "example_cpp"),
                                  ("ERS_EXAMPLE_C", "example_c")):
            self.assertEqual(self.run_example(variable, default).returncode, 2)
            result = self.run_example(variable, default, "nowhere")
            self.assertEqual(result.returncode, 1)
            self.assertIn("nowhere", result.stderr)


if __name__ == "__main__":
    unittest.main()
