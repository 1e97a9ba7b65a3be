"""The slowest tests of several runs, also where one was cut off."""

import os
import subprocess
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "slowest-tests")


class SlowestTestsTest(unittest.TestCase):

    def test_slowest_first_with_their_stage(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (
                    ("one.xml", '<testsuite><testcase name="a" time="2.6"/>'
                                '<testcase name="b" time="0.1"/></testsuite>'),
                    ("two.xml", '<testsuite><testcase name="a" time="70"/>'
                                '</testsuite>'),
                    ("cut.xml", '<testsuite><testcase name="c"')):
                with open(os.path.join(folder, name), "w",
                          encoding="utf-8") as file:
                    file.write(text)
            said = subprocess.run(
                [TOOL, "2", *(os.path.join(folder, name) for name in (
                    "one.xml", "cut.xml", "two.xml", "none.xml"))],
                check=True, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=60)
            self.assertEqual(said.stdout, "    70 s  a (two)\n"
                                          "     3 s  a (one)\n")


if __name__ == "__main__":
    unittest.main()
