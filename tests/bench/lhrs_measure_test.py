"""What eval/lhrs/measure reports of each scenario of LH*RS, on real
servers."""

import csv
import os
import subprocess
import sys
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
MEASURE = os.path.join(TOP, "eval", "lhrs", "measure")
RECORDS, BYTES = 20, 4096
DEADLINE_S = 300


class LhrsMeasureTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        result = subprocess.run(
            [sys.executable, "-B", MEASURE, "--programs",
             os.environ["ERS_PROGRAMS"], "--reps", "1", "--records",
             str(RECORDS), "--bytes", str(BYTES), "--memory", "64", "--links",
             "loopback"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
            text=True, timeout=DEADLINE_S)
        cls.rows = list(csv.DictReader(result.stdout.splitlines()))

    def test_rows_name_the_network(self):
        for row in self.rows:
            self.assertEqual((row["bed"], row["link_mbit"]), ("unshaped", ""))
            self.assertTrue(row["tcp"])

    def cases(self, scenario):
        return [(row["case"], int(row["in_flight"]))
                for row in self.rows if row["scenario"] == scenario]

    def test_files_are_made_without_parity_and_with_up_to_three(self):
        self.assertEqual(
            self.cases("creation"),
            [("0 parity", 1)] + [(f"{m} parity", in_flight) for m in (1, 2, 3)
                                 for in_flight in (1, 32)])
        self.assertEqual(self.cases("search"), [("", 1), ("", 32)])

    def test_a_further_parity_reads_all_data_and_writes_itself(self):
        rows = [row for row in self.rows
                if row["scenario"] == "parity creation"]
        self.assertEqual(len(rows), 8)
        for row in rows:
            data = int(row["records"]) * BYTES
            self.assertEqual(int(row["bytes_read"]), data)
            self.assertEqual(int(row["bytes_written"]), data // 4)

    def test_one_to_three_servers_are_recovered_slice_by_slice(self):
        self.assertEqual(
            self.cases("recovery"),
            [(f"{lost} lost", at_a_time) for lost in (1, 2, 3)
             for at_a_time in (1, 8, 32, 128)])
        for row in self.rows:
            if row["scenario"] == "recovery":
                self.assertGreater(int(row["bytes_written"]), 0)
        self.assertEqual(self.cases("record recovery"),
                         [("normal", 1), ("degraded", 1)])


if __name__ == "__main__":
    unittest.main()
