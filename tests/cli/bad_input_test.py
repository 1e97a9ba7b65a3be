"""What a user may get wrong: a clear error each, and nothing lost."""

import base64
import json
import os
import resource
import subprocess
import unittest

from ctl_case import (ALREADY_SO, BAD_USAGE, CLUSTER_ERROR, DEADLINE_S, DONE,
                      ERSCTL, NOT_FOUND, REPORT_LOST, CtlCase, ask,
                      random_bytes)


class BadUsageTest(CtlCase):

    def setUp(self):
        super().setUp()
        self.value = random_bytes(100_000, seed=1)
        self.put("kept", self.value)

    def tearDown(self):
        self.check("kept", self.value)

    def test_command_lines(self):
        self.file("f", b"x")
        for text, words in (
                ("a command is missing", []),
                ("KEY", ["get"]),
                ("FILE", ["put", "kept"]),
                ("--offset", ["update", "kept", "f"]),
                ("--offset", ["update", "kept", "f", "--offset", "-1"]),
                ("--to", ["transition", "kept"]),
                ("--plan", ["transition", "kept", "--to", "wide", "--plan",
                            "best"]),
                ("sideways", ["transition", "kept", "--to", "sideways"]),
                ("--width", ["ls", "--width", "broad"]),
                ("--width", ["put", "kept", "f", "--width", "broad"]),
                ("--width", ["ls", "--width", "0"]),
                ("has no width 3", ["put", "kept", "f", "--width", "3"]),
                ("has no such width", ["transition", "kept", "--to", "3"]),
                ("--flags", ["put", "kept", "f", "--flags", "-1"]),
                ("--flags", ["put", "kept", "f", "--flags", "4294967296"]),
                ("4294967295", ["put", "kept", "f", "--flags", "4294967296"]),
                ("268435456", ["update", "kept", "f", "--offset", "-1"]),
                ("268435456", ["update", "kept", "f", "--offset",
                               "18446744073709551615"]),
                ("number of bytes", ["put", "kept", "f", "--inline-below", "-1"]),
                ("1048576", ["put", "kept", "f", "--inline-below",
                             "99999999999"]),
                ("--scheme", ["put", "kept", "f", "--scheme", ""]),
                ("--state", ["get", "kept", "--state", ""]),
                ("-o: it is empty", ["get", "kept", "-o", ""]),
                ("--state needs a value behind it, and --frob follows",
                 ["--state", "--frob", "ls"]),
                ("-o needs a value behind it, and --range follows",
                 ["get", "kept", "-o", "--range", "0-1"]),
                ("--pattern needs a value behind it, and --dry-run follows",
                 ["export", "--pattern", "--dry-run"]),
                ("--json takes no value", ["ls", "--json=maybe"]),
                ("'1.5' is not a whole number from 1 to 254",
                 ["ls", "--max-failures", "1.5"]),
                ("leave out --all", ["export", "--all", "--prefix", "k"]),
                ("leave out --all", ["export", "--all", "--pattern", "k"]),
                ("PATTERN: no regular expression", ["verify", "("]),
                ("--pattern: no regular expression",
                 ["export", "--pattern", "("]),
                ("give --proxy or --max-failures, not both",
                 ["--proxy", "a:1", "--max-failures", "2", "ls"]),
                ("give --proxy or --min-redundancy, not both",
                 ["--proxy", "a:1", "--min-redundancy", "2", "ls"]),
                ("--range", ["get", "kept", "--range", ""]),
                ("--expire", ["put", "kept", "f", "--expire", "soon"]),
                ("--expire", ["put", "kept", "f", "--expire", "0"]),
                ("--timeout", ["get", "kept", "--timeout", "0"]),
                ("--timeout", ["get", "kept", "--timeout", "nan"]),
                ("--request-timeout",
                 ["get", "kept", "--request-timeout", "0"]),
                ("--max-failures", ["get", "kept", "--max-failures", "0"]),
                ("--nonsense", ["get", "kept", "--nonsense"]),
                ("frob", ["frob"]),
                ("--range", ["get", "kept", "--range", "9-5"]),
                ("--range", ["get", "kept", "--range", "5"]),
                ("--range", ["get", "kept", "--range", "a-b"]),
                ("--range", ["get", "kept", "--range", "0-5x"]),
                ("--range", ["get", "kept", "--range",
                             "0-99999999999999999999"])):
            with self.subTest(words=words):
                self.refused(BAD_USAGE, text, *words)

    def test_bad_usage_as_json(self):
        for words in (["get"], ["put", "kept", "/nonexistent"],
                      ["get", "kept", "--range", "x"], ["ls", "--state"],
                      ["get", "kept", "-o"]):
            with self.subTest(words=words):
                result = self.run_ctl(*words, "--json")
                self.assertEqual(result.returncode, BAD_USAGE)
                error = json.loads(result.stderr)["error"]
                self.assertEqual(error["code"], "invalid-argument")
                self.assertEqual(error["exit"], BAD_USAGE)
                self.assertTrue(error["message"])

    def test_schemes(self):
        for scheme in ("ers2:5,1,5", "ers2:6,1,5", "srs:5,2,4",  # k >= k'
                       "rs:4,0", "ers2:4,0,5", "rep:1",  # m = 0
                       "ers1:100,2,254", "rs:200,56",  # k' + m > 255
                       "rs:1,1", "rs:4", "ers2:4,1", "ers3:4,1,5", "rep",
                       "rs:4,1,", "rs:4 ,1", "rs:-4,1", "rs:99999999999,1"):
            with self.subTest(scheme=scheme):
                self.refused(BAD_USAGE, scheme, "put", "kept", "-",
                             "--scheme", scheme, data=b"x")
                self.refused(BAD_USAGE, scheme, "transition", "kept", "--to",
                             scheme)

    def test_too_many_blocks_in_a_group(self):
        # lcm(33, 34) = 1122
        self.refused(BAD_USAGE, "1024", "put", "kept", "-", "--scheme",
                     "ers2:33,1,34", data=self.value)

    def test_fewer_servers_than_nodes(self):
        self.refused(BAD_USAGE, "7", "put", "kept", "-", "--scheme",
                     "ers2:4,2,5", data=self.value)
        self.refused(BAD_USAGE, "7", "transition", "kept", "--to", "rs:6,1")

    def test_server_lists(self):
        first = self.servers.split(",")[0]
        for text, servers in (
                (first, f"{self.servers},{first}"),
                ("nohost", "nohost"),
                ("h:0", f"h:0,{self.servers}"),
                ("h:65536", f"{self.servers},h:65536"),
                ("h:x", "h:x"),
                ("[::1", "[::1:11211"),
                (":11211", ":11211"),
                ("a blank is in it", self.servers.replace(",", ", ")),
                ('without "http://"', f"http://{self.servers}"),
                ('server ""', f"{self.servers},,")):
            with self.subTest(servers=servers):
                self.refused(BAD_USAGE, text, "get", "kept", "--servers",
                             servers)
        self.refused(BAD_USAGE, "--servers", "get", "kept", servers="")

    def test_keys(self):
        self.file("f", b"x")
        for key in ("", "k" * 251, "tab\tkey", "a b", "new\nline", "del\x7f"):
            for words in (["put", key, "f"], ["get", key], ["stat", key],
                          ["rm", key], ["append", key, "f"],
                          ["update", key, "f", "--offset", "0"],
                          ["transition", key, "--to", "wide"]):
                with self.subTest(key=key, command=words[0]):
                    self.refused(BAD_USAGE, "key", *words)
        too_long = base64.b64encode(b"a " * 126).decode()
        self.refused(BAD_USAGE, "key", "put", "base64:" + too_long, "f")
        self.put("k" * 250, b"the longest key")
        self.check("k" * 250, b"the longest key")

    def test_update_beyond_the_end(self):
        for offset, data in ((100_000, b"x"), (99_999, b"xy"),
                             (1 << 28, b"x")):
            with self.subTest(offset=offset):
                self.refused(BAD_USAGE, "end", "update", "kept", "--offset",
                             str(offset), "-", data=data)

    def test_range_beyond_the_end(self):
        self.refused(BAD_USAGE, "end", "get", "kept", "--range",
                     "100001-100002")

    def test_transition_to_the_width_or_scheme_it_has(self):
        for target in ("narrow", "ers2:4,1,5"):
            self.refused(ALREADY_SO, "already", "transition", "kept", "--to",
                         target)
        self.put("wide", b"x" * 5000, "--width", "wide")
        self.refused(ALREADY_SO, "wide", "transition", "wide", "--to", "wide")

    def test_width_of_a_scheme_that_has_one(self):
        self.put("rigid", b"x" * 5000, "--scheme", "rs:4,1")
        self.refused(BAD_USAGE, "rs:4,1", "transition", "rigid", "--to",
                     "wide")

    def test_files(self):
        os.mkdir(self.path("folder"))
        for text, words in (
                ("nofile", ["put", "kept", "nofile"]),
                ("folder", ["put", "kept", "folder"]),
                ("nofile", ["append", "kept", "nofile"]),
                ("nofile", ["update", "kept", "nofile", "--offset", "0"]),
                ("folder", ["get", "kept", "-o", "folder"]),
                ("none/f", ["get", "kept", "-o", "none/f"]),
                ("/dev/full", ["get", "kept", "-o", "/dev/full"])):
            with self.subTest(words=words):
                self.refused(BAD_USAGE, text, *words)
        self.assertEqual(os.listdir(self.work), ["folder"])

    def test_a_value_over_the_limit(self):
        with open(self.path("huge"), "wb") as file:
            file.truncate((256 << 20) + 1)
        self.refused(BAD_USAGE, "huge", "put", "kept", "huge")
        self.refused(BAD_USAGE, "huge", "update", "kept", "huge", "--offset",
                     "0")
        with open("/dev/zero", "rb") as endless:
            result = subprocess.run(
                [ERSCTL, "put", "kept", "-"], stdin=endless,
                capture_output=True, env=self.environment(), cwd=self.work,
                timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, BAD_USAGE, result.stderr)

    def test_a_state_file_that_cannot_be(self):
        self.file("f", b"x")
        self.refused(BAD_USAGE, "--state", "get", "kept", "--state",
                     "f/view")
        os.mkfifo(self.path("pipe"))
        for name in (".", "/dev/full", "/dev/zero", "pipe"):
            with self.subTest(name=name):
                self.refused(CLUSTER_ERROR, "not a regular file", "get",
                             "kept", "--state", name)
        with open(self.path("long"), "wb") as file:
            file.truncate(1 << 30)
        self.refused(CLUSTER_ERROR, "too large", "get", "kept", "--state",
                     "long")

    def test_a_range_that_begins_at_the_end_is_empty(self):
        self.assertEqual(self.ctl("get", "kept", "--range", "100000-100000"),
                         b"")


