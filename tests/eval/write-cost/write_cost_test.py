"""Parts of a write's time, from rows that no machine made, and from real ones."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
FOLDER = os.path.join(TOP, "eval", "write-cost")
sys.path[:0] = [os.path.dirname(HERE), FOLDER, os.path.join(TOP, "eval")]

import needs  # noqa: E402, after the path
import shares  # noqa: E402
import steps  # noqa: E402

PROGRAMS = os.environ.get("PROGRAMS",
                          os.path.join(TOP, "build", "release", "bin"))
DEADLINE_S = 120


def write(seconds, link_mbit=1000.0, object_bytes=4096, **traced):
    given = dict.fromkeys(steps.TRACED, 0.0)
    given.update({"total": seconds, **traced})
    return steps.Write(
        time="2026-01-01T00:00:00Z", revision="r", host="h", bed="namespaces",
        link_mbit=link_mbit, measured_mbit=link_mbit, scheme="rs:4,2",
        object_bytes=object_bytes, repetition=0, seconds=seconds,
        **{"server": 0.0, **given})


def run(program, *words):
    return subprocess.run(
        [os.path.join(FOLDER, program), *words], check=False, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S)


class SharesTest(unittest.TestCase):

    def test_parts_add_up_though_steps_overlap(self):
        parts = shares.parts_of(write(
            0.010, receive=0.006, distribute=0.008, split=0.001, parity=0.0005,
            server=0.0005, total=0.009))
        self.assertAlmostEqual(sum(parts.values()), 0.010)
        # A millisecond outside of the daemon, six on the way to it.
        self.assertAlmostEqual(parts["client"], 0.007)
        self.assertAlmostEqual(parts["distribution"], 0.001)

    def test_what_the_network_decides_is_predicted_by_bandwidth(self):
        # 20 us and 1 MiB for each part of the network, 100 us of server.
        writes = []
        for mbit in (200, 1000, 10000):
            way = 20e-6 + 8.388608 / mbit
            writes.append(write(2 * way + 100e-6, link_mbit=float(mbit),
                                receive=way, server=100e-6))
        parts = shares.predict(shares.cells(writes), 4096)
        for name in shares.NETWORK:
            self.assertAlmostEqual(parts[name], 20e-6 + 83.88608e-6, places=8)
        self.assertAlmostEqual(parts["server"], 100e-6)

    def test_nothing_is_predicted_from_one_bandwidth(self):
        self.assertIsNone(shares.predict(shares.cells([write(1.0)]), 4096))

    def test_a_larger_object_is_not_predicted_to_take_less(self):
        writes = [write(1e-3 * size / mbit + (1e-3 if size == 1 else 0),
                        link_mbit=float(mbit), object_bytes=size)
                  for mbit in (200, 1000) for size in (1, 2)]
        found = shares.cells(writes)
        small, large = (shares.predict(found, size) for size in (1, 2))
        self.assertGreaterEqual(large["distribution"], small["distribution"])


class PageTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.page = os.path.join(self.folder, "page.md")

    def made(self, *words):
        done = run("report", *words, "--page", self.page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.page, encoding="utf-8") as file:
            return file.read()

    def test_real_writes_through_the_daemon_make_a_page(self):
        done = run("measure", "--bed", "unshaped", "--reps", "1", "--sizes",
                   "4096", "65536", "--programs", PROGRAMS, "--out",
                   self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        writes = steps.load(os.path.join(self.folder, "writes.csv"))
        self.assertEqual({w.object_bytes for w in writes}, {4096, 65536})
        for one in writes:
            self.assertGreater(one.seconds, 0)
            self.assertGreater(one.total, one.distribute)
            self.assertGreater(one.distribute, 0)
            self.assertGreater(one.server, 0)
        page = self.made(self.folder, "--no-figures")
        self.assertIn("| unshaped | 64 KiB |", page)
        self.assertIn("Liberation", page)
        self.assertNotIn("predicted", page.split("## Five parts")[1])

    def test_the_page_is_that_of_the_rows(self):
        with open(os.path.join(TOP, "docs", "evaluation", "write-cost.md"),
                  encoding="utf-8") as file:
            kept = re.sub(r"!\[.*\n\n\[As SVG\].*\n\n", "", file.read())
        self.assertEqual(self.made("--no-figures"), kept,
                         "run eval/write-cost/report")

    @needs.module("matplotlib", "python3-matplotlib")
    def test_the_page_shows_its_figure(self):
        self.assertIn("figures/write-cost/parts.png", self.made())
        self.assertTrue(os.path.getsize(os.path.join(
            self.folder, "figures", "write-cost", "parts.svg")))

    def test_what_are_no_rows_is_refused_in_one_sentence(self):
        with open(os.path.join(self.folder, "writes.csv"), "w",
                  encoding="utf-8") as file:
            file.write("a,b\n")
        done = run("report", self.folder, "--page", self.page)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Aeval/write-cost/report: .*\n\Z")


if __name__ == "__main__":
    unittest.main()
