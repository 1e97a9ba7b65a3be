"""ersctl advise: which scheme suits objects, by measured figures; no cluster is
asked."""

import json
import os
import subprocess
import tempfile
import unittest

ERSCTL = os.environ["ERSCTL"]
ERS_ANALYZE = os.environ["ERS_ANALYZE"]
DEADLINE_S = 60
MIB = 1 << 20


def times(fixed=0.0, link=0.0, byte=0.0, server=0.0, block=0.0):
    return {"fixed": fixed, "link": link, "byte": byte, "server": server,
            "block": block, "error": 0.05}


def model(**changed):
    """Figures with which answers can be reckoned by hand: the link alone
    takes time, and each block of a coded object a millisecond."""
    seconds = {"copies": {"put": times(link=1), "get": times(link=1)},
               "coded": {"put": times(link=1, block=1e-3),
                         "get": times(link=1, block=1e-3)}}
    return {"version": 1, "widths": [[4, 5], [8, 10]],
            "seconds": seconds, "storage_share_of_cost": [0.2, 0.5],
            "measured": {"source": "nothing", "mbit": [1, 10000],
                         "object_bytes": [1024, 4 * MIB]}, **changed}


def run(*words):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("ERS_")}
    return subprocess.run([ERSCTL, "advise", *words], check=False, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          env=environment, timeout=DEADLINE_S)


def analyzed(widths, parity):
    """{(from, to): (blocks read, written)} of a group, by ers-analyze."""
    done = subprocess.run(
        [ERS_ANALYZE, "chain", widths, "--m", str(parity), "--format", "json"],
        check=True, text=True, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=DEADLINE_S)
    return {(row["from"], row["to"]): (row["reads"], row["writes"])
            for row in json.loads(done.stdout)}


class AdviseTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "advice.json")
        self.write(json.dumps(model()))

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def ask(self, *words):
        done = run(*words, "--model", self.path, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_each_scheme_has_the_figures_of_the_model(self):
        advice = self.ask("--object-size", str(MIB), "--mbit", "8",
                          "--reads-per-write", "3")
        rows = {row["scheme"]: row for row in advice["candidates"]}
        self.assertEqual(list(rows), ["rep:2", "ers2:4,1,5", "ers2:8,1,10"])
        second = MIB / 1e6  # over a link of a million bytes a second
        copies, coded = rows["rep:2"], rows["ers2:4,1,5"]
        self.assertAlmostEqual(copies["put_seconds"], 2 * second)
        self.assertAlmostEqual(copies["get_seconds"], second)
        self.assertAlmostEqual(copies["mean_seconds"], 5 / 4 * second)
        # 20 data blocks and 5 of parity.
        self.assertAlmostEqual(coded["put_seconds"], 1.25 * second + 0.025)
        self.assertAlmostEqual(coded["get_seconds"], second + 0.020)
        self.assertEqual(coded["stored_per_byte"], 1.25)
        self.assertEqual(coded["moved_per_byte_written"], 4.25)
        self.assertEqual((copies["servers"], coded["servers"]), (2, 6))
        self.assertEqual(coded["servers_that_may_be_off"], 1)

    def test_slow_links_take_codes_and_fast_ones_copies(self):
        for mbit, scheme in (("8", "ers2:8,1,10"), ("100000", "rep:2")):
            with self.subTest(mbit=mbit):
                advice = self.ask("--object-size", str(MIB), "--mbit", mbit)
                self.assertEqual(advice["scheme"], scheme)
                self.assertTrue(advice["reasons"])

    def test_what_stores_least_is_taken_of_those_about_as_fast(self):
        # All reads: copies are the fastest by the blocks' 20 and 40 ms.
        words = ("--object-size", str(MIB), "--reads-per-write", "1000000")
        for mbit, scheme in (("8", "ers2:8,1,10"), ("20", "ers2:8,1,10"),
                             ("28", "ers2:4,1,5"), ("100", "rep:2")):
            with self.subTest(mbit=mbit):
                advice = self.ask(*words, "--mbit", mbit)
                self.assertEqual(advice["scheme"], scheme)

    def test_more_failures_take_more_parity_and_copies(self):
        advice = self.ask("--object-size", str(MIB), "--mbit", "8",
                          "--failures", "3")
        self.assertEqual([row["scheme"] for row in advice["candidates"]],
                         ["rep:4", "ers2:4,3,5", "ers2:8,3,10"])

    def test_what_needs_more_servers_than_there_are_is_left_out(self):
        words = ("--object-size", str(MIB), "--mbit", "8", "--servers")
        for count, schemes in ((11, 3), (10, 2), (6, 2), (5, 1), (2, 1)):
            names = ",".join(f"127.0.0.1:{i + 1}" for i in range(count))
            with self.subTest(count=count):
                advice = self.ask(*words, names)
                self.assertEqual(len(advice["candidates"]), schemes)
        self.refused(run(*words, "a:1", "--model", self.path))

    def test_chains_have_the_figures_of_ers_analyze(self):
        advice = self.ask("--object-size", str(MIB), "--mbit", "8",
                          "--widths", "3", "--failures", "2")
        rows = {row["scheme"]: row for row in advice["candidates"]}
        self.assertEqual(list(rows), [
            "rep:3", "ers2:4,2,5", "ers2:8,2,10", "ers:4-8-16,2",
            "ers:4-6-12,2", "ers:8-16-32,2"])
        for scheme, widths, group in (("ers:4-8-16,2", "4-8-16", 16),
                                      ("ers:4-6-12,2", "4-6-12", 12)):
            steps = {(step["from"], step["to"]): step
                     for step in rows[scheme]["transitions"]}
            counts = analyzed(widths, 2)
            self.assertEqual(set(steps), set(counts))
            self.assertEqual(len(steps), 6)
            for pair, (reads, writes) in counts.items():
                step = steps[pair]
                self.assertAlmostEqual(step["read_per_byte"], reads / group)
                self.assertAlmostEqual(step["written_per_byte"],
                                       writes / group)
                self.assertAlmostEqual(step["stored_before"], 1 + 2 / pair[0])
                self.assertAlmostEqual(step["stored_after"], 1 + 2 / pair[1])
        # Narrow as ers2:4,2,5 but for its blocks: 16 of data, 8 of parity.
        chain = rows["ers:4-8-16,2"]
        second = MIB / 1e6
        self.assertAlmostEqual(chain["put_seconds"], 1.5 * second + 0.024)
        self.assertAlmostEqual(chain["get_seconds"], second + 0.016)
        self.assertEqual((chain["stored_per_byte"], chain["servers"]),
                         (1.5, 18))
        self.assertFalse(rows["rep:3"]["transitions"])
        self.assertEqual(len(rows["ers2:4,2,5"]["transitions"]), 2)

    def test_short_values_change_their_width_in_columns(self):
        advice = self.ask("--object-size", "65536", "--mbit", "8")
        rows = {row["scheme"]: row for row in advice["candidates"]}
        # 17 and 20 of 20 blocks are read, where a long value reads 8.
        self.assertEqual([step["read_per_byte"] for step in
                          rows["ers2:4,1,5"]["transitions"]], [0.85, 1.0])
        advice = self.ask("--object-size", str(MIB), "--mbit", "8")
        rows = {row["scheme"]: row for row in advice["candidates"]}
        self.assertEqual([step["read_per_byte"] for step in
                          rows["ers2:4,1,5"]["transitions"]], [0.4, 0.4])

    def test_a_chain_is_proposed_where_more_widths_are_asked_for(self):
        words = ("--object-size", str(MIB), "--mbit", "8", "--widths")
        for widths, count, scheme in (("3", 40, "ers:8-16-32,1"),
                                      ("3", 20, "ers:4-8-16,1"),
                                      ("3", 13, "ers:4-6-12,1"),
                                      ("4", 40, "ers:4-8-16-32,1"),
                                      ("2", 40, "ers2:8,1,10")):
            names = ",".join(f"127.0.0.1:{i + 1}" for i in range(count))
            with self.subTest(widths=widths, count=count):
                advice = self.ask(*words, widths, "--servers", names)
                self.assertEqual(advice["scheme"], scheme)
                said = "which is not asked here" in " ".join(advice["reasons"])
                self.assertEqual(said, widths != "2")
        few = ",".join(f"127.0.0.1:{i + 1}" for i in range(12))
        advice = self.ask(*words, "3", "--servers", few)
        self.assertEqual(advice["scheme"], "ers2:8,1,10")
        self.assertEqual(advice["reasons"][0],
                         "no chain of 3 widths that survives 1 failure has "
                         "enough servers here")

    def test_where_copies_beat_chains_a_code_of_two_widths_may_win(self):
        # Each server takes a millisecond, of which chains need most.
        coded = {"put": times(link=1, server=1e-3),
                 "get": times(link=1, server=1e-3)}
        self.write(json.dumps(model(seconds={
            "copies": {"put": times(link=1), "get": times(link=1)},
            "coded": coded})))
        for mbit, scheme, reasons in (
                ("29", "ers2:4,1,5", [
                    "no chain of 3 widths pays: the fastest, ers:4-6-12,1, "
                    "takes 32.839 ms, rep:2 27.118",
                    "it is the fastest: 25.839 ms on the average of 1 reads a "
                    "write"]),
                ("100", "rep:2", [
                    "no chain of 3 widths pays: the fastest, ers:4-6-12,1, "
                    "takes 18.398 ms, rep:2 7.864",
                    "it is the fastest: 7.864 ms on the average of 1 reads a "
                    "write",
                    "coding would store 1.25 bytes for one, not 2.00; "
                    "ers2:4,1,5 takes 1.45 of the time"]),
                ("20", "ers:4-6-12,1", [
                    "it stores least of those within 10 % of the fastest of "
                    "copies and chains (rep:2, 39.322 ms; this one 41.991 ms, "
                    "on the average of 1 reads a write)"])):
            with self.subTest(mbit=mbit):
                advice = self.ask("--object-size", "65536", "--mbit", mbit,
                                  "--widths", "3")
                self.assertEqual(advice["scheme"], scheme)
                self.assertEqual(advice["reasons"][:len(reasons)], reasons)

    def test_widths_that_no_chain_has_are_passed_over(self):
        self.write(json.dumps(model(widths=[
            [4, 5], [2 ** 28, 2 ** 29], [-2 ** 31, 5]])))
        advice = self.ask("--object-size", str(MIB), "--mbit", "8",
                          "--widths", "4")
        self.assertEqual([row["scheme"] for row in advice["candidates"]],
                         ["rep:2", "ers2:4,1,5", "ers:4-8-16-32,1",
                          "ers:4-6-12-24,1"])

    def test_text_has_what_each_change_of_width_costs(self):
        done = run("--object-size", str(MIB), "--mbit", "8", "--model",
                   self.path, "--widths", "3", "--servers",
                   ",".join(f"127.0.0.1:{i + 1}" for i in range(17)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("at 4, 8, 16 data blocks a stripe it stores 1.25, 1.12, "
                      "1.06 bytes for one", done.stdout)
        table = done.stdout[done.stdout.index("Changes of width"):]
        self.assertEqual(table.splitlines()[2:], [
            "scheme        widths  stored      wider: read  written  "
            "narrower: read  written",
            "ers2:4,1,5    4, 5    1.25, 1.20  0.40         0.20     "
            "0.40            0.25",
            "ers2:8,1,10   8, 10   1.12, 1.10  0.28         0.10     "
            "0.30            0.12",
            "ers:4-8-16,1  4, 8    1.25, 1.12  0.25         0.12     "
            "0.62            0.25",
            "ers:4-8-16,1  8, 16   1.12, 1.06  0.12         0.06     "
            "0.56            0.12",
            "ers:4-6-12,1  4, 6    1.25, 1.17  0.42         0.17     "
            "0.50            0.25",
            "ers:4-6-12,1  6, 12   1.17, 1.08  0.17         0.08     "
            "0.58            0.17"])

    def test_values_that_coding_saves_little_for_are_kept_whole(self):
        advice = self.ask("--object-size", "2000", "--mbit", "0.1")
        self.assertEqual((advice["scheme"], advice["inline"]), ("rep:2", True))
        self.assertIn("kept whole on 2 servers", advice["reasons"][0])
        advice = self.ask("--object-size", "65536", "--mbit", "1")
        self.assertFalse(advice["inline"])

    def test_beyond_what_was_measured_is_said(self):
        for size, mbit, beyond in ((MIB, "1000", False), (MIB, "0.5", True),
                                   (16 * MIB, "1000", True)):
            advice = self.ask("--object-size", str(size), "--mbit", mbit)
            self.assertEqual(advice["beyond_measurements"], beyond)

    def test_text_has_the_scheme_first_then_reasons_and_figures(self):
        done = run("--object-size", str(MIB), "--mbit", "8", "--model",
                   self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "ers2:8,1,10")
        self.assertIn("stores 1.12 bytes for one, copies 2.00: 44 % less, "
                      "which is 8.8 to 21.9 % of a system's cost",
                      done.stdout)
        self.assertRegex(done.stdout, r"\nrep:2 +2097\.152 +1048\.576 ")

    def test_the_installed_figures_answer(self):
        done = run("--object-size", str(MIB), "--mbit", "200", "--failures",
                   "2", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        advice = json.loads(done.stdout)
        # Three times the bytes over a link that is the limit.
        self.assertRegex(advice["scheme"], "^ers2:")
        self.assertFalse(advice["beyond_measurements"])

    def test_what_is_wrong_is_named(self):
        good = ("--object-size", "5000", "--mbit", "8", "--model", self.path)
        for text, words in (
                ("server \"http://a:1\"", (*good, "--servers", "http://a:1")),
                ("a comma is one too many", (*good, "--servers", ",,")),
                ("listed twice", (*good, "--servers", "a:1,a:1")),
                ("2 of the 2 servers of --servers",
                 (*good, "--servers", "a:1,b:1", "--failures", "2"))):
            done = run(*words)
            self.refused(done)
            self.assertIn(text, done.stderr)
        for text, content in (("it is not a JSON object", "hello"),
                              ("key 'version' not found", "{}"),
                              ("its version is not 1",
                               json.dumps(model(version=2)))):
            self.write(content)
            done = run(*good)
            self.refused(done)
            self.assertIn(f"--model: {self.path} is no model of advice: {text}",
                          done.stderr)
            self.assertIn("--advice FILE makes one", done.stderr)

    def test_bad_usage_and_bad_files_are_refused_in_one_sentence(self):
        good = ("--object-size", str(MIB), "--mbit", "8")
        for words in (("--mbit", "8"), ("--object-size", str(MIB)),
                      ("--object-size", "0", "--mbit", "8"),
                      ("--object-size", "1.5", "--mbit", "8"),
                      ("--object-size", "9", "--mbit", "nan"),
                      (*good, "--failures", "0"),
                      (*good, "--widths", "1"), (*good, "--widths", "5"),
                      (*good, "--reads-per-write", "-1"),
                      (*good, "--model", self.path + ".none")):
            with self.subTest(words=words):
                self.refused(run(*words))
        for text in ("", "{}", "[1]", json.dumps(model(version=2)),
                     json.dumps(model(widths=[["4", 5]])),
                     json.dumps(model(seconds={}))):
            with self.subTest(text=text):
                self.write(text)
                self.refused(run(*good, "--model", self.path))

    def refused(self, done):
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
