"""What eval/rebuild/measure reports of real servers that are rebuilt."""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
MEASURE = os.path.join(TOP, "eval", "rebuild", "measure")
OBJECTS, BYTES = 16, 100_000
DEADLINE_S = 120


def command(*words):
    return [sys.executable, "-B", MEASURE, "--program",
            os.environ["REBUILD_LOAD"], "--rounds", "1", "--memory", "64",
            "--bytes", str(BYTES), *words]


def processes_of(folder):
    """Those that have a file of it open: servers have their logs there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            files = [os.readlink(f"/proc/{pid}/fd/{fd}")
                     for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        if any(name.startswith(folder) for name in files):
            found.append(int(pid))
    return found


def can_shape():
    """May it make namespaces, and shape what leaves by a device?"""
    return subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--mount-proc", "tc", "qdisc",
         "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "16kb",
         "latency", "1ms"], stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False).returncode == 0


class RebuildMeasureTest(unittest.TestCase):

    def test_it_reads_what_a_rebuild_reads_and_no_object_is_lost(self):
        # It ends with an error where a rebuild reads other bytes than the
        # reading beside it, loses an object or leaves a server out.
        result = subprocess.run(
            command("--objects", str(OBJECTS)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
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

    def test_links_carry_no_more_than_they_are_given(self):
        if not can_shape():
            self.skipTest("no network namespaces or traffic shaping here")
        mbit = 100
        result = subprocess.run(
            command("--objects", "64", "--get-rounds", "1", "--link-mbit",
                    str(mbit)), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, check=True, text=True, timeout=DEADLINE_S)
        rows = list(csv.DictReader(result.stdout.splitlines()))
        self.assertEqual(len(rows), 4)
        for row in rows:
            with self.subTest(row=row):
                # Bursts come on top.
                self.assertLess(float(row["read_MBps"]), 1.2 * mbit / 8)

    def test_a_user_that_may_not_shape_links_gets_an_error(self):
        words = command("--objects", "1", "--link-mbit", "100")
        if os.geteuid() == 0:
            words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--",
                     *words]
        result = subprocess.run(words, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, check=False, text=True,
                                timeout=DEADLINE_S)
        self.assertEqual(result.returncode, 3)
        self.assertIn("run it as root", result.stderr)

    def check_interrupted(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            with subprocess.Popen(
                    command("--objects", "4", "--rounds", "1000", *options),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                    env={**os.environ, "TMPDIR": folder}) as measure:
                try:
                    for _ in range(2):  # the names, and a row: servers run
                        self.assertTrue(measure.stdout.readline())
                    self.assertTrue(processes_of(folder))
                    measure.send_signal(signal.SIGTERM)
                    self.assertEqual(measure.wait(DEADLINE_S),
                                     128 + signal.SIGTERM)
                finally:
                    measure.kill()
            self.assertEqual(processes_of(folder), [])
            self.assertEqual(os.listdir(folder), [])

    def test_interrupted_it_leaves_no_server_behind(self):
        self.check_interrupted()

    def test_interrupted_it_leaves_no_shaped_server_behind(self):
        if not can_shape():
            self.skipTest("no network namespaces or traffic shaping here")
        self.check_interrupted("--link-mbit", "1000", "--get-rounds", "1")


if __name__ == "__main__":
    unittest.main()
