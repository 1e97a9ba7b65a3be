"""Runs ers-analyze and holds its numbers against the ERS paper's.

usage: ers_analyze_test.py PATH-OF-ERS-ANALYZE
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""

HEADER = ("k,m,kp,scheme,direction,variant,data_reads,parity_reads,reads,"
          "writes,lower_bound")
ALL_SETS = [(k, m, kp) for kp in range(3, 15) for k in range(2, kp)
            for m in range(1, 5) if m < k]
COMBINATIONS = {
    ("srs-paper", "forward", "paper"), ("srs-paper", "backward", "paper"),
    ("srs", "forward", "optimal"), ("srs", "backward", "optimal"),
} | {(scheme, direction, variant) for scheme in ("ers1", "ers2")
     for direction, variants in (("forward", ("optimal", "paper")),
                                 ("backward", ("optimal", "paper",
                                               "no-order")))
     for variant in variants}
EXPERIMENT_SETS = [(4, 1, 5), (5, 1, 6), (8, 2, 10), (9, 2, 10), (10, 3, 12),
                   (12, 3, 14)]


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True,
                          text=True, timeout=300, check=False, **options)


def output_of(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def csv_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def index(rows):
    return {(int(row["k"]), int(row["m"]), int(row["kp"]), row["scheme"],
             row["direction"], row["variant"]):
            {name: int(row[name]) for name in HEADER.split(",")[6:]}
            for row in rows}


def overlaps(grid):
    """Blocks of each narrow stripe in each row: {stripe: {row: blocks}}."""
    found = {}
    for row, cells in enumerate(grid):
        for stripe in cells:
            rows = found.setdefault(stripe, {})
            rows[row] = rows.get(row, 0) + 1
    return found


def row_major(k, kp):
    rows = math.lcm(k, kp) // kp
    return [[(row * kp + column) // k for column in range(kp)]
            for row in range(rows)]


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = output_of("sweep", "--format", "csv")
        cls.rows = index(csv_rows(cls.text))

    def reads(self, parameters, scheme, direction, variant):
        return self.rows[(*parameters, scheme, direction, variant)]["reads"]

    def test_has_every_set_and_combination_once_under_the_exact_header(self):
        lines = self.text.splitlines()
        self.assertEqual(lines[0], HEADER)
        self.assertEqual(len(lines) - 1, len(self.rows))
        self.assertEqual(len(ALL_SETS), 244)
        self.assertEqual(set(self.rows), {(*s, *c) for s in ALL_SETS
                                          for c in COMBINATIONS})

    def test_reads_are_the_sum_and_nothing_is_below_the_bound(self):
        for key, row in self.rows.items():
            with self.subTest(key):
                self.assertEqual(row["reads"],
                                 row["data_reads"] + row["parity_reads"])
                self.assertGreaterEqual(row["reads"], row["lower_bound"])

    def test_ers2_optimal_is_the_lower_bound_in_all_sets_both_ways(self):
        for k, m, kp in ALL_SETS:
            l, r = math.lcm(k, kp), kp % k
            a, b = l // k, l // kp
            bounds = {"forward": a * m + (a % b) * (k - max(r, m)),
                      "backward": b * (m + kp - k)}
            for direction, bound in bounds.items():
                with self.subTest((k, m, kp, direction)):
                    row = self.rows[k, m, kp, "ers2", direction, "optimal"]
                    self.assertEqual(row["lower_bound"], bound)
                    self.assertEqual(row["reads"], bound)

    def test_ers2_paper_misses_the_bound_forward_where_0_lt_r_lt_m(self):
        for k, m, kp in ALL_SETS:
            with self.subTest((k, m, kp)):
                row = self.rows[k, m, kp, "ers2", "forward", "paper"]
                self.assertEqual(row["reads"] > row["lower_bound"],
                                 0 < kp % k < m)
        self.assertEqual(self.reads((4, 3, 5), "ers2", "forward", "paper"), 18)
        self.assertEqual(self.reads((4, 3, 5), "ers2", "forward", "optimal"),
                         16)
        self.assertEqual(self.reads((5, 4, 6), "ers2", "forward", "paper"), 28)
        self.assertEqual(self.reads((5, 4, 6), "ers2", "forward", "optimal"),
                         25)

    def test_ers1_paper_is_what_a_count_of_the_row_major_grid_gives(self):
        for k, m, kp in ALL_SETS:
            l = math.lcm(k, kp)
            best = {}  # row -> overlaps of the stripes credited to it
            for rows in overlaps(row_major(k, kp)).values():
                most = max(rows.values())
                row = min(r for r in rows if rows[r] == most)
                best.setdefault(row, []).append(most)
            forward = sum(m + k - o for row in best.values() for o in row)
            backward = m * l // kp + l - sum(max(row) for row in best.values())
            with self.subTest((k, m, kp)):
                self.assertEqual(
                    self.reads((k, m, kp), "ers1", "forward", "paper"),
                    forward)
                self.assertEqual(
                    self.reads((k, m, kp), "ers1", "backward", "paper"),
                    backward)

    def test_srs_is_never_worse_than_all_data_and_that_at_the_six_sets(self):
        for k, m, kp in ALL_SETS:
            for direction in ("forward", "backward"):
                reads = self.reads((k, m, kp), "srs", direction, "optimal")
                with self.subTest((k, m, kp, direction)):
                    self.assertLessEqual(reads, math.lcm(k, kp))
                    if (k, m, kp) in EXPERIMENT_SETS:
                        self.assertEqual(reads, math.lcm(k, kp))

    def test_srs_rule_and_fair_plan_differ_where_they_should(self):
        def both(*parameters):
            return (self.reads(parameters, "srs-paper", "forward", "paper"),
                    self.reads(parameters, "srs", "forward", "optimal"))
        self.assertEqual(both(3, 2, 9), (6, 8))
        # By brute force over all subsets: 3, 4 and 3 blocks per stripe.
        self.assertEqual(both(4, 2, 12), (6, 10))
        self.assertEqual(both(4, 1, 6), (12, 9))
        beaten = [s for s in ALL_SETS if s[1] == 1
                  and both(*s)[1] < both(*s)[0]]
        self.assertEqual(len(beaten), 14)
        self.assertEqual(sum(s[1] == 1 for s in ALL_SETS), 78)

    def test_no_order_reads_more_than_the_paper_at_4_1_5(self):
        row = self.rows[4, 1, 5, "ers2", "backward", "no-order"]
        self.assertEqual(row["data_reads"], 7)
        row = self.rows[4, 1, 5, "ers2", "backward", "paper"]
        self.assertEqual(row["data_reads"], 4)

    def test_variants_are_ordered(self):
        for s in ALL_SETS:
            for scheme in ("ers1", "ers2"):
                optimal, paper, no_order = (
                    self.reads(s, scheme, "backward", variant)
                    for variant in ("optimal", "paper", "no-order"))
                with self.subTest((s, scheme)):
                    self.assertLessEqual(optimal, paper)
                    self.assertLessEqual(paper, no_order)
                    self.assertLessEqual(
                        self.reads(s, scheme, "forward", "optimal"),
                        self.reads(s, scheme, "forward", "paper"))

    def test_json_and_count_say_the_same(self):
        from_json = index(json.loads(output_of("sweep", "--format", "json")))
        self.assertEqual(from_json, self.rows)
        for parameters in ((2, 1, 3), (12, 3, 14)):
            text = output_of("count", *map(str, parameters), "--format", "csv")
            self.assertEqual(text.splitlines()[0], HEADER)
            self.assertEqual(index(csv_rows(text)),
                             {key: row for key, row in self.rows.items()
                              if key[:3] == parameters})


class Parity(unittest.TestCase):
    def test_counts_what_the_formulas_say_both_ways(self):
        for k, m, kp, to in ((4, 1, 5, 2), (4, 1, 5, 3), (4, 2, 5, 1),
                             (12, 3, 14, 4), (2, 3, 4, 2)):
            l = math.lcm(k, kp)
            text = output_of("parity", *map(str, (k, m, kp, to)),
                             "--format", "csv")
            rows = csv_rows(text)
            self.assertEqual([(row["scheme"], row["width"]) for row in rows],
                             [(scheme, width)
                              for scheme in ("srs", "ers1", "ers2")
                              for width in ("narrow", "wide")])
            for row in rows:
                with self.subTest(row):
                    stripes = l // (k if row["width"] == "narrow" else kp)
                    self.assertEqual(
                        [int(row[name]) for name in
                         ("k", "m", "kp", "to", "reads", "writes", "drops",
                          "reencode_reads", "reencode_writes")],
                        [k, m, kp, to, l if to > m else 0,
                         max(0, to - m) * stripes, max(0, m - to) * stripes,
                         l, l + to * stripes])
            as_json = json.loads(output_of("parity", *map(str, (k, m, kp, to)),
                                           "--format", "json"))
            self.assertEqual([{name: str(value) for name, value in row.items()}
                              for row in as_json], rows)


class Columns(unittest.TestCase):
    # Whether they are the least is tested on the plans themselves.
    def test_counts_whole_columns_beside_blocks(self):
        for k, m, kp in ((4, 1, 5), (4, 1, 8), (4, 2, 6), (2, 3, 4)):
            l = math.lcm(k, kp)
            words = ("columns", str(k), str(m), str(kp), "--format")
            rows = csv_rows(output_of(*words, "csv"))
            self.assertEqual([(row["direction"], row["scheme"])
                              for row in rows],
                             [(direction, scheme)
                              for direction in ("forward", "backward")
                              for scheme in ("srs", "ers1", "ers2")])
            in_blocks = {
                (row["direction"], row["scheme"]): row["reads"]
                for row in csv_rows(output_of("count", *words[1:], "csv"))
                if row["variant"] == "optimal"}
            for row in rows:
                with self.subTest(row):
                    self.assertEqual(
                        row["blocks_read"],
                        in_blocks[row["direction"], row["scheme"]])
                    self.assertLessEqual(int(row["blocks_read"]),
                                         int(row["cells_read"]))
                    self.assertLessEqual(int(row["cells_read"]), l)
                    self.assertLessEqual(int(row["columns_read"]), kp)
                    self.assertEqual(int(row["columns_written"]), m)
                    width = kp if row["direction"] == "forward" else k
                    self.assertEqual(int(row["cells_written"]), m * l // width)
            as_json = json.loads(output_of(*words, "json"))
            self.assertEqual([{name: str(value) for name, value in row.items()}
                              for row in as_json], rows)

    def test_parity_carries_over_whole_columns_where_widths_divide(self):
        rows = csv_rows(output_of("columns", "4", "1", "8", "--format", "csv"))
        self.assertEqual(
            [(row["columns_read"], row["cells_read"]) for row in rows
             if row["scheme"] == "ers2"], [("1", "2"), ("5", "5")])


class Chain(unittest.TestCase):
    PAIRS = {  # (chain, m): reads by pair, in print order
        ("4-8-16", 1): [4, 4, 10, 2, 13, 9],
        ("4-6-12", 1): [5, 3, 6, 2, 9, 7],
        ("4-6-12", 2): [8, 6, 8, 4, 10, 8],
        ("4-6-12", 3): [10, 9, 10, 6, 11, 9],
    }

    def rows_of(self, widths, m):
        return csv_rows(output_of("chain", widths, "--m", str(m),
                                  "--format", "csv"))

    def test_prints_every_pair_of_widths(self):
        text = output_of("chain", "4-6-12", "--m", "1", "--format", "csv")
        self.assertEqual(text.splitlines()[:2],
                         ["chain,m,from,to,reads,writes,lower_bound",
                          "4-6-12,1,4,6,5,2,5"])
        for (widths, m), reads in self.PAIRS.items():
            with self.subTest(widths=widths, m=m):
                rows = self.rows_of(widths, m)
                numbers = [int(width) for width in widths.split("-")]
                group = math.lcm(*numbers)
                self.assertEqual(
                    [(int(row["from"]), int(row["to"])) for row in rows],
                    [(a, b) for a in numbers for b in numbers if a != b])
                self.assertEqual([int(row["reads"]) for row in rows], reads)
                for row in rows:
                    self.assertEqual(row["reads"], row["lower_bound"])
                    self.assertEqual(int(row["writes"]),
                                     m * group // int(row["to"]))

    def test_shows_where_a_chain_misses_the_bound(self):
        for m, reads, bound in ((1, "11", "9"), (2, "14", "12")):
            missed = [row for row in self.rows_of("4-6-8-12", m)
                      if row["reads"] != row["lower_bound"]]
            self.assertEqual(
                [(row["from"], row["to"], row["reads"], row["lower_bound"])
                 for row in missed], [("8", "6", reads, bound)])

    def test_formats_say_the_same(self):
        rows = self.rows_of("4-6-8-12", 2)
        as_json = json.loads(output_of("chain", "4-6-8-12", "--m", "2",
                                       "--format", "json"))
        self.assertEqual([{name: str(value) for name, value in row.items()}
                          for row in as_json], rows)
        table = output_of("chain", "4-6-8-12", "--m", "2").splitlines()
        self.assertEqual(table[0].split(), list(rows[0]))

    def test_what_is_no_chain_is_refused(self):
        for words in (("6-4", "--m", "1"), ("4", "--m", "1"), ("4-6",),
                      ("4-6", "--m", "0"), ("4,6", "--m", "1")):
            with self.subTest(words=words):
                self.assertEqual(run("chain", *words).returncode, 2)


class Table1(unittest.TestCase):
    # (comparison, direction): improved sets, average, best, best set.
    EXPECTED = {
        ("ERS-1 over SRS", "forward"): ("221", "46.2", "73.8", "6,1,14"),
        ("ERS-2 over ERS-1", "forward"): ("123", "14.8", "53.6", "13,1,14"),
        # The paper prints 36.2; its own plans and rule give 34.6.
        ("ERS-1 over SRS", "backward"): ("222", "34.6", "65.9", "13,1,14"),
        ("ERS-2 over ERS-1", "backward"): ("121", "20.2", "58.1", "13,1,14"),
    }
    QUANTITIES = ("improved sets", "average %", "best %", "best set")
    POINTS = {
        ("ERS-1 over SRS", "forward", "at 6,2,7 %"): "45.2",
        ("ERS-2 over ERS-1", "forward", "at 6,2,7 %"): "17.4",
        ("ERS-2 over SRS", "forward", "at 9,2,10 %"): "68.9",
        ("ERS-1 over SRS", "forward", "at 12,3,14 %"): "53.6",
        ("ERS-2 over SRS", "forward", "at 12,3,14 %"): "63.1",
        ("ERS-1 over SRS", "forward", "at 12,4,14 %"): "45.2",
        ("ERS-2 over SRS", "forward", "at 12,4,14 %"): "54.8",
        ("ERS-1 over SRS", "backward", "at 4,1,5 %"): "50.0",
        ("ERS-2 over ERS-1", "backward", "at 4,1,5 %"): "20.0",
    }

    @classmethod
    def setUpClass(cls):
        cls.cells = csv_rows(output_of("table1", "--format", "csv"))

    def test_every_cell_and_point(self):
        expected = {(*comparison, quantity): value
                    for comparison, values in self.EXPECTED.items()
                    for quantity, value in zip(self.QUANTITIES, values)}
        expected.update(self.POINTS)
        self.assertEqual({(cell["comparison"], cell["direction"],
                           cell["quantity"]): cell["computed"]
                          for cell in self.cells}, expected)

    def test_only_the_one_known_cell_differs_and_is_marked(self):
        differing = [cell for cell in self.cells if cell["differs"] == "yes"]
        self.assertEqual(
            [(cell["comparison"], cell["direction"], cell["quantity"],
              cell["paper"], cell["computed"]) for cell in differing],
            [("ERS-1 over SRS", "backward", "average %", "36.2", "34.6")])
        for cell in self.cells:
            self.assertEqual(cell["differs"] == "yes",
                             cell["paper"] != cell["computed"])

    def test_the_other_formats_say_the_same(self):
        cells = json.loads(output_of("table1", "--format", "json"))
        for cell in cells:
            cell["differs"] = "yes" if cell["differs"] else "no"
        self.assertEqual(cells, self.cells)
        marked = [line for line in output_of("table1").splitlines()
                  if "<-- differs" in line]
        self.assertEqual(len(marked), 1)
        self.assertIn("36.2", marked[0])


class Both(unittest.TestCase):
    """Width and m at once, held against the commands for each alone."""

    HEADER = ("scheme,from,to,m,to_m,reads,writes,lower_bound,two_step_reads,"
              "two_step_writes,reencode_reads,reencode_writes,saved_two_steps,"
              "saved_reencode")

    def rows_of(self, scheme, to):
        text = output_of("both", scheme, str(to), "--format", "csv")
        self.assertEqual(text.splitlines()[0], self.HEADER)
        rows = csv_rows(text)
        self.assertTrue(all(row["scheme"] == scheme for row in rows))
        names = [name for name in self.HEADER.split(",")[1:]
                 if not name.startswith("saved")]
        return {(int(row["from"]), int(row["to"])):
                {**{name: int(row[name]) for name in names},
                 "saved_two_steps": float(row["saved_two_steps"]),
                 "saved_reencode": float(row["saved_reencode"])}
                for row in rows}

    def test_more_parity_takes_all_data_once(self):
        for k, m, kp, to in ((4, 1, 5, 2), (6, 2, 8, 3), (12, 3, 14, 4),
                             (5, 1, 10, 3)):
            l = math.lcm(k, kp)
            alone = index(csv_rows(output_of("count", str(k), str(m), str(kp),
                                             "--format", "csv")))
            for kind in ("srs", "ers1", "ers2"):
                rows = self.rows_of(f"{kind}:{k},{m},{kp}", to)
                self.assertEqual(list(rows), [(k, kp), (kp, k)])
                for (_, after), row in rows.items():
                    direction = "forward" if after == kp else "backward"
                    one = alone[k, m, kp, kind, direction, "optimal"]
                    with self.subTest(row):
                        self.assertEqual(row["reads"], l)
                        self.assertEqual(row["lower_bound"], l)
                        self.assertEqual(row["writes"], to * l // after)
                        self.assertEqual(row["two_step_reads"],
                                         one["reads"] + l)
                        self.assertEqual(row["two_step_writes"], row["writes"])
                        self.assertEqual(row["reencode_reads"], l)
                        self.assertEqual(row["reencode_writes"],
                                         l + row["writes"])

    def test_less_parity_reads_what_the_smaller_m_would(self):
        for k, m, kp, to in ((4, 2, 5, 1), (6, 3, 8, 2), (12, 3, 14, 1)):
            alone = index(csv_rows(output_of("count", str(k), str(to), str(kp),
                                             "--format", "csv")))
            for kind in ("srs", "ers1", "ers2"):
                rows = self.rows_of(f"{kind}:{k},{m},{kp}", to)
                for (_, after), row in rows.items():
                    direction = "forward" if after == kp else "backward"
                    one = alone[k, to, kp, kind, direction, "optimal"]
                    with self.subTest(row):
                        self.assertEqual(row["reads"], one["reads"])
                        self.assertEqual(row["lower_bound"],
                                         one["lower_bound"])
                        self.assertEqual(row["writes"], one["writes"])
                        self.assertEqual(row["two_step_reads"], row["reads"])
                        self.assertEqual(row["saved_two_steps"], 0)

    def test_what_is_saved_is_of_all_that_moves(self):
        row = self.rows_of("ers2:4,1,5", 2)[4, 5]
        self.assertEqual([row["two_step_reads"], row["two_step_writes"]],
                         [28, 8])
        self.assertEqual(row["saved_two_steps"], 22.2)  # 8 of 36
        self.assertEqual(row["saved_reencode"], 41.7)  # 20 of 48

    def test_counts_every_pair_of_a_chain(self):
        rows = self.rows_of("ers:4-6-12,2", 1)
        self.assertEqual([row["reads"] for row in rows.values()],
                         Chain.PAIRS["4-6-12", 1])
        rows = self.rows_of("ers:4-6-12,1", 2)
        self.assertEqual({row["reads"] for row in rows.values()}, {12})

    def test_formats_say_the_same(self):
        rows = csv_rows(output_of("both", "ers:4-6-12,1", "2", "--format",
                                  "csv"))
        as_json = json.loads(output_of("both", "ers:4-6-12,1", "2",
                                       "--format", "json"))
        self.assertEqual([{name: str(value) for name, value in row.items()}
                          for row in as_json], rows)
        table = output_of("both", "ers:4-6-12,1", "2").splitlines()
        self.assertEqual(table[0].split(), list(rows[0]))

    def test_what_cannot_be_counted_is_refused(self):
        for words in (("ers2:4,1,5", "1"), ("ers2:4,1,5", "0"),
                      ("rs:4,1", "2"), ("rep:2", "2"), ("ers2:4,1,5",),
                      ("4,1,5", "2"), ("ers2:4,1,5", "251")):
            with self.subTest(words=words):
                done = run("both", *words)
                self.assertEqual(done.returncode, 2)
                self.assertTrue(done.stderr.strip())


class CommandLine(unittest.TestCase):
    def test_bad_use_is_exit_code_2_and_names_the_fault(self):
        for arguments in ((), ("count", "4", "1"), ("count", "5", "1", "4"),
                          ("count", "4", "0", "5"), ("sweep", "--format", "x"),
                          ("count", "4", "1", "five"), ("figures",),
                          ("parity", "4", "1", "5"),
                          ("parity", "4", "1", "5", "1"),
                          ("parity", "4", "1", "5", "0")):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertTrue(done.stderr.strip())
                self.assertEqual(done.stdout, "")
        for arguments, text in (
                (("sweep", "--format", "x"),
                 "--format: 'x' is none of table, csv, json"),
                (("count", "--fromat", "csv", "4", "1", "5"),
                 "there is no option --fromat: did you mean --format?")):
            self.assertIn(f"ers-analyze: {text} (ers-analyze {arguments[0]} "
                          "--help says more)\n", run(*arguments).stderr)

    def test_help_and_version(self):
        self.assertIn("figures", output_of("--help"))
        self.assertRegex(output_of("--version"), r"^ers-analyze \d+\.\d+\.\d+$")

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PROGRAM, "count", "4", "1", "5"],
                                  stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 3)


def python_with_matplotlib():
    for python in ("python3", "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import matplotlib"],
                              capture_output=True,
                              check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


class Figures(unittest.TestCase):
    def test_draws_three_figures_and_keeps_their_rows(self):
        python = python_with_matplotlib()
        if python is None:
            self.skipTest("matplotlib is not installed (python3-matplotlib)")
        with tempfile.TemporaryDirectory() as directory:
            target = os.path.join(directory, "new", "figures")
            output_of("figures", target, "--python", python)
            self.assertEqual(
                sorted(os.listdir(target)),
                ["bound.png", "bound.svg", "figure-sets.csv", "figure10.png",
                 "figure10.svg", "figure9.png", "figure9.svg", "sweep.csv"])
            for name in ("figure9", "figure10", "bound"):
                with open(os.path.join(target, name + ".png"), "rb") as file:
                    image = file.read()
                self.assertEqual(image[:8], b"\x89PNG\r\n\x1a\n")
                self.assertGreater(len(image), 20000)
                with open(os.path.join(target, name + ".svg"),
                          encoding="utf-8") as file:
                    drawing = file.read()
                self.assertIn("<svg", drawing)
                self.assertGreater(len(drawing), 20000)
            with open(os.path.join(target, "figure-sets.csv"),
                      encoding="ascii") as file:
                sets = {(row["k"], row["m"], row["kp"])
                        for row in csv.DictReader(file)}
            self.assertEqual(len(sets), 23)

    def test_without_matplotlib_the_package_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "matplotlib.py"), "w",
                      encoding="ascii") as file:
                file.write("raise ImportError('hidden by the test')\n")
            done = run("figures", os.path.join(directory, "out"), "--python",
                       sys.executable,
                       env={**os.environ, "PYTHONPATH": directory})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("python3-matplotlib", done.stderr)

    def test_without_python_the_option_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run("figures", directory, "--python", "/no/such/python")
        self.assertEqual(done.returncode, 3)
        self.assertIn("--python", done.stderr)

    def test_a_directory_that_cannot_be_made_is_named(self):
        done = run("figures", "/dev/null/figures")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/dev/null/figures", done.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
