"""The cloud profile is the same for the same seed, uneven, and has stragglers."""

import os
import sys
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))
# pylint: disable=wrong-import-position
from testbed import cloud


class CloudTest(unittest.TestCase):

    def test_profiles(self):
        made = cloud.profiles(17, 5)
        self.assertEqual(made, cloud.profiles(17, 5))
        self.assertNotEqual(made, cloud.profiles(17, 6))
        # A smaller cluster has the same links.
        self.assertEqual(made[:6], cloud.profiles(6, 5))
        stragglers = [i for i, profile in enumerate(made) if profile.jitter_ms]
        self.assertEqual(stragglers, [0, 8, 16])
        others = [profile.mbit for profile in made if not profile.jitter_ms]
        self.assertGreater(len(set(others)), 1)
        self.assertGreaterEqual(min(others), cloud.LEAST_MBIT)
        for number in stragglers:
            self.assertLessEqual(made[number].mbit, cloud.MOST_MBIT / 4)

    def test_both_directions_are_held_back_alike(self):
        toxics = cloud.Profile(80, 3, 1).toxics()
        self.assertEqual([(kind, stream, what.get("rate"))
                          for kind, stream, what in toxics],
                         [("bandwidth", "upstream", 10_000),
                          ("bandwidth", "downstream", 10_000),
                          ("latency", "downstream", None)])


if __name__ == "__main__":
    unittest.main()
