"""What eval/rebuild/measure tells of real servers that are rebuilt."""

import csv
import os
import subprocess
import sys
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
MEASURE = os.path.join(TOP, "eval", "rebuild", "measure")
OBJECTS, BYTES = 16, 100_000
DEADLINE_S = 120


class RebuildMeasureTest(unittest.TestCase):

    def test_it_reads_what_a_rebuild_reads_and_no_object_is_lost(self):
        # It ends with an error where a rebuild reads other bytes than the
        # reading beside it, loses an object or leaves a server out.
        result = subprocess.run(
            [sys.executable, "-B", MEASURE, "--program",
             os.environ["REBUILD_LOAD"], "--rounds", "1", "--memory", "64",
             "--objects", str(OBJECTS), "--bytes", str(BYTES)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
            text=True, timeout=DEADLINE_S)
        rows = list(csv.DictReader(result.stdout.splitlines()))
        self.assertEqual(
            sorted((row["scheme"], row["servers"], row["lost"])
                   for row in rows),
            [("ers2:4,1,5", "7", "1"), ("ers2:4,3,5", "9", "1"),
             ("ers2:4,3,5", "9", "2"), ("ers2:4,3,5", "9", "3")])
        for row in rows:
            with self.subTest(row=row):
                read = int(row["bytes_read"])
                self.assertGreater(read, int(row["bytes_written"]))
                # Once, however many servers are lost.
                self.assertLess(read, 1.1 * OBJECTS * BYTES)
                self.assertGreater(float(row["ratio"]), 0)


if __name__ == "__main__":
    unittest.main()
