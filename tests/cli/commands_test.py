"""Every command of ersctl, in text and JSON, on a healthy cluster."""

import json
import os
import pty
import select
import subprocess
import time
import unittest

from ctl_case import (BAD_USAGE, DEADLINE_S, DONE, ERSCTL, NOT_FOUND,
                      OBJECT_KEYS, CtlCase, random_bytes)


class PutGetTest(CtlCase):

    def test_sizes_through_files_and_pipes(self):
        for size in (0, 1, 1570, 1590, 98_303, 98_304, (8 << 20) + 1):
            with self.subTest(size=size):
                data = random_bytes(size, seed=size)
                key = f"size-{size}"
                self.ctl("put", key, self.file("in", data))
                self.check(key, data)
                self.ctl("put", key, "-", data=data[::-1])
                self.ctl("get", key, "-o", self.path("out"))
                self.assertTrue(self.read("out") == data[::-1])

    def test_every_kind_of_scheme_and_both_widths(self):
        data = random_bytes(200_000, seed=1)
        for scheme in ("rep:2", "rs:4,1", "srs:2,1,3", "ers1:4,1,5",
                       "ers2:4,1,5"):
            with self.subTest(scheme=scheme):
                info = self.put("schemes", data, "--scheme", scheme)
                self.assertEqual(info["scheme"], scheme)
                self.assertEqual(info["width"], "narrow")
                self.check("schemes", data)
        info = self.put("schemes", data, "--scheme", "ers2:4,1,5",
                        "--width", "wide")
        self.assertEqual(info["width"], "wide")
        self.check("schemes", data)

    def test_a_chain_goes_from_any_width_to_any_other(self):
        data = random_bytes(200_000, seed=3)
        scheme = "ers:2-3-4,1"
        for before in ("2", "3", "4"):
            for to in ("2", "3", "4"):
                if before == to:
                    continue
                with self.subTest(before=before, to=to):
                    info = self.put("chain", data, "--scheme", scheme,
                                    "--width", before)
                    self.assertEqual((info["scheme"], info["width"]),
                                     (scheme, before))
                    done = self.ctl_json("transition", "chain", "--to", to)
                    self.assertEqual((done["path"], done["object"]["width"]),
                                     ("plan", to))
                    self.check("chain", data)
        for to, width in (("narrow", "2"), ("wide", "4")):
            done = self.ctl_json("transition", "chain", "--to", to)
            self.assertEqual(done["object"]["width"], width)
        self.ctl("transition", "chain", "--to", "3")
        self.assertEqual(self.ctl("ls", "--width", "3"),
                         b"chain\ters:2-3-4,1\t3\t200000\n")
        self.assertEqual(self.ctl("ls", "--width", "wide"), b"")
        self.assertIn(b"ers:2-3-4,1, width 3",
                      self.ctl("get", "chain", "-o", self.path("out")))

    def test_put_json(self):
        before = int(time.time())
        info = self.put("shape", b"x" * 9000, "--flags", "7", "--expire", "100")
        self.assertEqual(list(info), OBJECT_KEYS)
        self.assertEqual(info["key"], "shape")
        self.assertEqual(info["length"], 9000)
        self.assertEqual(info["flags"], 7)
        self.assertIs(info["inline"], False)
        self.assertRegex(info["version"], "^[0-9a-f]{32}$")
        self.assertLessEqual(before + 100, info["expiry"])
        self.assertLessEqual(info["expiry"], int(time.time()) + 100)

    def test_inline_below_decides_where_a_value_is(self):
        # From there on coding saves an eighth of the memory.
        for unit, longest, more in (
                ("columns", 1578, ()),
                ("blocks", 6138, ("--column-below", "0"))):
            self.assertTrue(
                self.put("small", b"x" * longest, *more)["inline"])
            coded = self.put("small", b"x" * (longest + 1), *more)
            self.assertEqual((coded["inline"], coded["unit"]), (False, unit))
        self.assertFalse(
            self.put("small", b"x", "--inline-below", "0")["inline"])
        self.check("small", b"x")

    def test_an_expired_object_is_not_found(self):
        self.put("short-lived", b"x", "--expire", "1")
        deadline = time.monotonic() + DEADLINE_S
        while self.run_ctl("get", "short-lived").returncode != NOT_FOUND:
            self.assertLess(time.monotonic(), deadline, "it never expired")

    def test_get_range_ends_with_its_last_byte(self):
        data = random_bytes(300_000, seed=2)
        self.put("range", data)
        for first, last in ((0, 0), (0, 9), (1234, 299_999),
                            (299_999, 299_999), (299_990, 999_999)):
            with self.subTest(first=first, last=last):
                got = self.ctl("get", "range", "--range", f"{first}-{last}")
                self.assertEqual(got, data[first:last + 1])
        self.ctl("get", "range", "--range", "5-9", "-o", self.path("part"))
        self.assertEqual(self.read("part"), data[5:10])

    def test_a_range_longer_than_a_group(self):
        data = random_bytes(20 << 20, seed=3)
        self.put("long-range", data)
        got = self.ctl("get", "long-range", "--range", f"1-{len(data) - 2}")
        self.assertTrue(got == data[1:-1])

    def test_get_json_with_a_file_and_without(self):
        self.put("report", b"value")
        keys = OBJECT_KEYS + ["degraded", "repaired_blocks"]
        info = self.ctl_json("get", "report", "-o", self.path("out"))
        self.assertEqual(list(info), keys)
        result = self.run_ctl("get", "report", "--json")
        self.assertEqual(result.stdout, b"value")
        self.assertEqual(list(json.loads(result.stderr)), keys)

    def test_output_replaces_a_file_and_keeps_its_mode(self):
        self.put("mode", b"new")
        path = self.file("target", b"old and longer")
        os.chmod(path, 0o640)
        os.symlink(path, self.path("link"))
        self.ctl("get", "mode", "-o", self.path("link"))
        self.assertEqual(self.read("target"), b"new")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        self.assertTrue(os.path.islink(self.path("link")))

    def test_keys_may_be_names_of_commands_and_begin_with_a_dash(self):
        self.put("get", b"1")
        self.check("get", b"1")
        self.ctl("put", "--", "-x", self.file("in", b"2"))
        self.assertEqual(self.ctl("get", "--", "-x"), b"2")