class LostReportTest(CtlCase):
    """Standard output cannot be written to: what was changed is changed."""

    def run_mute(self, *words, data=b""):
        """Results of the command with a full and with a closed output."""
        for close in (False, True):
            with open("/dev/full", "wb") as full:
                yield subprocess.run(
                    [ERSCTL, *words], input=data, stderr=subprocess.PIPE,
                    stdout=full, env=self.environment(), cwd=self.work,
                    timeout=DEADLINE_S, check=False,
                    preexec_fn=(lambda: os.close(1)) if close else None)

    def test_a_change_is_reported_as_made(self):
        appended = b"start"
        self.put("grows", appended)
        for words in (["append", "grows", "-"],
                      ["append", "grows", "-", "--json"]):
            for result in self.run_mute(*words, data=b"+"):
                appended += b"+"
                self.assertEqual(result.returncode, REPORT_LOST, result.stderr)
                self.assertIn(b"this is done", result.stderr)
                self.check("grows", appended)
        error = json.loads(result.stderr)["error"]
        self.assertEqual(error["code"], "report-lost")
        self.assertEqual(error["exit"], REPORT_LOST)

    def test_every_command_that_changes(self):
        for words in (["put", "k", "-"], ["update", "k", "-", "--offset", "0"],
                      ["transition", "k", "--to", "wide"]):
            self.put("k", b"old" * 5000)
            full, closed = self.run_mute(*words, data=b"new")
            self.assertEqual(full.returncode, REPORT_LOST, full.stderr)
            if words[0] != "transition":  # which is there already
                self.assertEqual(closed.returncode, REPORT_LOST, closed.stderr)
        self.assertEqual(self.ctl_json("stat", "k")["width"], "wide")
        full, closed = self.run_mute("rm", "k")
        self.assertEqual(full.returncode, REPORT_LOST, full.stderr)
        self.assertEqual(closed.returncode, NOT_FOUND, closed.stderr)

    def test_a_file_that_was_written_is_there(self):
        self.put("k", b"value")
        for result in self.run_mute("get", "k", "-o", "out"):
            self.assertEqual(result.returncode, REPORT_LOST, result.stderr)
            self.assertEqual(self.read("out"), b"value")
            os.unlink(self.path("out"))

    def test_a_command_that_only_reads_may_be_repeated(self):
        self.put("k", b"value")
        # The value is no report.
        for code, words in ((BAD_USAGE, ["get", "k"]),
                            (REPORT_LOST, ["stat", "k"]), (REPORT_LOST, ["ls"]),
                            (REPORT_LOST, ["servers"]),
                            (REPORT_LOST, ["--version"])):
            for result in self.run_mute(*words):
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(b"standard output", result.stderr)
                self.assertNotIn(b"do not repeat", result.stderr)
        full, _ = self.run_mute("stat", "k", "--json")
        self.assertEqual(json.loads(full.stderr)["error"]["code"],
                         "report-lost")


