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


class ChoiceTest(unittest.TestCase):

    def test_other_sets_take_the_place_of_those_of_all_experiments(self):
        groups = experiments.with_sets(experiments.full(), [(6, 2, 8)])
        self.assertEqual({(group.k, group.m, group.k_to) for group in groups},
                         {(6, 2, 8)})
        self.assertEqual({group.experiment for group in groups},
                         set(experiments.NAMES))
        found = keys(groups)
        self.assertEqual(len(found), len(set(found)))

    def test_schemes_and_operations_are_chosen_from_what_there_is(self):
        groups = experiments.only(experiments.full(), ("srs", "rep"),
                                  ("put", "forward"))
        self.assertEqual(
            {(cell.scheme, operation) for group in groups
             for cell in group.cells for operation in cell.operations},
            {("srs", "put"), ("srs", "forward"), ("rep", "put")})
        self.assertNotIn("exp5", {group.experiment for group in groups})

    def test_an_experiment_of_one_s_own_has_what_its_schemes_can_do(self):
        (group,) = experiments.own((500,), [(6, 2, 8)], (MIB,),
                                   ("ers2-optimal", "rs"), ("put", "forward"))
        self.assertEqual(
            [(cell.scheme, cell.operations) for cell in group.cells],
            [("ers2-optimal", ("put", "forward")), ("rs", ("put",))])
        self.assertEqual((group.k, group.m, group.k_to, group.link_mbit),
                         (6, 2, 8, 500))
        self.assertEqual(experiments.own((500,), [(6, 2, 8)], (MIB,), ("rep",),
                                         ("forward",)), [])


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
        self.assertEqual(self.bytes("ers2-no-order", "forward"), (8 * 58, 4 * 58))
        self.assertEqual(self.bytes("ers2-no-order", "backward"), (11 * 58, 5 * 58))
        self.assertEqual(self.bytes("ers2-paper", "put"), (0, 25 * 58))
        self.assertEqual(self.bytes("ers2-paper", "get"), (20 * 58, 0))
        self.assertEqual(self.bytes("reencode", "forward"), (4 * 258, 6 * 208))
        self.assertEqual(self.bytes("reencode", "backward"), (5 * 208, 5 * 258))
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
