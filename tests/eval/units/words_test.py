"""What programs of the evaluation say of files and numbers that are wrong: the
culprit in a sentence, no traceback and no number of an error."""

import os
import subprocess
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
NONE = "/nonexistent/none"

CASES = [
    (f"{NONE}: No such file", "report", NONE),
    (f"{NONE}: No such file", "ec-vs-replication/report", NONE),
    (f"{NONE}: No such file", "ec-vs-replication/report", "--costs", NONE),
    (f"{NONE}: No such file", "lhrs/report", NONE),
    (f"{NONE}/writes.csv: No such file", "write-cost/report", NONE),
    (f"{NONE}: No such file", "cost/model", "gears", "--inputs", NONE),
    ("ersproxy: there is no such program", "write-cost/measure", "--programs",
     NONE),
    ("lhrs-load: there is no such program", "lhrs/measure", "--programs", NONE),
    ("ers-bench: there is no such program", "ec-vs-replication/measure",
     "--programs", NONE),
    (f"{NONE}: there is no such program", "rebuild/measure", "--program", NONE),
    ("'x' is no scheme", "write-cost/measure", "--scheme", "x"),
    ("invalid choice: 'x'", "memory-cost/measure", "schemes", "--scheme", "x"),
    ("'0' is not a whole number", "lhrs/measure", "--reps", "0"),
    ("'0' is not a whole number", "ec-vs-replication/measure", "--reps", "0"),
    ("'0' is not a whole number", "rebuild/measure", "--rounds", "0"),
]


class WordsTest(unittest.TestCase):

    def test_each_names_the_culprit(self):
        for text, program, *words in CASES:
            with self.subTest(program=program, words=words):
                ended = subprocess.run(
                    [os.path.join(TOP, "eval", program), *words],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    timeout=60, check=False)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(text, ended.stderr)
                self.assertNotIn("Errno", ended.stderr)
                self.assertNotIn("Traceback", ended.stderr)


if __name__ == "__main__":
    unittest.main()
