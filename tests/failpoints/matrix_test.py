"""What is struck again, and what breaks at once: of told results, without
processes."""

import contextlib
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
# pylint: disable=wrong-import-position
import matrix
from table import BROKEN, Table

TASK = ("strike", [("overwrite", 1)], "commit", "reply lost", 0)
GOOD, UNMET = {"outcome": "acknowledged, new"}, {"outcome": None}
SLOW = {"failure": "never: all servers are in sync", "lost": False}
LOST = {"failure": "acknowledged and lost", "lost": True}


class Told:
    """Workers that have these results, one after the other."""

    def __init__(self, *results):
        self.left = list(results)

    def run(self, tasks):
        for task in tasks:
            yield task, {"at": "1 of overwrite", "seconds": 0.1,
                         **self.left.pop(0)}


class StrikeAllTest(unittest.TestCase):

    def strike(self, *results):
        """(what is broken, outcomes of the runs, results nobody asked for)"""
        workers, table = Told(*results), Table()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            failures = matrix.strike_all([TASK], False, workers, table)
        self.said = said.getvalue()
        return ([result["failure"] for _, result in failures],
                [run[-1] for run in table.runs], len(workers.left))

    def test_a_good_run_is_one(self):
        self.assertEqual(self.strike(GOOD, GOOD), ([], [GOOD["outcome"]], 1))

    def test_a_slow_machine_is_forgiven_and_told(self):
        self.assertEqual(self.strike(SLOW, GOOD),
                         ([], [BROKEN, GOOD["outcome"]], 0))
        self.assertIn(SLOW["failure"], self.said)

    def test_what_is_slow_every_time_is_broken(self):
        self.assertEqual(self.strike(*[SLOW] * 4),
                         ([SLOW["failure"]], [BROKEN] * 3, 1))

    def test_a_broken_promise_is_not_tried_again(self):
        self.assertEqual(self.strike(LOST, GOOD),
                         ([LOST["failure"]], [BROKEN], 1))
        self.assertEqual(self.strike(SLOW, LOST, GOOD),
                         ([LOST["failure"]], [BROKEN] * 2, 1))

    def test_what_met_no_message_is_struck_again(self):
        self.assertEqual(self.strike(UNMET, UNMET, GOOD),
                         ([], [GOOD["outcome"]], 0))
        self.assertEqual(self.strike(*[UNMET] * 4), ([], [], 1))


if __name__ == "__main__":
    unittest.main()
