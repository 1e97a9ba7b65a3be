"""Rows that are written read back the same; other files are refused."""

import dataclasses
import os
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))
# pylint: disable=wrong-import-position
import rows

ROW = rows.Row(
    time="2026-01-02T03:04:05Z", revision="c138f48", host="quiet, 2 cores",
    seed=7, experiment="exp2", bed="namespaces", link_mbit=200.0,
    measured_mbit=191.25, burst_bytes=65536, cpu_limited=None,
    tcp="cubic",
    threshold_bytes=0, k=4, m=1, k_to=5, servers=6, scheme="ers2-paper",
    operation="forward", object_bytes=1048576, repetition=0, seconds=0.1,
    blocks_read=8, blocks_written=4, block_bytes=52429, payload_in=419752,
    payload_out=209876, socket_in=420100, socket_out=210900,
    interface_in=430000, interface_out=215000, expected_in=419752,
    expected_out=209876)
UNSHAPED = dataclasses.replace(ROW, bed="unshaped", link_mbit=None,
                               measured_mbit=None, burst_bytes=None,
                               host='say "no", or not', repetition=1)


class RowsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "some", "rows.csv")

    def test_what_is_appended_reads_back(self):
        rows.append(self.path, [ROW])
        rows.append(self.path, [UNSHAPED])
        self.assertEqual(rows.read(self.path), [ROW, UNSHAPED])
        self.assertEqual(rows.read_folder(os.path.dirname(self.path)),
                         [ROW, UNSHAPED])

    def test_a_row_that_was_cut_off_is_left_out_and_written_over(self):
        rows.append(self.path, [ROW, UNSHAPED])
        with open(self.path, "rb+") as file:
            file.truncate(os.path.getsize(self.path) - 5)
        self.assertEqual(rows.read(self.path), [ROW])
        rows.append(self.path, [UNSHAPED])
        self.assertEqual(rows.read(self.path), [ROW, UNSHAPED])

    def test_other_files_are_refused(self):
        rows.append(self.path, [ROW])
        with open(self.path, encoding="utf-8") as file:
            good = file.read()
        for bad, why in ((good.replace("seconds", "minutes"), "columns"),
                         (good.replace("exp2,", ""), "cells"),
                         (good.replace("1048576", "1 MiB"), "object_bytes"),
                         (good.replace("ers2-paper", "ers3"), "scheme"),
                         (good.replace(",7,", ",,"), "seed")):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(bad)
            with self.assertRaisesRegex((rows.RowError), why):
                rows.read(self.path)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("a,b\n1,2\n")
        with self.assertRaises(rows.RowError):
            rows.append(self.path, [ROW])

    def test_only_known_names_are_written(self):
        with self.assertRaisesRegex(rows.RowError, "operation"):
            rows.append(self.path, [dataclasses.replace(ROW,
                                                        operation="sing")])


if __name__ == "__main__":
    unittest.main()