class ChangeTest(CtlCase):

    def test_update(self):
        data = bytearray(random_bytes(100_000, seed=4))
        self.put("update", bytes(data))
        before = self.ctl_json("stat", "update")
        data[70_000:70_005] = b"Hello"
        info = self.ctl_json("update", "update", "--offset", "70000",
                             self.file("piece", b"Hello"))
        self.assertEqual(list(info), OBJECT_KEYS)
        self.assertNotEqual(info["cas"], before["cas"])
        self.check("update", bytes(data))
        data[-3:] = b"end"
        self.ctl("update", "update", "--offset", "99997", "-", data=b"end")
        self.check("update", bytes(data))

    def test_append(self):
        self.put("append", b"one")
        info = self.ctl_json("append", "append", self.file("more", b" two"))
        self.assertEqual(list(info), OBJECT_KEYS)
        self.assertEqual(info["length"], 7)
        more = random_bytes(50_000, seed=5)
        self.ctl("append", "append", "-", data=more)
        self.check("append", b"one two" + more)

    def test_rm(self):
        self.put("rm", b"x")
        self.assertEqual(self.ctl_json("rm", "rm"),
                         {"key": "rm", "removed": True})
        self.refused(NOT_FOUND, "rm", "rm", "rm")

    def test_what_is_not_there_is_not_found(self):
        for words in (["get", "none"], ["stat", "none"], ["rm", "none"],
                      ["update", "none", "--offset", "0", "-"],
                      ["append", "none", "-"],
                      ["transition", "none", "--to", "wide"]):
            with self.subTest(words=words):
                self.refused(NOT_FOUND, "none", *words, data=b"x")
                result = self.run_ctl(*words, "--json", data=b"x")
                self.assertEqual(result.returncode, NOT_FOUND)
                self.assertEqual(result.stdout, b"")
                error = json.loads(result.stderr)["error"]
                self.assertEqual(list(error), ["code", "message", "exit"])
                self.assertEqual(error["code"], "not-found")
                self.assertEqual(error["exit"], NOT_FOUND)