class NoHalfFileTest(CtlCase):

    def test_a_failed_get_leaves_the_older_file(self):
        self.put("first", b"a cluster in use")
        self.file("out", b"older")
        self.refused(NOT_FOUND, "none", "get", "none", "-o", "out")
        self.assertEqual(self.read("out"), b"older")
        self.assertEqual(os.listdir(self.work), ["out"])

    def test_a_write_that_fails_midway_leaves_the_older_file(self):
        self.put("long", random_bytes(3 << 20, seed=2))
        self.file("out", b"older")

        def small_files_only():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        self.refused(BAD_USAGE, "out", "get", "long", "-o", "out",
                     preexec_fn=small_files_only)
        self.assertEqual(self.read("out"), b"older")
        self.assertEqual(os.listdir(self.work), ["out"])


class AliasTest(CtlCase):

    def test_one_server_under_two_names(self):
        names = self.servers.split(",")
        port = names[0].rsplit(":", 1)[1]
        self.refused(BAD_USAGE, "one and the same", "put", "k", "-",
                     "--scheme", "rep:2", data=b"x",
                     servers=f"{names[0]},{names[1]},localhost:{port}")


class StateFileTest(CtlCase):

    def test_the_order_of_the_servers_does_not_matter(self):
        views = os.path.join(self.folder, "state", "libers")
        self.put("k", b"x")
        names = [n for n in os.listdir(views) if n.endswith(".view")]
        self.assertEqual(len(names), 1)
        turned = ",".join(reversed(self.servers.split(",")))
        self.assertEqual(self.ctl("get", "k", servers=turned), b"x")
        self.assertEqual(
            [n for n in os.listdir(views) if n.endswith(".view")], names)

    def test_without_a_place_for_it_what_is_stored_can_be_read(self):
        self.put("read", b"x")
        for places in ({"HOME": "/dev/null"}, {"HOME": "/proc/none"}, {}):
            self.places = places
            for words in (["get", "read"], ["stat", "read"], ["ls"],
                          ["servers"], ["verify", "--parallel", "1"]):
                with self.subTest(places=places, words=words):
                    self.ctl(*words)
            self.refused(BAD_USAGE, "--state", "put", "read", "-", data=b"y")
            self.refused(BAD_USAGE, "cannot create /dev/null", "get", "read",
                         "--state", "/dev/null/view")

    def environment(self, servers=None):
        environment = super().environment(servers)
        if getattr(self, "places", None) is None:
            return environment
        for name in ("HOME", "XDG_STATE_HOME"):
            environment.pop(name, None)
        return {**environment, **self.places}

    def test_state_names_a_file_in_folders_that_are_made(self):
        self.ctl("put", "k2", "-", "--state", self.path("a/b/view"), data=b"x")
        self.assertTrue(os.path.exists(self.path("a/b/view")))
        self.assertEqual(self.run_ctl("get", "k2", "--state", "-").returncode,
                         DONE)


class ForeignItemTest(CtlCase):

    def test_a_plain_item_is_reported_and_left_alone(self):
        self.put("first", b"a cluster in use")
        for server in self.servers.split(","):
            ask(server, b"set plain 5 0 4\r\nours\r\n")
        for words in (["get", "plain"], ["stat", "plain"],
                      ["append", "plain", "-"],
                      ["update", "plain", "--offset", "0", "-"],
                      ["transition", "plain", "--to", "wide"]):
            with self.subTest(words=words):
                self.refused(CLUSTER_ERROR, "plain", *words, data=b"x")
        for server in self.servers.split(","):
            self.assertIn(b"VALUE plain 5 4\r\nours",
                          ask(server, b"get plain\r\n"))


if __name__ == "__main__":
    unittest.main()
