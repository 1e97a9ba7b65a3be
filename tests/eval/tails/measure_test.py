"""eval/tails/measure, on real servers: round trips come to what the relay
counts, one row is run alone, and nothing is left running."""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..",
                                    ".."))
MEASURE = os.path.join(TOP, "eval", "tails", "measure")
PROGRAMS = os.environ["PROGRAMS"]
DEADLINE_S = 240


def of_folder(folder):
    """Processes that have a file of it open: all that a row starts logs
    there, or is given a file there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read()
            files = [os.readlink(f"/proc/{pid}/fd/{fd}")
                     for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        if folder.encode() in command or any(
                name.startswith(folder) for name in files):
            found.append(int(pid))
    return found


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8",
                  errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class MeasureTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def measure(self, *words):
        return subprocess.run(
            [sys.executable, "-B", MEASURE, "--programs", PROGRAMS, "--quick",
             *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=DEADLINE_S,
            env={**os.environ, "TMPDIR": self.folder})

    def test_round_trips_take_as_long_as_so_many_delays(self):
        rows = os.path.join(self.folder, "rows.csv")
        done = self.measure("--row", "round-trips", "--out", rows)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(rows, encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        self.assertEqual({row["row"] for row in found}, {"round-trips"})
        values = {row["figure"]: float(row["value"]) for row in found}
        for what in ("PUT", "inline SET", "PUT of a key changed last",
                     "transition"):
            for failures in (1, 3):
                name = f"{what}, f = {failures}: "
                with self.subTest(name):
                    counted = values[name + "counted"]
                    self.assertGreaterEqual(counted, 1)
                    self.assertLessEqual(counted, 12)
                    took = values[name + "least time over 2 ms"]
                    self.assertGreaterEqual(took, counted - 0.5)
        self.assertIn("round-trips: all servers 2 ms away", done.stdout)
        self.assertEqual(of_folder(self.folder), [])

    def test_what_is_ended_twice_leaves_nothing_running(self):
        with subprocess.Popen(
                [sys.executable, "-B", MEASURE, "--programs", PROGRAMS,
                 "--quick", "--row", "frozen"], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, "TMPDIR": self.folder}) as process:
            end = time.monotonic() + DEADLINE_S
            while not any("ersproxy" in command_of(pid)
                          for pid in of_folder(self.folder)):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)  # until all is started
            # The second comes while it ends what it started.
            running = len(of_folder(self.folder))
            process.send_signal(signal.SIGTERM)
            while len(of_folder(self.folder)) >= running:
                self.assertLess(time.monotonic(), end)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE_S), 143)
        self.assertEqual(of_folder(self.folder), [])

    def test_what_is_not_installed_is_skipped_aloud(self):
        done = self.measure("--row", "late", "--system", "nutcracker")
        if "skipped" not in done.stdout:
            self.skipTest("nutcracker is installed")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nutcracker is not installed", done.stdout)

    def test_programs_that_are_not_there_are_named(self):
        done = subprocess.run(
            [sys.executable, "-B", MEASURE, "--programs", self.folder],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"\Aeval/tails/measure: .*/ersproxy: "
                         r"there is no such program.*\n\Z")


if __name__ == "__main__":
    unittest.main()
