"""Figures and verdicts come from the rows: where a claim holds, where it does
not, and where nothing was measured."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import needs  # noqa: E402, after the path
from synthetic import (GOOD, MIB, PAPER_MBIT, TOP, FixedAnalyser, everything,
                       row, rows, sample, transitions)

from reporting import catalogue, claims
from reporting.samples import Measured, Setting, reduction
from reporting.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_MEASURED

REPORT = os.path.join(TOP, "eval", "report")
DEADLINE_S = 120


def judge(check, found):
    """By all cells that it reads."""
    tally = check(Measured(found), FixedAnalyser())
    return tally.verdict(lambda _setting: True)


def judge_claim(name, found):
    (claim,) = (claim for claim in catalogue.ALL if claim.name == name)
    return claim.judge(Measured(found), FixedAnalyser())


class ClaimsTest(unittest.TestCase):

    def test_nothing_is_said_without_rows(self):
        for claim in catalogue.ALL:
            with self.subTest(claim=claim.name):
                self.assertEqual(judge_claim(claim.name, []).state,
                                 NOT_MEASURED)

    def test_rows_of_all_experiments_leave_no_claim_unmeasured(self):
        for claim in catalogue.ALL:
            with self.subTest(claim=claim.name):
                self.assertIn(judge_claim(claim.name, everything()).state,
                              (HOLDS, FAILS))

    def test_other_links_stand_beside_the_paper_s_and_decide_nothing(self):
        # Gains of 70 % on a slow link, of 50 % on the paper's.
        slow = transitions({"srs": 0.1, "ers2-paper": 0.03},
                           experiment="exp3", object_bytes=4 * MIB)
        fast = transitions({"srs": 0.1, "ers2-paper": 0.05},
                           experiment="exp3", object_bytes=4 * MIB,
                           link_mbit=PAPER_MBIT)
        verdict = judge_claim("forward-most", slow + fast)
        self.assertEqual(verdict.state, FAILS)
        self.assertIn("at most 50.0 %; 0 of 1", verdict.measured)
        self.assertEqual(verdict.beside,
                         "200 Mbit/s: at most 70.0 % (1 of 1)")
        self.assertEqual(judge_claim("forward-most", slow).state, NOT_MEASURED)

    def test_other_sets_than_the_paper_s_decide_nothing(self):
        def of(parameters, after):
            return transitions(
                {"srs": 0.1, "ers2-paper": after}, experiment="exp3",
                link_mbit=PAPER_MBIT, **dict(zip(("k", "m", "k_to"),
                                                 parameters)))
        verdict = judge_claim("forward-most",
                              of((4, 1, 5), 0.05) + of((6, 1, 8), 0.01))
        self.assertEqual(verdict.state, FAILS)
        self.assertIn("at most 50.0 %", verdict.measured)

    def test_the_paper_s_replication_is_libmemcached_s(self):
        # Coding is faster than copies by libers, and slower than the others.
        for name, operation in (("copies-write-faster", "put"),
                                ("copies-read-faster", "get")):
            found = [r for scheme, seconds in (
                ("rep", 0.2), ("srs", 0.1), ("libmemcached-copies", 0.05))
                     for r in sample(seconds, experiment="exp1", scheme=scheme,
                                     operation=operation, link_mbit=PAPER_MBIT)]
            with self.subTest(claim=name):
                verdict = judge_claim(name, found)
                self.assertEqual(verdict.state, HOLDS)
                self.assertIn("2.00 to 2.00 of the time of copies by "
                              "libmemcached", verdict.measured)
                without = [r for r in found
                           if r.scheme != "libmemcached-copies"]
                self.assertEqual(judge_claim(name, without).state,
                                 NOT_MEASURED)

    def test_what_differs_in_tcp_is_not_compared(self):
        local = transitions({"srs": 0.1, "ers2-paper": 0.05},
                            experiment="exp3", link_mbit=PAPER_MBIT)
        for tcp, state in (("cubic", HOLDS), ("bbr", NOT_COMPARABLE)):
            with self.subTest(tcp=tcp):
                cloud = transitions({"srs": 0.1, "ers2-paper": 0.04},
                                    experiment="exp7", bed="cloud",
                                    link_mbit=None, tcp=tcp)
                verdict = judge_claim("cloud-small-sets", local + cloud)
                self.assertEqual(verdict.state, state)
        self.assertIn("the cloud's rows are under bbr, the local ones under "
                      "cubic", verdict.measured)

    def test_sizes_and_links_under_another_tcp_are_no_steps(self):
        small = sample(0.1, experiment="exp1", operation="put",
                       object_bytes=1024, tcp="bbr")
        large = sample(0.2, experiment="exp1", operation="put")
        self.assertEqual(judge(claims.grows_with_size, small + large).state,
                         NOT_MEASURED)
        slow = transitions({"srs": 0.1, "ers1": 0.05}, tcp="bbr")
        fast = transitions({"srs": 0.1, "ers1": 0.05}, link_mbit=500.0)
        self.assertEqual(
            judge(claims.gains_grow_on_slow_links, slow + fast).state,
            NOT_MEASURED)

    def test_another_tcp_is_named_beside_what_it_gave(self):
        found = transitions({"srs": 0.1, "ers1": 0.05}, experiment="exp6",
                            bed="cloud", link_mbit=None, tcp="bbr")
        self.assertIn("; under bbr",
                      judge_claim("cloud-over-srs", found).measured)

    def test_time_may_fall_8_points_behind_blocks_at_1_mib_and_5_at_4(self):
        # Blocks read fall by 60 %.
        for size, seconds, state in ((MIB, 0.0479, HOLDS), (MIB, 0.0481, FAILS),
                                     (4 * MIB, 0.0449, HOLDS),
                                     (4 * MIB, 0.0451, FAILS)):
            with self.subTest(size=size, seconds=seconds):
                found = transitions({"srs": 0.1, "ers2-paper": seconds},
                                    object_bytes=size)
                verdict = judge(claims.time_follows_blocks, found)
                self.assertEqual(verdict.state, state)
                self.assertEqual(len(verdict.misses),
                                 2 if state == FAILS else 0)

    def test_fast_links_do_not_count_where_slow_ones_are_claimed(self):
        found = transitions(GOOD, link_mbit=10000.0)
        for check in (claims.time_follows_blocks, claims.order_of_schemes):
            self.assertEqual(judge(check, found).state, NOT_MEASURED)

    def test_schemes_with_equal_blocks_may_differ_by_5_per_cent(self):
        for last, state in ((0.0418, HOLDS), (0.0383, HOLDS), (0.0425, FAILS),
                            (0.037, FAILS)):
            with self.subTest(last=last):
                found = transitions({**GOOD, "ers2-optimal": last})
                self.assertEqual(judge(claims.order_of_schemes, found).state,
                                 state)

    def test_schemes_with_fewer_blocks_must_be_faster(self):
        found = transitions({**GOOD, "ers1": 0.101})
        verdict = judge(claims.order_of_schemes, found)
        self.assertEqual(verdict.state, FAILS)
        self.assertIn("ers1 over srs", verdict.misses[0][0])

    def test_copies_are_those_that_survive_as_many_failures(self):
        found = sample(0.1, operation="put", scheme="rep", m=1, k=1, k_to=1)
        found += sample(0.2, operation="put", scheme="rep", m=2, k=1, k_to=1)
        found += sample(0.15, operation="put", scheme="rs", m=2)
        verdict = judge(claims.coding_writes_faster, found)
        self.assertEqual(verdict.state, HOLDS)
        self.assertIn("0.75 to 0.75", verdict.measured)

    def test_reading_may_take_a_tenth_more_than_of_copies(self):
        for seconds, state in ((0.109, HOLDS), (0.111, FAILS)):
            found = sample(0.1, operation="get", scheme="rep")
            found += sample(seconds, operation="get", scheme="rs")
            self.assertEqual(judge(claims.coding_reads_as_fast, found).state,
                             state)

    def test_reading_out_of_a_link_s_burst_does_not_count(self):
        # 64 KiB take 0.52 ms at 1 Gbit/s.
        for copies, state in ((0.00025, NOT_MEASURED), (0.00027, FAILS)):
            found = sample(copies, operation="get", scheme="rep",
                           object_bytes=64 << 10, link_mbit=1000.0)
            found += sample(2 * copies, operation="get", scheme="rs",
                            object_bytes=64 << 10, link_mbit=1000.0)
            self.assertEqual(judge(claims.coding_reads_as_fast, found).state,
                             state)

    def test_cells_that_do_not_count_are_reported(self):
        found = []
        for size, copies, coded in ((64 << 10, 0.0001, 0.0002),
                                    (MIB, 0.009, 0.009)):
            found += sample(copies, operation="get", scheme="rep",
                            object_bytes=size, link_mbit=1000.0)
            found += sample(coded, operation="get", scheme="rs",
                            object_bytes=size, link_mbit=1000.0)
        verdict = judge(claims.coding_reads_as_fast, found)
        self.assertEqual(verdict.state, HOLDS)
        self.assertIn("1.00 to 1.00 of the time of copies by libers (beside 2.00 "
                      "to 2.00 in 1 that", verdict.measured)

    def test_reading_over_the_servers_links_must_be_faster(self):
        for seconds, state in ((0.099, HOLDS), (0.101, FAILS)):
            found = sample(0.1, operation="get", scheme="rep",
                           bed="server-links")
            found += sample(seconds, operation="get", scheme="rs",
                            bed="server-links")
            verdict = judge(claims.coding_reads_faster_over_servers, found)
            self.assertEqual(verdict.state, state)
            # The other claim is about the client's link.
            self.assertEqual(judge(claims.coding_reads_as_fast, found).state,
                             NOT_MEASURED)

    def test_bytes_beside_the_count_are_reported(self):
        for moved, state in ((1005, HOLDS), (1020, FAILS)):
            found = transitions(GOOD, payload_in=moved)
            self.assertEqual(judge(claims.bytes_as_counted, found).state,
                             state)

    def test_interfaces_beside_the_sockets_are_reported(self):
        for counted, state in ((1_040_000, HOLDS), (1_060_000, FAILS)):
            found = transitions(GOOD, socket_in=600_000, socket_out=400_000,
                                interface_in=counted, interface_out=0)
            self.assertEqual(judge(claims.interfaces_agree, found).state,
                             state)
        few = transitions(GOOD, socket_in=1000, socket_out=1000,
                          interface_in=3000, interface_out=0)
        self.assertEqual(judge(claims.interfaces_agree, few).state,
                         NOT_MEASURED)


class MeasuredTest(unittest.TestCase):

    def test_the_newest_revision_and_tcp_alone_count(self):
        for column in ("revision", "tcp"):
            with self.subTest(column=column):
                old = sample(0.1, time="2026-01-01T00:00:00Z",
                             **{column: "old"})
                new = sample(0.3, time="2026-01-02T00:00:00Z",
                             **{column: "new"})
                measured = Measured(new + old)
                (_, found), = measured.find("srs")
                self.assertAlmostEqual(found.median, 0.3)
                self.assertEqual({getattr(r, column) for r in measured.rows},
                                 {"new"})

    def test_a_reduction_is_of_medians(self):
        measured = Measured(transitions({"srs": 0.1, "ers1": 0.05}))
        for _, srs, ers1 in measured.find("srs", "ers1"):
            self.assertAlmostEqual(reduction(srs, ers1), 50)

    def test_a_setting_says_what_it_is(self):
        (setting,) = Measured([row()]).settings
        self.assertIsInstance(setting, Setting)
        self.assertEqual(str(setting),
                         "forward, 1 MiB, (4,1,5), 200 Mbit/s")


class ReportTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def report(self, *words):
        return subprocess.run(
            [REPORT, *words, "--page", self.path("page.md")], check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DEADLINE_S)

    def page(self):
        with open(self.path("page.md"), encoding="utf-8") as file:
            return file.read()

    @needs.module("matplotlib", "python3-matplotlib")
    def test_the_page_shows_every_figure_that_was_drawn(self):
        # One experiment of each kind of figure.
        rows.append(self.path("rows.csv"),
                    [r for r in everything()
                     if r.experiment in ("exp1", "exp4", "exp5")])
        done = self.report(self.path("rows.csv"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = self.page()
        drawn = os.listdir(self.path("figures", "paper"))
        self.assertIn("exp4-reductions.png", drawn)
        for name in drawn:
            self.assertIn(f"figures/paper/{name}", page)
        # The paper's value of (4,1,5) at 200 Mbit/s, beside ours.
        self.assertRegex(page, r"forward \| \(4,1,5\) \| 1 MiB \| 200 Mbit/s "
                         r"\| 100.00 \| 50.0 \| 43.0 \| 55.0 \| 60.0 \| 47.0")
        self.assertIn("## Experiment 6: transitions in a cloud, by size\n\n"
                      "Not measured.", page)

    def test_the_page_begins_with_what_ers_saves(self):
        rows.append(self.path("rows.csv"), [
            *transitions(GOOD, experiment="exp3", link_mbit=500.0),
            *transitions(GOOD, experiment="exp3", link_mbit=200.0)])
        self.report(self.path("rows.csv"), "--no-figures")
        saved, _, rest = self.page().partition(
            "## Where the paper and this differ")
        self.assertIn("on links of 200 Mbit/s", saved)
        self.assertIn("| forward | (4,1,5) | 1 MiB | 60.0 | 100.0 | 40.0 | "
                      "60.0 |\n| backward | (4,1,5) | 1 MiB |", saved)
        self.assertIn("## Claims", rest)

    def test_without_rows_of_transitions_it_says_so(self):
        rows.append(self.path("rows.csv"), sample(
            0.1, experiment="exp1", scheme="rep", operation="put"))
        self.report(self.path("rows.csv"), "--no-figures")
        self.assertIn("## What ERS saves\n\nNot measured.", self.page())

    def test_the_page_names_the_cells_that_miss_a_claim(self):
        rows.append(self.path("rows.csv"),
                    transitions({**GOOD, "ers2-optimal": 0.08}))
        done = self.report(self.path("rows.csv"), "--no-figures")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("**does not hold**", self.page())
        self.assertIn("ers2-optimal over ers2-paper, forward, 1 MiB, (4,1,5), "
                      "200 Mbit/s: 2.00, as many blocks", self.page())
        self.assertFalse(os.path.exists(self.path("figures")))

    def test_both_kinds_of_copies_are_shown(self):
        rows.append(self.path("rows.csv"), [
            r for scheme, seconds in (("rep", 0.2), ("srs", 0.1),
                                      ("libmemcached-copies", 0.05))
            for r in sample(seconds, experiment="exp1", scheme=scheme,
                            operation="put")])
        self.report(self.path("rows.csv"), "--no-figures")
        self.assertIn("| put | (4,1,5) | 1 MiB | 200 Mbit/s | 0 B | 50.00 | "
                      "2.00 |  |  | 200.00 | 0.50 |", self.page())

    def test_an_experiment_of_one_s_own_is_shown(self):
        rows.append(self.path("rows.csv"), sample(
            0.1, experiment="own", k=6, m=2, k_to=8, link_mbit=500.0))
        self.report(self.path("rows.csv"), "--no-figures")
        self.assertIn("| forward | (6,2,8) | 1 MiB | 500 Mbit/s | SRS | 100.00 "
                      "| 98.00 | 102.00 | 5 |", self.page())

    def test_an_experiment_under_another_tcp_says_so(self):
        rows.append(self.path("rows.csv"), [
            *transitions(GOOD),
            *transitions(GOOD, experiment="exp6", bed="cloud", link_mbit=None,
                         tcp="bbr")])
        self.report(self.path("rows.csv"), "--no-figures")
        self.assertEqual(self.page().count("Measured under bbr, where other "
                                           "experiments have cubic"), 1)
        self.assertIn("by size\n\nMeasured under bbr", self.page())

    def test_what_waited_for_tcp_is_counted(self):
        found = transitions(GOOD)
        found += sample(0.1, scheme="rs", operation="get")
        found.append(row(scheme="rs", operation="get", seconds=0.31))
        # A slow link takes as long by itself.
        found += [row(scheme="rs", operation="get", link_mbit=1.0,
                      repetition=number, seconds=0.1 + number)
                  for number in range(2)]
        rows.append(self.path("rows.csv"), found)
        self.report(self.path("rows.csv"), "--no-figures")
        self.assertIn("in 1 of 11 cells", self.page())

    def test_the_worst_miss_comes_first_and_links_are_distinguished(self):
        found = transitions({"srs": 0.1, "ers2-paper": 0.06})
        found += transitions({"srs": 0.1, "ers2-paper": 0.09}, link_mbit=500.0)
        verdict = judge(claims.time_follows_blocks, found)
        self.assertIn("500 Mbit/s", verdict.misses[0][0])
        self.assertIn("(200 Mbit/s: 0 of 2, 500 Mbit/s: 0 of 2)",
                      verdict.measured)

    def test_the_page_is_that_of_the_rows(self):
        self.assertEqual(self.report("--no-figures").stderr, "")
        with open(os.path.join(TOP, "docs", "evaluation", "paper.md"),
                  encoding="utf-8") as file:
            kept = re.sub(r"!\[.*\n\n\[As SVG\].*\n\n", "", file.read())
        self.assertEqual(self.page(), kept, "run eval/report")

    def test_what_is_no_file_of_rows_is_refused_in_one_sentence(self):
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("a,b\n1,2\n")
        for path in (self.path("rows.csv"), self.path("none.csv")):
            done = self.report(path, "--no-figures")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Aeval/report: .*\n\Z")
            self.assertFalse(os.path.exists(self.path("page.md")))


if __name__ == "__main__":
    unittest.main()