class InspectTest(CtlCase):

    def test_a_short_value_may_be_in_columns(self):
        value = random_bytes(9000, seed=8)
        self.ctl("put", "columns", "-", "--column-below", "9001", data=value)
        detail = self.ctl_json("stat", "columns")
        self.assertEqual(detail["unit"], "columns")
        self.assertEqual([block["kind"] for block in detail["blocks"]],
                         ["data"] * 5 + ["parity"])
        self.assertIn(b"in columns", self.ctl("stat", "columns"))
        self.assertEqual(self.ctl("get", "columns"), value)
        self.ctl("put", "columns", "-", "--column-below", "9000", data=value)
        self.assertEqual(self.ctl_json("stat", "columns")["unit"], "blocks")

    def test_stat_names_every_block(self):
        self.put("stat", random_bytes(100_000, seed=6))
        detail = self.ctl_json("stat", "stat")
        self.assertEqual(list(detail), OBJECT_KEYS + ["replicas", "blocks"])
        self.assertEqual(len(detail["replicas"]), 2)
        blocks = detail["blocks"]
        # (4,1,5): 20 data blocks and a parity for each of 5 narrow stripes.
        self.assertEqual(sum(b["kind"] == "data" for b in blocks), 20)
        self.assertEqual(sum(b["kind"] == "parity" for b in blocks), 5)
        self.assertEqual(sorted(blocks[0]), sorted([
            "group", "block", "kind", "stripe", "node", "server", "bytes",
            "present"]))
        for block in blocks:
            self.assertIs(block["present"], True)
            self.assertIn(block["server"], self.servers.split(","))
            self.assertIn(block["node"], range(6))
            self.assertGreater(block["bytes"], 0)
        for stripe in range(5):
            nodes = [b["node"] for b in blocks if b["stripe"] == stripe]
            self.assertEqual(len(set(nodes)), 5, f"stripe {stripe}")
        text = self.ctl("stat", "stat").decode()
        self.assertIn(detail["version"], text)
        self.assertEqual(text.count("parity"), 5)

    def test_transition_there_and_back(self):
        data = random_bytes(100_000, seed=7)
        self.put("there", data)
        before = self.ctl_json("stat", "there")
        there = self.ctl_json("transition", "there", "--to", "wide")
        self.assertEqual(list(there)[:7],
                         ["path", "data_reads", "parity_reads", "writes",
                          "bytes_read", "bytes_written", "microseconds"])
        self.assertEqual(there["path"], "plan")
        # Counts of (4,1,5) by the lower bound of either direction.
        self.assertEqual(there["data_reads"] + there["parity_reads"], 8)
        self.assertEqual(there["writes"], 4)
        self.assertEqual(there["object"]["width"], "wide")
        self.assertEqual(there["object"]["cas"], before["cas"])
        self.check("there", data)
        back = self.ctl_json("transition", "there", "--to", "narrow")
        self.assertEqual(back["data_reads"] + back["parity_reads"], 8)
        self.assertEqual(back["writes"], 5)
        self.check("there", data)

    def test_the_plans_differ(self):
        data = random_bytes(100_000, seed=8)
        self.put("plans", data)
        self.ctl("transition", "plans", "--to", "wide", "--plan", "paper")
        info = self.ctl_json("transition", "plans", "--to", "narrow",
                             "--plan", "no-order")
        self.assertEqual(info["data_reads"], 7)
        self.check("plans", data)

    def test_transition_to_another_scheme(self):
        data = random_bytes(100_000, seed=9)
        self.put("other", data, "--scheme", "rep:2")
        info = self.ctl_json("transition", "other", "--to", "ers2:2,1,3")
        self.assertEqual(info["path"], "reencode")
        self.assertEqual(info["object"]["scheme"], "ers2:2,1,3")
        self.check("other", data)

    def test_servers(self):
        self.put("any", b"x")
        info = self.ctl_json("servers")
        self.assertEqual(list(info), ["epoch", "max_failures", "servers"])
        self.assertGreater(info["epoch"], 0)
        self.assertEqual(sorted(s["name"] for s in info["servers"]),
                         sorted(self.servers.split(",")))
        for server in info["servers"]:
            self.assertEqual(list(server), [
                "name", "slot", "weight", "state", "incarnation", "since",
                "answers", "reachable", "version", "item_size_max", "evictions",
                "last_error", "latency"])
            self.assertIsNone(server["latency"])  # only a proxy has it
            self.assertIs(server["answers"], True)
            self.assertIs(server["reachable"], True)
            self.assertEqual(server["item_size_max"], 8 << 20)
        text = self.ctl("servers").decode()
        for name in self.servers.split(","):
            self.assertIn(name, text)


