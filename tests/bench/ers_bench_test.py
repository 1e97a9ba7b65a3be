"""Runs ers-bench on real servers: its rows, its exit codes, its children.

usage: ers_bench_test.py PATH-OF-ERS-BENCH
"""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = ""
STORE_HEADER = "case,impl,scheme,bytes,median_us,min_us,max_us"


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True,
                          text=True, timeout=300, check=False)


def output_of(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("not in time")
        # Between two checks of what sends no event: the condition decides.
        time.sleep(0.01)


class Store(unittest.TestCase):
    def test_every_case_and_implementation_has_its_row(self):
        text = output_of("store", "--scheme", "ers2:2,1,3", "--size", "50000",
                         "--reps", "3", "--format", "csv")
        self.assertEqual(text.splitlines()[0], STORE_HEADER)
        content = ("libers", "columns", "rep", "one-by-one", "srs")
        bare = ("bare", "bare-columns")
        moves = ("libers", "columns", "one-by-one", "srs", "reencode")
        expected = {(case, impl) for case, impls in (
            ("put", ("plain", "copies", *bare, *content)),
            ("get", ("libers-reuse", "plain", *bare, *content)),
            ("update", ("plain", "copies", *content)),
            ("forward", moves), ("backward", moves)) for impl in impls}
        rows = rows_of(text)
        self.assertEqual({(row["case"], row["impl"]) for row in rows},
                         expected)
        self.assertEqual(len(rows), len(expected))
        for row in rows:
            self.assertEqual(row["bytes"], "50000")
            self.assertGreater(float(row["min_us"]), 0)
            self.assertLessEqual(float(row["min_us"]), float(row["median_us"]))
            self.assertLessEqual(float(row["median_us"]), float(row["max_us"]))
        schemes = {row["impl"]: row["scheme"] for row in rows}
        self.assertEqual(schemes, {
            "libers": "ers2:2,1,3", "libers-reuse": "ers2:2,1,3",
            "columns": "ers2:2,1,3",
            "bare": "ers2:2,1,3", "bare-columns": "ers2:2,1,3",
            "plain": "none", "copies": "rep:2", "rep": "rep:2",
            "one-by-one": "ers2:2,1,3", "srs": "srs:2,1,3",
            "reencode": "rs:2,1"})

    def test_parity_is_added_and_dropped_beside_writing_anew(self):
        text = output_of("parity", "--scheme", "ers2:2,1,3", "--to", "3",
                         "--size", "50000", "--reps", "3", "--format", "csv")
        self.assertEqual(text.splitlines()[0], STORE_HEADER)
        self.assertEqual(
            [(row["case"], row["impl"], row["scheme"])
             for row in rows_of(text)],
            [("forward", "libers", "ers2:2,1,3"),
             ("forward", "reencode", "ers1:2,1,3"),
             ("backward", "libers", "ers2:2,1,3"),
             ("backward", "reencode", "ers1:2,1,3")])

    def test_the_choice_of_cases_and_implementations_is_kept(self):
        text = output_of("store", "--size", "1000", "--reps", "1", "--cases",
                         "get,put", "--impls", "plain", "--format", "json",
                         "--seed", "5")
        rows = json.loads(text)
        self.assertEqual([(row["case"], row["impl"]) for row in rows],
                         [("put", "plain"), ("get", "plain")])
        self.assertEqual(list(rows[0]), STORE_HEADER.split(","))

    def test_bad_use_is_exit_code_2_and_names_the_fault(self):
        for arguments, word in (
                (("store",), "--size"),
                (("store", "--size", "0"), "--size"),
                (("store", "--size", "9", "--scheme", "ers2:5,1,4"), "5,1,4"),
                (("store", "--size", "9", "--impls", "paper"), "paper"),
                (("store", "--size", "9", "--cases", "move"), "move"),
                (("store", "--size", "9", "--scheme", "rs:2,1", "--cases",
                  "forward"), "elastic"),
                (("store", "--size", "9", "--servers", "nowhere", "--impls",
                  "plain"), "nowhere"),
                (("parity", "--size", "9", "--to", "1"), "another m"),
                (("parity", "--size", "9", "--scheme", "rs:4,1"), "elastic"),
                (("check", "--reps", "5"), "--reps"),
                (("code", "--k-min", "0"), "--k-min"), ((), "command is missing")):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(word, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_servers_that_do_not_answer_are_exit_code_3(self):
        done = run("store", "--size", "9", "--servers", "127.0.0.1:1",
                   "--impls", "plain", "--reps", "1")
        self.assertEqual(done.returncode, 3)
        self.assertIn("127.0.0.1:1", done.stderr)

    def test_help_and_version(self):
        self.assertIn("check", output_of("--help"))
        self.assertRegex(output_of("--version"), r"^ers-bench \d+\.\d+\.\d+$")


class Code(unittest.TestCase):
    def test_rows(self):
        text = output_of("code", "--reps", "1", "--k-max", "4", "--m-max", "1",
                         "--block-bytes", "4096", "--format", "csv")
        self.assertEqual(text.splitlines()[0],
                         "k,m,block_bytes,impl,gb_per_s,min_gb_per_s,"
                         "max_gb_per_s,over_raw")
        self.assertLessEqual({"raw", "gf-complete", "put"},
                             {row["impl"] for row in rows_of(text)})


class Codes(unittest.TestCase):
    def test_rows(self):
        text = output_of("codes", "--reps", "1", "--sizes", "4096,65536",
                         "--format", "csv")
        self.assertEqual(text.splitlines()[0],
                         "code,k,m,w,object_bytes,block_bytes,us,min_us,"
                         "max_us,gb_per_s")
        self.assertEqual(
            [(row["code"], row["object_bytes"]) for row in rows_of(text)],
            [(code, size) for size in ("4096", "65536") for code in (
                "none", "isal", "rs", "rs-16", "cauchy-rs", "liberation")])

    def test_a_stripe_that_no_code_has(self):
        done = run("codes", "--k", "1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no code has k=1", done.stderr)


class Children(unittest.TestCase):
    """However it ends, its servers end with it."""

    def end_by(self, number):
        # A killed process cannot tidy up after itself.
        folder = tempfile.TemporaryDirectory(prefix="ers-bench-test-")
        self.addCleanup(folder.cleanup)
        with subprocess.Popen(
                [PROGRAM, "store", "--size", "100000", "--reps", "1000000",
                 "--impls", "plain", "--cases", "put"],
                env={**os.environ, "TMPDIR": folder.name},
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as bench:
            wait_until(lambda: len(children(bench.pid)) == 6)
            servers = children(bench.pid)
            # Past the fork, each is memcached and no longer the benchmark.
            wait_until(lambda: all(
                os.readlink(f"/proc/{pid}/exe").endswith("memcached")
                for pid in servers))
            bench.send_signal(number)
            code = bench.wait(timeout=60)
            wait_until(lambda: not any(map(is_running, servers)))
            return code

    def test_interrupted(self):
        self.assertEqual(self.end_by(signal.SIGINT), 130)

    def test_terminated(self):
        self.assertEqual(self.end_by(signal.SIGTERM), 130)

    def test_killed(self):
        self.assertEqual(self.end_by(signal.SIGKILL), -signal.SIGKILL)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
