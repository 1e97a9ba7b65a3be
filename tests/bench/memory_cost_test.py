"""What values cost of the memory of real servers."""

import json
import os
import subprocess
import sys
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
MEASURE = os.path.join(TOP, "eval", "memory-cost", "measure")
MIB = 1 << 20
DEADLINE_S = 120


def measure(*words):
    result = subprocess.run(
        [sys.executable, "-B", MEASURE, *words, "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
        timeout=DEADLINE_S)
    return json.loads(result.stdout)


class MemoryCostTest(unittest.TestCase):

    def test_a_value_of_1_mib_costs_little_more_than_its_code(self):
        rows = measure("schemes", "--scheme", "ers2:4,1,5", "--values",
                       str(MIB), "--objects", "4")
        self.assertEqual([(row["width"], row["code"]) for row in rows],
                         [("narrow", 1.25), ("wide", 1.2)])
        for row in rows:
            with self.subTest(row=row):
                self.assertGreater(row["items_over_code"], 1)
                self.assertLess(row["items_over_code"], 1.02)

    def test_blocks_of_half_a_page_fit_and_those_above_a_third_do_not(self):
        rows = {row["block_bytes"]: row["pages_per_byte"]
                for row in measure("blocks")}
        self.assertLess(rows[MIB // 2], 1.01)
        self.assertGreater(rows[320 << 10], 1.5)

    def test_the_advice_for_long_values_holds(self):
        rows = measure("blocks", "--memcached=-o slab_chunk_max=16384")
        worst = max(row["pages_per_byte"] for row in rows
                    if row["block_bytes"] >= 64 << 10)
        self.assertLess(worst, 1.05)


if __name__ == "__main__":
    unittest.main()
