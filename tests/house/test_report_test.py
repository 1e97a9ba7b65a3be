"""The slowest tests of several runs and the last words of failed ones, also
where a run was cut off."""

import os
import subprocess
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "test-report")


class TestReportTest(unittest.TestCase):

    def report(self, count, **files):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in files.items():
                paths.append(os.path.join(folder, name + ".xml"))
                if text is not None:
                    with open(paths[-1], "w", encoding="utf-8") as file:
                        file.write(text)
            return subprocess.run(
                [TOOL, count, *paths], check=True, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=60).stdout

    def test_slowest_first_with_their_stage(self):
        said = self.report(
            "2", one='<testsuite><testcase name="a" time="2.6"/>'
            '<testcase name="b" time="0.1"/></testsuite>',
            cut='<testsuite><testcase name="c"',
            two='<testsuite><testcase name="a" time="70"/></testsuite>',
            none=None)
        self.assertEqual(said, "    70 s  a (two)\n     3 s  a (one)\n")

    def test_failed_ones_say_why_at_their_end(self):
        long = "".join(f"line {number}\n" for number in range(100))
        said = self.report(
            "0", one='<testsuite><testcase name="a" time="1"><failure '
            f'message="Failed"/><system-out>{long}&lt;why&gt;\n'
            '</system-out></testcase><testcase name="b" time="1"><system-out>'
            'all is well</system-out></testcase></testsuite>')
        self.assertIn("a (one) failed, and ended with:\nline 61\n", said)
        self.assertTrue(said.endswith("\nline 99\n<why>\n"), said)
        self.assertNotIn("all is well", said)


if __name__ == "__main__":
    unittest.main()
