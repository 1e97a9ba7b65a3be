"""The suite against two plain memcacheds, and against one that lies."""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

FOLDER = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.realpath(os.path.join(FOLDER, "..", ".."))
sys.path[:0] = [FOLDER, os.path.join(TOP, "memcached-cluster")]
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import member_process
import allowed
import answer
import case_file
import frame
import lying_relay
import pipelines
import split
import symbols
import template

RUN = os.path.join(FOLDER, "run")
DEADLINE_S = 300
START_S = 60
SETTINGS = {"memory_mb": 64, "item_max_mb": 1, "threads": 1, "evict": True}

TEXT = """
case two-keys
> set {a} 0 100 1
> x
> set {b} 0 0 1
> y
> gets {a} {b} {a}
> mg {a} t c
> delete {c}
"""
BINARY = """
case two-keys
> opcode=set key={a} flags=1 expiry=0 value=x opaque=1
> opcode=get key={a} opaque=2
> opcode=get key={b} opaque=3
"""


SERVERS = []  # (host, port) of two memcacheds for all of this file's tests


def setUpModule():
    folder = tempfile.mkdtemp(prefix="ers-conformance-test-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    for number in range(2):
        port, pid, ticks = member_process.start_anywhere(
            SETTINGS, os.path.join(folder, str(number)), START_S)
        unittest.addModuleCleanup(member_process.end_processes,
                                  [(pid, ticks, member_process.boot_id())])
        SERVERS.append((member_process.LOOPBACK, port))


class ConformanceCase(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ers-conformance-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.mkdir(os.path.join(self.folder, "cases"))
        self.allow()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w",
                  encoding="ascii") as file:
            file.write(text)

    def case(self, text, suffix="text"):
        self.write(f"cases/own.{suffix}", text)

    def allow(self, *rows):
        self.write("allowed", "".join(f"| {row} |\n" for row in rows))

    def run_suite(self, *words):
        return subprocess.run([RUN, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)

    def run_own(self, *words, code, target=None):
        """The folder's own cases and list; returns what was printed."""
        result = self.run_suite(
            "--reference", "%s:%d" % SERVERS[0],
            "--target", target or "%s:%d" % SERVERS[1], "--folder", os.path.join(self.folder, "cases"),
            "--allowed", os.path.join(self.folder, "allowed"), *words)
        said = result.stdout + result.stderr
        self.assertEqual(result.returncode, code, said)
        return said


class WholeSuiteTest(ConformanceCase):

    def test_two_memcacheds_agree_on_every_case(self):
        result = self.run_suite("--target", "plain")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        cases = len(case_file.read_all())
        self.assertIn(f"{cases} cases, {cases} runs: {cases} agree",
                      result.stdout)

    def test_two_memcacheds_agree_on_requests_byte_by_byte(self):
        result = self.run_suite("--target", "plain", "--split", "bytes",
                                "--cases", "storage/*,meta-set/*,binary/*")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_two_memcacheds_agree_wherever_a_request_is_cut(self):
        result = self.run_suite(
            "--target", "plain", "--split", "every",
            "--cases", "storage/set-then-get,storage/data-longer-than-said,"
            "meta-get/value,binary/set-then-get")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        runs = int(re.search(r"4 cases, (\d+) runs", result.stdout)[1])
        self.assertGreater(runs, 100)


class RandomTest(ConformanceCase):

    def test_two_memcacheds_agree_on_pipelines(self):
        result = self.run_suite("--target", "plain", "--random", "600")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("30 pipelines drawn with seed 1: 0 differ",
                      result.stdout)

    def test_a_seed_draws_the_same_again(self):
        def drawn(seed):
            return [pipelines.directives(case)
                    for protocol in pipelines.PROTOCOLS
                    for case in pipelines.cases(protocol, seed, 120)]
        self.assertEqual(drawn(1), drawn(1))
        self.assertEqual(len(set(drawn(1) + drawn(2))), 12)

    def test_a_lie_is_noticed_and_its_pipeline_printed_as_a_case(self):
        relay = lying_relay.LyingRelay(
            SERVERS[1], lambda a: a.replace(b"NOT_STORED", b"NOT_FOUND"))
        self.addCleanup(relay.close)
        said = self.run_own("--random", "60", "--cases", "text", code=1,
                            target=relay.address)
        self.assertIn("text/1-0 step ", said)
        self.assertIn("1 pipelines drawn with seed 1: 1 differ", said)
        self.case(said[said.index("case 1-0"):said.index("1 pipelines")])
        [case] = case_file.read_all(os.path.join(self.folder, "cases"))
        drawn = next(pipelines.cases("text", 1, 60))
        self.assertEqual(pipelines.directives(case),
                         pipelines.directives(drawn))


class PlantedDifferencesTest(ConformanceCase):
    """Each alters one answer; the suite must see each."""

    def output_of(self, lie, *words, code=1, ends=b"MN\r\n"):
        relay = lying_relay.LyingRelay(SERVERS[1], lie, ends)
        self.addCleanup(relay.close)
        return self.run_own(*words, code=code, target=relay.address)

    def differs(self, lie, *texts, **options):
        self.case(TEXT)
        said = self.output_of(lie, **options)
        self.assertIn("own/two-keys step 1 differs", said)
        self.assertIn("1 differ,", said)
        for text in texts:
            self.assertIn(text, said)

    def test_what_is_not_altered_agrees(self):
        self.case(TEXT)
        self.assertIn("1 agree", self.output_of(lambda a: a, code=0))

    def test_another_string(self):
        self.differs(lambda a: a.replace(b"NOT_FOUND", b"NOT_STORED"),
                     "-NOT_FOUND", "+NOT_STORED")

    def test_another_letter_case(self):
        self.differs(lambda a: a.replace(b"END", b"End"))

    def test_another_value_and_other_flags(self):
        self.differs(lambda a: a.replace(b"\r\nx\r\n", b"\r\nz\r\n"))
        self.differs(lambda a: re.sub(rb"(VALUE \S+) 0", rb"\1 1", a, count=1))

    def test_another_key(self):
        self.differs(lambda a: re.sub(rb"VALUE (\S+)a ", rb"VALUE \1b ", a,
                                      count=1))

    def test_a_line_end_less(self):
        self.differs(lambda a: a.replace(b"STORED\r\n", b"STORED", 1))
        self.differs(lambda a: a.replace(b"\r\nx\r\n", b"\r\nx\n", 1))

    def test_a_blank_more(self):
        self.differs(lambda a: a.replace(b"STORED\r\n", b"STORED \r\n", 1))

    def test_replies_in_another_order(self):
        def swap(reply):
            lines = reply.split(b"\r\n")
            found = lines.index(b"NOT_FOUND")
            lines[found - 1:found + 1] = lines[found:found - 2:-1]
            return b"\r\n".join(lines)
        self.differs(swap)

    def test_a_reply_less_and_a_reply_more(self):
        self.differs(lambda a: a.replace(b"NOT_FOUND\r\n", b""))
        self.differs(lambda a: a.replace(b"NOT_FOUND\r\n",
                                         b"NOT_FOUND\r\nERROR\r\n"))

    def test_equal_cas_values_made_different(self):
        self.differs(lambda a: re.sub(rb" c(\d+)", rb" c1\1", a), "c{cas3}")

    def test_different_cas_values_made_equal(self):
        def equal(reply):
            cas = re.search(rb"VALUE \S+ 0 1 (\d+)", reply)[1]
            return re.sub(rb"(VALUE \S+b 0 1) \d+", rb"\1 " + cas, reply)
        self.differs(equal)

    def test_cas_values_swapped(self):
        def swap(reply):
            first, second, third = re.finditer(rb"VALUE \S+ 0 1 (\d+)", reply)
            return (reply[:second.start(1)] + first[1]
                    + reply[second.end(1):third.start(1)] + second[1]
                    + reply[third.end(1):])
        self.differs(swap)

    def test_other_cas_values_of_the_same_relation_agree(self):
        self.case(TEXT)
        def shift(reply):
            reply = re.sub(rb"(VALUE \S+ 0 1) (\d+)", rb"\1 7\2", reply)
            return re.sub(rb" c(\d+)", rb" c7\1", reply)
        self.output_of(shift, code=0)

    def test_a_cas_value_of_zero(self):
        self.differs(lambda a: re.sub(rb" c\d+", b" c0", a))

    def test_a_time_within_the_tolerance_agrees_and_beyond_differs(self):
        self.case(TEXT)
        self.output_of(lambda a: re.sub(rb" t\d+", b" t98", a), code=0)
        self.differs(lambda a: re.sub(rb" t\d+", b" t80", a))
        self.differs(lambda a: re.sub(rb" t\d+", b" t-1", a))

    def test_a_closed_connection(self):
        self.differs(lambda a: None, "+(closed)")

    def test_a_connection_closed_behind_the_answer(self):
        self.case("case two\n> version\n\n> delete {a}\n")
        said = self.output_of(lambda a: None if b"NOT_FOUND" in a else a)
        self.assertIn("own/two step 2 differs", said)

    def test_a_connection_that_stays_open(self):
        self.case("case quits\n> quit\n! eof\n")
        self.output_of(lambda a: a, code=0)
        over = threading.Event()
        try:
            said = self.output_of(lambda a: over.wait() and a, "--timeout",
                                  "3")
        finally:
            over.set()
        self.assertIn("+(no answer in time)", said)

    def test_an_answer_that_never_comes(self):
        self.case(TEXT)
        said = self.output_of(lambda a: a[:-4], "--timeout", "3")
        self.assertIn("+(no answer in time)", said)

    def test_binary_fields(self):
        fence = struct.pack(">IQ", 0x6D6E6D6E, 0)
        self.case(BINARY, "binary")
        self.output_of(lambda a: a, code=0, ends=fence)
        # Of the first frame: opcode, key length, data type, status, opaque.
        for at in (1, 3, 5, 7, 15):
            def alter(reply, at=at):
                return (reply[:at] + bytes([reply[at] ^ 1])
                        + reply[at + 1:])
            with self.subTest(at=at):
                said = self.output_of(alter, "--timeout", "3", ends=fence)
                self.assertIn("own/two-keys step 1 differs", said)
        # Of the second: flags, value, CAS.
        for at in (24 + 23, 24 + 24 + 3, 24 + 24 + 4):
            def alter_second(reply, at=at):
                return (reply[:at] + bytes([reply[at] ^ 1])
                        + reply[at + 1:])
            with self.subTest(at=at):
                self.output_of(alter_second, ends=fence)

    def test_pieces_come_one_by_one(self):
        self.case("case one\n> version\n> delete x\n")
        whole = b"version\r\ndelete x\r\n"
        for mode, expected in (
                ("whole", [whole, b"mn\r\n"]),
                ("bytes", [bytes([byte]) for byte in whole] + [b"mn\r\n"])):
            relay = lying_relay.LyingRelay(SERVERS[1], lambda a: a)
            self.addCleanup(relay.close)
            self.run_own("--split", mode, code=0, target=relay.address)
            self.assertEqual(relay.pieces, expected)

    def test_a_difference_in_the_list_is_allowed(self):
        self.case(TEXT)
        self.allow("own/two-keys | 1 | *End* | it likes it so")
        said = self.output_of(lambda a: a.replace(b"END", b"End"), code=0)
        self.assertIn("1 differ as allowed", said)

    def test_another_difference_in_the_same_step_is_not(self):
        self.case(TEXT)
        self.allow("own/two-keys | 1 | *eND* | it likes it so")
        said = self.output_of(lambda a: a.replace(b"END", b"End"))
        self.assertIn("differs", said)
        self.assertIn("no longer different: | own/two-keys | 1 |", said)

    def test_steps_behind_an_allowed_difference_are_compared(self):
        self.case(TEXT + "\n> delete {a}\n")
        self.allow("own/two-keys | 1 | *eND* | it likes it so")
        said = self.output_of(lambda a: a.replace(b"END", b"eND")
                              .replace(b"DELETED", b"deleted"))
        self.assertIn("own/two-keys step 2 differs", said)
        self.assertNotIn("step 1 differs", said)

    def test_an_entry_that_no_longer_differs_fails(self):
        self.case(TEXT)
        self.allow("own/two-keys | 1 | * | it was so once")
        self.assertIn("1 entries of the list no longer differ",
                      self.output_of(lambda a: a))
        self.allow("own/nothing | 1 | * | no such case")
        self.assertIn("no longer different: | own/nothing",
                      self.output_of(lambda a: a))


class ReferenceTest(ConformanceCase):

    def test_a_reference_that_does_not_answer_as_the_case_says(self):
        for text in ("> get {a}\n< VALUE {a} 0 1\n< x\n< END\n",
                     "> get {a}\n< end\n", "> get {a}\n<~ E[0-9]D\n"):
            self.case("case wrong\n" + text)
            self.assertIn("1 not as the case says", self.run_own(code=1))

    def test_a_reference_that_does_not_end_its_answer(self):
        self.case("case waits\n> set {a} 0 0 100\n> x\n")
        self.assertIn("does not end its answer",
                      self.run_own("--timeout", "3", code=1))

    def test_binary_expectations(self):
        for field in ("status=0", "opaque=4", "value=x", "cas=7", "flags=0",
                      "opcode=set", "key=x"):
            self.case("case wrong\n> opcode=get key={a} opaque=3\n"
                      f"< {field}\n", "binary")
            self.assertIn("1 not as the case says", self.run_own(code=1))

    def test_cas_names_not_seen_yet_are_an_error_of_the_case(self):
        self.case("case wrong\n> cas {a} 0 0 1 {=cas1}\n> x\n")
        self.assertIn("never answered: cas1", self.run_own(code=2))

    def test_terminated_it_ends_its_servers(self):
        self.case("case waits\n> version\n")
        asked = threading.Event()
        relay = lying_relay.LyingRelay(SERVERS[1],
                                       lambda a: asked.set() or b"")
        self.addCleanup(relay.close)
        with subprocess.Popen(
                [RUN, "--target", relay.address, "--timeout", "120",
                 "--folder",
                 os.path.join(self.folder, "cases")],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
            self.assertTrue(asked.wait(START_S))
            with open(f"/proc/{run.pid}/task/{run.pid}/children",
                      encoding="ascii") as file:
                pids = file.read().split()
            run.terminate()
        self.assertEqual(run.returncode, 2)
        self.assertEqual(len(pids), 1)
        # Its parent gone, it may wait for its last one to take note.
        stat = member_process.read_stat(int(pids[0]))
        self.assertTrue(stat is None or stat[0] == "Z", stat)

    def test_what_cannot_be_tried(self):
        self.case(TEXT)
        self.assertIn("neither", self.run_suite("--target", "x").stderr)
        self.assertIn("refused", self.run_own(target="127.0.0.1:1", code=2))
        self.assertIn("no case is called",
                      self.run_own("--cases", "nothing", code=2))


class CaseFileTest(ConformanceCase):

    def refused(self, text, why):
        self.case(text)
        with self.assertRaisesRegex(case_file.CaseError, why):
            case_file.read_all(os.path.join(self.folder, "cases"))

    def test_what_is_not_understood_names_its_line(self):
        self.refused("> get a\n", ":1: no case yet")
        self.refused("case a\n> x\n! nothing\n", ":3: no such directive")
        self.refused("case a\n> x\n! eof now\n", ":3: no such directive")
        self.refused("case a\n# b\nget a\n", ":3: not understood")
        self.refused("case a\n>~ x\n", ":2: not understood")
        self.refused("case a\n> x\ncase a\n> y\n", ":3: a second own/a")
        self.refused("case a\ncase b\n> x\n", ":1: own/a has no step")
        self.refused("case a\n> x\n! repeat\n", "repeats without an end")
        self.refused("case a b\n", ":1: case NAME")

    def test_steps_end_by_blank_lines_expectations_and_directives(self):
        self.case("case a\n> 1\n> 2\n\n> 3\n< x\n> 4\n! eof\n> 5\n"
                  "! connection 2\n> 6\n")
        steps = case_file.read_all(os.path.join(self.folder, "cases"))[0].steps
        self.assertEqual([[line.text for line in s.lines] for s in steps],
                         [["1", "2"], ["3"], ["4"], ["5"], ["6"]])
        self.assertEqual([s.connection for s in steps],
                         ["1", "1", "1", "1", "2"])

    def test_templates(self):
        scope = template.Scope(b"run00001.", 1000, symbols.Symbols())
        scope.symbols.name(77)
        for text, said in (
                (r"a\r\n\t\0\x7f\\\{", b"a\r\n\t\0\x7f\\{"),
                ("{a}", b"run00001.a"), ("{a*12}", b"run00001.axx"),
                ("{k1..2}", b"run00001.k1 run00001.k2"),
                ("{fill limit-996}", b"0123"), ("{=limit+1-2}", b"999"),
                ("{=cas1+1}", b"78"), ("{b64:a}", b"cnVuMDAwMDEuYQ==")):
            self.assertEqual(template.expand(text, scope), said)
        for text in ("{A}", "{a*3}", r"\q", "{", "{=x}", "{=}", "a}{b"):
            with self.assertRaises(template.TemplateError, msg=text):
                template.expand(text, scope)

    def test_frames(self):
        scope = template.Scope(b"run00001.", 1000, symbols.Symbols())
        self.assertEqual(
            frame.encode("opcode=set key=k flags=5 expiry=6 value=v opaque=7 "
                         "cas=8", scope, 1).hex(),
            "80010001080000000000000a000000070000000000000008"
            "00000005000000066b76")
        for text in ("opcode", "nothing=1"):
            with self.assertRaises(template.TemplateError):
                frame.encode(text, scope, 1)

    def test_pieces(self):
        self.assertEqual(split.pieces(split.WHOLE, 0, b"abc"), [b"abc"])
        self.assertEqual(split.pieces(split.BYTES, 0, b"abc"),
                         [b"a", b"b", b"c"])
        self.assertEqual([split.pieces(split.EVERY, v, b"abc")
                          for v in split.variants(split.EVERY, [3, 2])],
                         [[b"a", b"bc"], [b"ab", b"c"]])
        self.assertEqual(split.variants(split.WHOLE, [3]), [0])

    def test_the_list_of_differences(self):
        for row in ("| a/b | x | y | z |", "| a/b | 1 | y |",
                    "| a/b | 1 | y | |"):
            self.write("list", row + "\n")
            with self.assertRaises(allowed.AllowedError):
                allowed.read(os.path.join(self.folder, "list"))
        row = r"| a/b | 2 | on\|off\r\n | a reason |"
        self.write("list", "# comment\n" + row + "\n")
        entry, = allowed.read(os.path.join(self.folder, "list"))
        self.assertEqual((entry.answer, str(entry)), (r"on|off\r\n", row))
        self.assertTrue(entry.covers("a/b", 2, r"on|off\r\n"))
        self.assertFalse(entry.covers("a/b", 1, r"on|off\r\n"))
        names = [case.name for case in case_file.read_all()]
        for entry in allowed.read():
            self.assertIn(entry.case, names)

    def test_answers_show_the_names_of_keys(self):
        scope = template.Scope(b"run00001.", 1000, symbols.Symbols())
        got = answer.Answer(b"VALUE run00001.a 0 1 9\r\nx\r\n"
                            b"HD kcnVuMDAwMDEuYf8= t5\r\n", "complete")
        self.assertEqual(got.read(False, False, scope).text(),
                         r"VALUE {a} 0 1 {cas1}\r\nx\r\n"
                         r"HD k{b64:a\xff} t5\r\n")


if __name__ == "__main__":
    unittest.main()