class ListTest(CtlCase):

    def test_ls(self):
        self.assertEqual(self.ctl_json("ls"), [])
        self.assertEqual(self.ctl("ls"), b"")
        self.put("n", b"x" * 5000)
        self.put("w", b"x" * 6000, "--width", "wide")
        self.put("inline", b"x")
        self.put("gone", b"x")
        self.ctl("rm", "gone")
        objects = {o["key"]: o for o in self.ctl_json("ls")}
        self.assertEqual(sorted(objects), ["inline", "n", "w"])
        self.assertEqual(list(objects["n"]), OBJECT_KEYS)
        self.assertEqual(objects["w"]["length"], 6000)
        self.put("ers!named", b"like our own items")
        self.assertIn("ers!named", {o["key"] for o in self.ctl_json("ls")})
        self.ctl("rm", "ers!named")
        wide = self.ctl_json("ls", "--width", "wide")
        self.assertEqual([o["key"] for o in wide], ["w"])
        narrow = self.ctl("ls", "--width", "narrow").decode().splitlines()
        self.assertEqual(sorted(narrow), ["inline\ters2:4,1,5\tnarrow\t1",
                                          "n\ters2:4,1,5\tnarrow\t5000"])


class TerminalAndPipeTest(CtlCase):

    def start(self, *words, **options):
        process = subprocess.Popen([ERSCTL, *words], env=self.environment(),
                                   **options)
        self.addCleanup(process.wait, DEADLINE_S)
        return process

    def test_a_reader_that_leaves_a_value(self):
        self.put("pipe", random_bytes(4 << 20, seed=10))
        with self.start("get", "pipe", stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE) as process:
            process.stdout.read(1)
            process.stdout.close()
            message = process.stderr.read().decode()
        self.assertEqual(process.returncode, BAD_USAGE)
        self.assertIn("standard output", message)

    def test_a_reader_that_leaves_a_report_is_no_error(self):
        self.put("pipe2", b"x")
        read_end, write_end = os.pipe()
        os.close(read_end)
        with self.start("stat", "pipe2", stdout=write_end,
                        stderr=subprocess.PIPE) as process:
            os.close(write_end)
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.returncode, DONE)

    def test_progress_shows_on_a_terminal_while_work_is_long(self):
        terminal, inside = pty.openpty()
        self.addCleanup(os.close, terminal)
        process = self.start("put", "slow", "-", stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=inside)
        os.close(inside)
        # The value does not end before the progress was seen.
        process.stdin.write(b"x" * 100_000)
        process.stdin.flush()
        seen = b""
        while b"put slow" not in seen:
            ready, _, _ = select.select([terminal], [], [], DEADLINE_S)
            self.assertTrue(ready, "no progress was shown")
            seen += os.read(terminal, 4096)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE_S), DONE)

    def test_no_progress_in_a_pipe(self):
        process = self.start("put", "slow2", "-", stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # Longer than the patience of the progress line.
        ready, _, _ = select.select([process.stderr], [], [], 1.0)
        self.assertFalse(ready)
        process.stdin.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(DEADLINE_S), DONE)


class HelpTest(CtlCase):
    up = ("-n", "1")

    def test_help_and_version(self):
        text = self.ctl("--help", servers="").decode()
        self.assertIn("Examples:", text)
        for name in ("put", "get", "update", "append", "rm", "stat",
                     "transition", "export", "job", "ls", "servers"):
            self.assertIn(f"\n  {name} ", text)
            self.assertIn("Example",
                          self.ctl(name, "--help", servers="").decode())
        for name in ("start", "show", "watch", "pause", "resume", "cancel",
                     "forget"):
            self.assertRegex(self.ctl("job", name, "--help", servers=""),
                             rf"Example: .* job {name} ".encode())
        self.assertRegex(self.ctl("--version", servers=""),
                         rb"^ersctl \d+\.\d+\.\d+\n$")


