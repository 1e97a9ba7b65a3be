"""tests/run refuses what neither it nor ctest knows: ctest would run all."""

import os
import subprocess
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class RunArgumentsTest(unittest.TestCase):

    def test_unknown_words_are_named(self):
        for text, words in (
                ("has an option --nope", ["--nope"]),
                ("'some' belongs to no option: -R some", ["some"]),
                ("'more' belongs to no option", ["-R", "some", "more"]),
                ("there is no preset 'none'", ["--preset", "none"])):
            with self.subTest(words=words):
                ended = subprocess.run(
                    [os.path.join(TOP, "tests", "run"), "--no-install", *words],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    timeout=60, check=False)
                self.assertEqual(ended.returncode, 2)
                self.assertIn(text, ended.stderr)


if __name__ == "__main__":
    unittest.main()
