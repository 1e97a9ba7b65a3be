"""The programs in python/examples do what they say, and so does the page."""

import os
import re
import subprocess
import sys

from package_case import DEADLINE_S, TOP, PackageCase, unittest

EXAMPLE = os.path.join(TOP, "python", "examples", "serve_model.py")
PAGE = os.path.join(TOP, "docs", "guides", "python.md")


class ExamplesTest(PackageCase):

    def run_it(self, *words):
        return subprocess.run(
            [sys.executable, "-B", *words], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, cwd=self.work, timeout=DEADLINE_S,
            check=False)

    def test_a_model_is_served_narrow_and_wide(self):
        done = self.run_it(EXAMPLE, self.servers)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual((lines[0], lines[2]),
                         ("loaded 3 parts, narrow", "loaded 3 parts, wide"))
        # Of each of the arrays' groups: 8 MiB and 3 MiB, and 8 MiB again.
        self.assertEqual(lines[1], "made wide: 24 blocks read")

    def test_what_is_wrong_is_said_in_a_line(self):
        done = self.run_it(EXAMPLE, "nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(self.run_it(EXAMPLE).returncode, 1)

    def test_the_programs_of_the_guide_run(self):
        with open(PAGE, encoding="utf-8") as file:
            programs = re.findall(r"^```python\n(.*?)^```$", file.read(),
                                  re.M | re.S)
        self.assertGreater(len(programs), 3)
        for program in programs:
            path = self.file("program.py", program.replace(
                "10.0.0.1:11211,...", self.servers).encode())
            self.file("weights.bin", bytes(100_000))
            done = self.run_it(path)
            self.assertEqual(done.returncode, 0, program + done.stderr)


if __name__ == "__main__":
    unittest.main()