class ManyTest(CtlCase):

    def test_a_transition_of_many(self):
        for number in range(12):
            self.put(f"many{number}", b"x" * 9000)
        self.put("other", b"x" * 9000)
        self.ctl("transition", "many0", "--to", "wide")
        report = self.ctl_json("transition", "--to", "wide", "--prefix",
                               "many", "--parallel", "3")
        self.assertEqual(
            (report["selected"], report["changed"], report["already"],
             report["gone"], report["failed"], report["errors"]),
            (12, 11, 1, 0, 0, []))
        self.assertGreater(report["bytes_read"], 11 * 9000 // 2)
        wide = [row["key"] for row in self.ctl_json("ls", "--width", "wide")]
        self.assertEqual(sum(key.startswith("many") for key in wide), 12)
        text = self.ctl("transition", "many1", "other", "--to", "wide")
        self.assertIn(b"changed 1 of 2 objects", text)
        self.assertEqual(self.ctl_json("stat", "other")["width"], "wide")

    def test_a_rate_is_kept(self):
        for number in range(4):
            self.put(f"slow{number}", b"x" * 9000)
        began = time.monotonic()
        report = self.ctl_json("transition", "--to", "wide", "--prefix",
                               "slow", "--rate", "50kB/s", "--parallel", "1")
        moved = report["bytes_read"] + report["bytes_written"]
        self.assertEqual(report["changed"], 4)
        # Before the last object there is a wait for all but what it moves.
        self.assertGreater(time.monotonic() - began, moved * 3 / 4 / 50e3 * 0.9)

    def test_what_fails_is_named_and_the_rest_is_done(self):
        self.put("elastic", b"x" * 9000)
        self.put("rigid", b"x" * 9000, "--scheme", "rs:4,1")
        result = self.run_ctl("transition", "elastic", "rigid", "absent",
                              "--to", "wide", "--json")
        self.assertEqual(result.returncode, BAD_USAGE)
        report = json.loads(result.stdout)
        self.assertEqual((report["changed"], report["gone"],
                          report["failed"]), (1, 1, 1))
        self.assertEqual(sorted((error["key"], error["code"])
                                for error in report["errors"]),
                         [("absent", "not-found"),
                          ("rigid", "invalid-argument")])
        self.assertEqual(self.ctl_json("stat", "elastic")["width"], "wide")
        for why, words in (("name either keys", []),
                           ("name either keys", ["k", "--all"]),
                           ("leave out --all", ["--all", "--prefix", "k"])):
            self.refused(BAD_USAGE, why, "transition", "--to", "wide", *words)


class ParityTest(CtlCase):

    def test_more_and_less_parity(self):
        data = random_bytes(100_000, seed=12)
        self.put("more", data, "--scheme", "ers2:2,1,3", "--width", "wide",
                 "--max-failures", "2")
        info = self.ctl_json("transition", "more", "--to", "ers2:2,2,3")
        self.assertEqual(info["path"], "parity")
        self.assertEqual((info["data_reads"], info["parity_reads"],
                          info["writes"]), (6, 0, 2))
        self.assertEqual((info["object"]["scheme"], info["object"]["width"]),
                         ("ers2:2,2,3", "wide"))
        self.check("more", data)
        text = self.ctl("transition", "more", "--to", "ers2:2,1,3").decode()
        self.assertIn("by parity: read 0 data and 0 parity blocks", text)
        self.assertIn("wrote 0 blocks", text)
        self.check("more", data)

    def test_width_and_parity_at_once(self):
        data = random_bytes(100_000, seed=13)
        self.put("both", data, "--scheme", "ers2:2,1,3", "--max-failures", "2")
        for to, counts, scheme in (("wide,2", (6, 0, 4), "ers2:2,2,3"),
                                   ("narrow,1", (2, 2, 3), "ers2:2,1,3")):
            info = self.ctl_json("transition", "both", "--to", to)
            self.assertEqual(info["path"], "plan")
            self.assertEqual((info["data_reads"], info["parity_reads"],
                              info["writes"]), counts)
            self.assertEqual((info["object"]["scheme"],
                              info["object"]["width"]),
                             (scheme, to.split(",")[0]))
            self.check("both", data)
        for to, why in (("wide,3", "max_failures"), ("wide,0", "behind the")):
            self.refused(BAD_USAGE, why, "transition", "both", "--to", to)


if __name__ == "__main__":
    unittest.main()
