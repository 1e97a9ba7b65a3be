"""`eval/run --quick`: its rows are whole, sane, and of the analyser's bytes."""

import collections
import os
import statistics
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))
# pylint: disable=wrong-import-position
import rows
from paper import experiments, runner

DEADLINE_S = 280
REPETITIONS = 2


def run(out, *words):
    return subprocess.run(
        [sys.executable, os.path.join(TOP, "eval", "run"), "--quick", "--out",
         out, "--programs", os.environ["PROGRAMS"], *words], check=False,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        timeout=DEADLINE_S)


class QuickTest(unittest.TestCase):

    def run_quick(self, out):
        done = run(out)
        if done.returncode != 0 and "Mbit/s carries" in done.stderr:
            # Others keep the machine so busy that no link can be trusted.
            print(f"again, unshaped: {done.stderr}", file=sys.stderr)
            if os.path.exists(out):
                os.remove(out)
            done = run(out, "--bed", "unshaped")
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stderr, file=sys.stderr)
        return done

    def test_quick(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "rows.csv")
            done = self.run_quick(out)
            found = rows.read(out)
            again = run(out, "--bed", "unshaped" if found[0].bed == "unshaped"
                        else "auto", "--list")
        left_out = (set(experiments.CLOUD) if "no links as in a cloud"
                    in done.stderr else set())
        self.check_cells(found, left_out)
        for row in found:
            with self.subTest(row=row):
                self.check_row(row)
        self.check_interface(found)
        # It would go on where it was: with what it could not run.
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn(f"{2 if left_out else 0} groups", again.stderr)

    def check_cells(self, found, left_out):
        groups = experiments.quick()
        if found[0].bed == "unshaped":
            groups = experiments.unshaped(groups)
        wanted = collections.Counter(
            (key, number) for group in groups
            if group.experiment not in left_out for cell in group.cells
            for key in group.keys(cell) for number in range(REPETITIONS))
        self.assertEqual(collections.Counter(
            (experiments.key_of(row), row.repetition) for row in found), wanted)

    def check_row(self, row):
        self.assertGreater(row.seconds, 0)
        self.assertLess(row.seconds, 60)
        self.assertEqual(row.servers, row.k_to + row.m)
        if row.scheme not in ("rep", "libmemcached-copies"):
            self.assertEqual((row.payload_in, row.payload_out),
                             (row.expected_in, row.expected_out))
            self.assertGreaterEqual(row.socket_in, row.payload_in)
            self.assertGreaterEqual(row.socket_out, row.payload_out)
        if row.link_mbit is not None:
            self.assertAlmostEqual(row.measured_mbit / row.link_mbit, 1,
                                   delta=0.1)
            self.assertLessEqual(row.burst_bytes, 64 << 10)
            self.assertGreater(row.interface_out, row.payload_out or 0)
            # Links cannot be outrun by more than their bursts.
            links = 1 if row.bed == "namespaces" else row.servers
            most = row.link_mbit * 1e6 / 8 * 1.1 * row.seconds
            self.assertLess(row.payload_in or 0,
                            links * (most + row.burst_bytes + 16384))

    def check_interface(self, found):
        ratios = list(filter(None, map(runner.interface_ratio, found)))
        if found[0].bed == "namespaces":
            self.assertAlmostEqual(statistics.median(ratios), 1,
                                   delta=runner.INTERFACE_TOLERANCE)


if __name__ == "__main__":
    unittest.main()
