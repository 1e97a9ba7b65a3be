"""The experiments are the paper's, and what they should move is counted right."""

import os
import sys
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))
# pylint: disable=wrong-import-position
import rows
from paper import experiments, expected, progress
from testbed import bed, links

MIB = 1 << 20


def keys(groups):
    return [key for group in groups for cell in group.cells
            for key in group.keys(cell)]


class ExperimentsTest(unittest.TestCase):

    def test_no_cell_is_run_twice(self):
        for groups in (experiments.full(), experiments.quick(),
                       experiments.unshaped(experiments.full())):
            found = keys(groups)
            self.assertEqual(len(found), len(set(found)))

    def test_all_of_the_paper_is_there(self):
        groups = experiments.full()
        self.assertEqual({group.experiment for group in groups},
                         set(experiments.NAMES))
        for name in ("exp3", "exp5", "exp7"):
            self.assertEqual({(group.k, group.m, group.k_to, group.object_bytes)
                              for group in groups if group.experiment == name},
                             {(*parameters, size)
                              for parameters in experiments.SETS
                              for size in (MIB, 4 * MIB)})
        self.assertLessEqual({10_000, 1000, 500, 200},
                             {group.link_mbit for group in groups
                              if group.experiment == "exp4"})
        for group in groups:
            for cell in group.cells:
                self.assertIn(cell.scheme, rows.SCHEMES)
                for operation in cell.operations:
                    self.assertIn(operation, rows.OPERATIONS)

    def test_small_values_have_the_defaults_row_beside_them(self):
        for group in experiments.full():
            limits = {cell.threshold_bytes for cell in group.cells}
            self.assertEqual(len(limits), 2 if group.object_bytes < 4096
                             else 1)

    def test_a_full_run_fits_its_time(self):
        guess = sum(progress.seconds_of(group, 10, 60)
                    for group in experiments.full())
        self.assertLess(guess, 5 * 3600)


class ExpectedTest(unittest.TestCase):

    def setUp(self):
        self.analyser = expected.Analyser("not run")
        self.analyser.counted[4, 1, 5] = {
            ("ers2", "backward", "no-order"): (11, 5),
            ("ers2", "forward", "paper"): (8, 4)}
        self.group = experiments.Group("exp2", None, 4, 1, 5, 1000, ())

    def bytes(self, scheme, operation, threshold=0):
        cell = experiments.Cell(scheme, (operation,), threshold)
        return self.analyser.bytes(self.group, cell, operation)

    def test_blocks_and_their_headers(self):
        # 20 blocks of 50 bytes.
        self.assertEqual(self.bytes("ers2-no-order", "forward"), (720, 360))
        self.assertEqual(self.bytes("ers2-no-order", "backward"), (990, 450))
        self.assertEqual(self.bytes("ers2-paper", "put"), (0, 25 * 90))
        self.assertEqual(self.bytes("ers2-paper", "get"), (20 * 90, 0))
        self.assertEqual(self.bytes("reencode", "forward"), (4 * 290, 6 * 240))
        self.assertEqual(self.bytes("reencode", "backward"), (5 * 240, 5 * 290))
        self.assertEqual(self.bytes("rep", "put"), (None, None))
        self.assertEqual(self.bytes("ers2-paper", "put", 4096), (0, 0))


class LinksTest(unittest.TestCase):

    def test_bursts_are_small_below_a_gigabit(self):
        for mbit in (1, 10, 70, 200, 500, 999):
            self.assertLessEqual(bed.link_of(mbit).burst_bytes, 64 << 10)

    def test_a_link_is_within_a_tenth_or_nothing_is_run(self):
        def hold(mbit, *rates, busy=0.5):
            return links.hold(links.Measured(list(rates), busy), mbit)
        self.assertEqual(hold(200, 191, 185, 188), (185, None))
        for rates in ((150, 191), (191, 230)):
            with self.assertRaisesRegex(bed.BedError, "200 Mbit/s carries"):
                hold(200, *rates)
        self.assertEqual(hold(10_000, 9500, 9400), (9400, "no"))
        self.assertEqual(hold(10_000, 9500, 4000, busy=0.95), (4000, "yes"))
        with self.assertRaisesRegex(bed.BedError, "idle"):
            hold(10_000, 9500, 4000)


if __name__ == "__main__":
    unittest.main()
