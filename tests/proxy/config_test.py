"""ersproxy and its configuration file: at the start, checked, read again."""

import json
import os
import random
import re
import socket
import struct
import subprocess
import unittest

from daemon_case import (BAD_USAGE, DEADLINE_S, ERSPROXY, FAILED,
                         DaemonCase)
from metrics_case import frame

RULES = """
rules:
  - prefix: "rep/"
    scheme: rep:3
    max_expiry_s: 100
  - glob: "big*"
    min_value_bytes: 10000
    scheme: rs:4,2
  - client_flags: 5
    scheme: rs:3,1
"""
BIG = b"x" * 20000


def seconds_left(client, key):
    return int(re.search(rb" t(-?\d+)", client.line(b"mg %s t\r\n" % key))[1])


class StartTest(DaemonCase):

    def test_rules_choose_scheme_and_expiry(self):
        client = self.start("--config", self.config(RULES)).client()

        def scheme_of(key, value, flags=0):
            self.assertEqual(client.set(key, value, flags), b"STORED")
            return client.facts(b"ers stat " + key)["scheme"]

        self.assertEqual(scheme_of(b"rep/1", BIG, 5), "rep:3")
        self.assertEqual(scheme_of(b"big1", BIG), "rs:4,2")
        self.assertEqual(scheme_of(b"big2", b"short"), "ers2:4,1,5")
        self.assertEqual(scheme_of(b"big3", b"short", 5), "rs:3,1")
        self.assertEqual(scheme_of(b"other", BIG), "ers2:4,1,5")

        self.assertEqual(seconds_left(client, b"other"), -1)
        self.assertIn(seconds_left(client, b"rep/1"), range(1, 101))
        client.set(b"rep/2", b"v", exptime=1000)
        self.assertIn(seconds_left(client, b"rep/2"), range(1, 101))
        client.set(b"rep/3", b"v", exptime=50)
        self.assertIn(seconds_left(client, b"rep/3"), range(1, 51))
        # Numbers that ma makes are values as any others.
        self.assertTrue(client.line(b"ma rep/4 N0\r\n").startswith(b"HD"))
        self.assertEqual(client.facts(b"ers stat rep/4")["scheme"], "rep:3")
        self.assertIn(seconds_left(client, b"rep/4"), range(1, 101))

    def test_no_command_makes_a_value_outlive_its_rule(self):
        daemon = self.start("--config", self.config(
            "rules:\n"
            "  - {max_value_bytes: 5, client_flags: 7, max_expiry_s: 50}\n"
            "  - {prefix: cap, max_expiry_s: 100}\n"))
        client, other = daemon.client(), daemon.client()

        def binary(opcode, key, expiry):
            other.socket.sendall(frame(opcode, key, struct.pack(">I", expiry)))
            head = other.file.read(24)
            other.file.read(struct.unpack(">I", head[8:12])[0])
            self.assertEqual(head[6:8], b"\0\0")

        def get_and_touch(verb, key):
            client.socket.sendall(b"%s 1000 %s\r\n" % (verb, key))
            while client.file.readline() not in (b"END\r\n", b""):
                pass

        touches = {
            "touch": lambda key: client.line(b"touch %s 1000\r\n" % key),
            "touch for ever": lambda key: client.line(
                b"touch %s 0\r\n" % key),
            "gat": lambda key: get_and_touch(b"gat", key),
            "gats": lambda key: get_and_touch(b"gats", key),
            "mg T": lambda key: client.line(b"mg %s T1000\r\n" % key),
            "md I T": lambda key: client.line(b"md %s I T1000\r\n" % key),
            "ma T": lambda key: client.line(b"ma %s T1000\r\n" % key),
            "binary touch": lambda key: binary(0x1c, key, 1000),
            "binary gat": lambda key: binary(0x1d, key, 0),
        }
        for name, touch in touches.items():
            with self.subTest(name):
                # By the length and client flags that the object has.
                for key, flags, value, most in (
                        (b"cap/1", 0, b"1", 100), (b"cap/2", 7, b"1", 50),
                        (b"cap/3", 7, b"100000", 100), (b"k", 7, b"1", 50)):
                    client.set(key, value, flags, 20)
                    touch(key)
                    self.assertIn(seconds_left(client, key),
                                  range(21, most + 1), key)
                client.set(b"other", b"1", 0, 20)
                touch(b"other")
                self.assertNotIn(seconds_left(client, b"other"), range(101))
        # Shorter than the rule allows stays so.
        client.line(b"touch cap/1 30\r\n")
        self.assertIn(seconds_left(client, b"cap/1"), range(1, 31))
        client.line(b"touch cap/1 -1\r\n")
        self.assertEqual(client.line(b"mg cap/1\r\n"), b"EN")
        # Items that a miss makes.
        client.line(b"mg cap/4 N1000\r\n")
        self.assertIn(seconds_left(client, b"cap/4"), range(1, 101))
        client.line(b"ma cap/5 N1000\r\n")
        self.assertIn(seconds_left(client, b"cap/5"), range(1, 101))
        # One that no rule is for any more keeps what it had.
        client.set(b"grows", b"99999", 7)
        client.line(b"incr grows 1\r\n")
        self.assertIn(seconds_left(client, b"grows"), range(1, 51))

    def test_new_values_of_an_old_object_live_by_the_rules_of_now(self):
        daemon = self.start("--config", self.config(""))
        client = daemon.client()
        for key in (b"incr", b"append", b"prepend"):
            client.set(key, b"1")
        self.config("rules:\n  - max_expiry_s: 100\n")
        daemon.reload()
        client.line(b"incr incr 1\r\n")
        for verb in (b"append", b"prepend"):
            client.line(b"%s %s 0 0 1\r\n2\r\n" % (verb, verb))
        for key in (b"incr", b"append", b"prepend"):
            self.assertIn(seconds_left(client, key), range(1, 101), key)

    def check_whole(self, text, cases):
        """`cases`: (key, length, whether ers stat calls it inline)."""
        client = self.start("--config", self.config(text)).client()
        for key, length, whole in cases:
            self.assertEqual(client.set(key, b"v" * length), b"STORED")
            self.assertEqual(client.facts(b"ers stat " + key)["inline"], whole,
                             (key, length))

    def test_rules_choose_what_is_kept_whole(self):
        self.check_whole(
            "inline_below: 100\nrules:\n"
            "  - {prefix: never, inline_below: 0}\n"
            "  - {prefix: longer, inline_below: 5000}\n",
            ((b"k", 99, "1"), (b"k", 100, "0"), (b"never", 1, "0"),
             (b"longer", 4999, "1"), (b"longer", 5000, "0")))

    def test_auto_is_where_coding_saves_an_eighth(self):
        self.check_whole(
            "inline_below: auto\nscheme: ers2:2,3,3\nrules:\n"
            "  - {prefix: never, inline_below: 0}\n"
            "  - {prefix: copies, scheme: 'rep:4'}\n",
            ((b"k", 1, "1"), (b"k", 8000, "0"), (b"never", 1, "0"),
             (b"copies", 16383, "1"), (b"copies", 16384, "0")))

    def test_short_elastic_values_are_in_columns(self):
        client = self.start("--config", self.config(
            "inline_below: 0\ncolumn_below: 100\nscheme: ers2:2,1,3\n"
            "rules:\n  - {prefix: plain, scheme: 'rs:3,1'}\n")).client()
        for key, length, unit, blocks in ((b"k", 99, "columns", "4"),
                                          (b"k", 100, "blocks", "9"),
                                          (b"plain", 99, "blocks", "4")):
            value = random.Random(length).randbytes(length)
            self.assertEqual(client.set(key, value), b"STORED")
            facts = client.facts(b"ers stat " + key)
            self.assertEqual((facts["unit"], facts["blocks"]), (unit, blocks))
            self.assertEqual(facts["blocks_present"], blocks)
            client.socket.sendall(b"get %s\r\n" % key)
            client.file.readline()
            self.assertEqual(client.file.read(length + 7), value + b"\r\nEND\r\n")

    def test_rules_choose_what_is_kept_whole_of_a_value_that_changes(self):
        client = self.start("--config", self.config(
            "inline_below: 100\nrules:\n"
            "  - {prefix: coded, inline_below: 0, scheme: 'rs:3,1'}\n"
            "  - {prefix: whole, inline_below: 5000}\n"
            "  - {prefix: upto, max_value_bytes: 200, inline_below: 5000}\n"
            "  - {prefix: flags, client_flags: 3, inline_below: 0}\n"
        )).client()

        def whole_after(key, value, command, flags=0):
            self.assertEqual(client.set(key, value, flags), b"STORED")
            self.assertNotIn(b"ERROR", client.line(command))
            return client.facts(b"ers stat " + key)["inline"]

        more = b" 0 0 150\r\n" + b"m" * 150 + b"\r\n"
        for verb in (b"append ", b"prepend "):
            for key, whole in ((b"k", "0"), (b"coded", "0"), (b"whole", "1")):
                self.assertEqual(
                    whole_after(key, b"v" * 50, verb + key + more), whole,
                    (verb, key))
            # By the new length.
            for length, whole in ((50, "1"), (51, "0")):
                self.assertEqual(
                    whole_after(b"upto", b"v" * length, verb + b"upto" + more),
                    whole, (verb, length))
        for verb in (b"incr", b"decr"):
            for key, flags, whole in ((b"k", 3, "1"), (b"coded", 0, "0"),
                                      (b"flags", 3, "0"), (b"flags", 4, "1")):
                self.assertEqual(
                    whole_after(key, b"77", b"%s %s 1\r\n" % (verb, key),
                                flags), whole, (verb, key, flags))

    def test_the_scheme_stays_until_the_next_set(self):
        daemon = self.start("--config", self.config("scheme: rep:2\n"))
        client = daemon.client()
        client.set(b"number", b"1")
        self.config("scheme: rep:2\nrules:\n  - scheme: rs:3,1\n")
        daemon.reload()
        for command in (b"incr number 1\r\n", b"decr number 1\r\n",
                        b"append number 0 0 1\r\n0\r\n",
                        b"prepend number 0 0 1\r\n1\r\n",
                        b"touch number 100\r\n"):
            self.assertNotIn(b"ERROR", client.line(command))
            self.assertEqual(client.facts(b"ers stat number")["scheme"],
                             "rep:2", command)
        client.set(b"number", b"1")
        self.assertEqual(client.facts(b"ers stat number")["scheme"], "rs:3,1")

    def test_options_of_the_command_line_go_before_the_file(self):
        path = self.config("limits: {max_value_bytes: 10}\nscheme: rs:4,1\n")
        client = self.start("--config", path, "--max-value", "20").client()
        settings = client.facts(b"stats settings")
        self.assertEqual(settings["item_size_max"], "20")
        self.assertEqual(settings["ers_scheme"], "rs:4,1")
        self.assertEqual(client.set(b"k", b"v" * 20), b"STORED")

    def test_a_log_of_objects(self):
        daemon = self.start("--config", self.config("log: {format: json}\n"))
        daemon.stop()
        lines = [json.loads(line) for line in daemon.log().splitlines()]
        self.assertEqual(lines[-1]["message"], "ended")
        for line in lines:
            self.assertEqual(list(line), ["time", "level", "message"])
            self.assertRegex(line["time"],
                             r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            result = self.run_proxy(
                "--config", self.config(""), "--listen", f"127.0.0.1:{port}")
        self.assertEqual(result.returncode, BAD_USAGE)
        self.assertIn(f"127.0.0.1:{port}: Address already in use; another "
                      "program listens there", result.stderr)

    def test_without_servers_it_starts_and_says_what_is_wrong(self):
        with socket.socket() as bound:  # bound, but it does not listen
            bound.bind(("127.0.0.1", 0))
            port = bound.getsockname()[1]
            path = self.config("scheme: rep:2\n",
                               f"127.0.0.1:{port},localhost:{port}",
                               max_failures=False)
            daemon = self.start("--config", path)
            client = daemon.client()
            self.assertTrue(client.line(b"version\r\n").startswith(b"VERSION"))
            self.assertIn(b"SERVER_ERROR", client.set(b"k", b"v"))
            self.assertIn(b"SERVER_ERROR", client.line(b"get k\r\n"))
            daemon.stop()

    def test_files_that_cannot_be_read(self):
        for words, why in ((self.path("none"), "No such file or directory"),
                           (self.work, "Is a directory"),
                           ("/dev/null", "it is not a regular file")):
            for option in ("--config", "--check-config"):
                self.assertEqual(self.refused(option, words),
                                 f"ersproxy: {words}: cannot be read: {why}\n")
        if os.geteuid() == 0:
            return  # may read all
        path = self.config("")
        os.chmod(path, 0)
        self.assertIn("Permission denied", self.refused("--config", path))


class CheckTest(DaemonCase):

    def test_a_good_file(self):
        result = self.run_proxy("--check-config", self.config(RULES))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("is good: 3 rules", result.stdout)

    def test_a_good_file_with_a_warning(self):
        path = self.config("policies: {pack: {idle_s: 60}}\n")
        result = self.run_proxy("--check-config", path)
        self.assertEqual(result.returncode, 0)
        self.assertIn("is good: 0 rules", result.stdout)
        self.assertTrue(result.stderr.startswith(
            f"ersproxy: warning: {path}: scheme: packs of "), result.stderr)

    def test_folders_and_names_that_are_not_there(self):
        none = self.path("none")
        for setting, why in (
                (f"state_file: {none}/view", f"state_file: \"{none}/view\": "
                 f"there is no folder {none}: make it"),
                (f"listen: [{none}/socket]", f"listen: \"{none}/socket\": "
                 f"there is no folder {none}: make it"),
                ("listen: [\"x.invalid:1\"]", "listen: \"x.invalid:1\": the "
                 "name x.invalid is not found: ")):
            with open(self.path("own.yaml"), "w", encoding="utf-8") as file:
                servers = ", ".join(self.servers.split(","))
                file.write(f"servers: [{servers}]\n{setting}\n")
            self.assertIn(f"own.yaml:2: {why}",
                          self.refused("--check-config", self.path("own.yaml")))
        path = self.config("")
        self.assertIn("--servers: \"x.invalid:1\": the name x.invalid is not "
                      "found: ",
                      self.refused("--check-config", path, "--servers",
                                   f"{self.servers},x.invalid:1"))

    def test_a_bad_file(self):
        path = self.config("threads: many\n")
        expected = (f"ersproxy: {path}:4: threads: expected a whole number "
                    "from 1 to 256, found \"many\"\n")
        self.assertEqual(self.refused("--check-config", path), expected)
        self.assertEqual(self.refused("--config", path), expected)

    def test_an_option_that_there_is_not(self):
        self.assertEqual(
            self.refused("--frob"),
            "ersproxy: there is no option --frob "
            "(ersproxy --help says more)\n")

    def test_a_value_that_is_none(self):
        # A script's variable that is not set must not start a daemon.
        for option in ("--check-config", "--config", "--user", "--state",
                       "--admin"):
            self.assertIn(f"{option}: it is empty",
                          self.refused("--servers", self.servers, option, ""))
        self.assertIn("--state needs a value behind it, and --threads follows",
                      self.refused("--servers", self.servers, "--state",
                                   "--threads"))
        self.assertIn("--state-dir needs a value behind it, and --frob follows",
                      self.refused("--servers", self.servers, "--state-dir",
                                   "--frob"))

    def test_what_it_says_cannot_be_written(self):
        good = self.config("threads: 1\n")
        for words in (("--help",), ("--list-metrics",),
                      ("--check-config", good)):
            with open("/dev/full", "wb") as full:
                ended = subprocess.run(
                    [ERSPROXY, *words], stdout=full, stderr=subprocess.PIPE,
                    text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(ended.returncode, FAILED, words)
            self.assertEqual(
                ended.stderr, "ersproxy: standard output: cannot write: "
                "No space left on device\n")

    def test_options_go_before_the_file_here_too(self):
        path = self.write("threads: 1\n")
        self.assertIn(f"{path}: servers: missing",
                      self.refused("--check-config", path))
        words = ("--check-config", path, "--servers", self.servers)
        self.assertEqual(self.run_proxy(*words).returncode, 0)
        self.assertIn("--scheme: scheme rs:6,1 needs 7 servers and 6 are",
                      self.refused(*words, "--scheme", "rs:6,1"))
        self.assertIn("--scheme: ", self.refused(*words, "--scheme", "rs:0"))
        self.assertIn("--servers: server \"x\": the port is missing",
                      self.refused("--servers", "x"))
        self.assertIn("--listen: \"x\": give host:port",
                      self.refused(*words, "--listen", "x"))
        self.assertIn("--listen: \"a:1\" is listed twice",
                      self.refused(*words, "--listen", "a:1", "--listen",
                                   "a:1"))
        for option, value in (("--threads", "0"), ("--log-level", "loud"),
                              ("--log-format", "xml"), ("--max-value", "0")):
            result = self.run_proxy(*words, option, value)
            self.assertEqual(result.returncode, BAD_USAGE, option)
            self.assertIn(option, result.stderr)


class ReloadTest(DaemonCase):

    def test_rules_and_limits_change_and_clients_stay(self):
        daemon = self.start("--config", self.config(
            "threads: 3\nlimits: {max_value_bytes: 30000}\n"))
        clients = [daemon.client() for _ in range(20)]
        for client in clients:
            self.assertEqual(client.set(b"rep/k", BIG), b"STORED")
            self.assertEqual(client.facts(b"ers stat rep/k")["scheme"],
                             "ers2:4,1,5")
        self.config("threads: 3\n" + RULES + "limits: {max_value_bytes: 20000, "
                    "max_connections: 20}\n")
        self.assertIn("reloaded", daemon.reload())
        for client in clients:
            self.assertEqual(client.set(b"rep/k", BIG), b"STORED")
            self.assertEqual(client.facts(b"ers stat rep/k")["scheme"],
                             "rep:3")
            self.assertIn(b"too large", client.set(b"rep/k", BIG + b"x"))
        settings = clients[0].facts(b"stats settings")
        self.assertEqual(settings["maxconns"], "20")
        self.assertEqual(settings["item_size_max"], "20000")
        self.assertEqual(daemon.client().file.readline(),
                         b"ERROR Too many open connections\r\n")
        daemon.stop()

    def test_a_value_under_way_goes_by_the_old_limit(self):
        daemon = self.start("--config", self.config(""))
        client = daemon.client()
        client.socket.sendall(b"mn\r\nset k 0 0 20000\r\n" + BIG[:9])
        self.assertEqual(client.file.readline(), b"MN\r\n")
        self.config("limits: {max_value_bytes: 10}\n")
        daemon.reload()
        self.assertEqual(client.line(BIG[9:] + b"\r\n"), b"STORED")
        self.assertIn(b"too large", client.set(b"k", BIG))

    def test_the_logs_level(self):
        daemon = self.start("--config", self.config("log: {level: error}\n"))
        self.assertEqual(daemon.log(), "")
        self.config("log: {level: info}\n")
        self.assertIn("reloaded", daemon.reload())

    def test_a_bad_file_changes_nothing(self):
        path = self.config(RULES)
        daemon = self.start("--config", path)
        client = daemon.client()

        def still_as_it_was():
            self.assertEqual(client.set(b"rep/k", BIG), b"STORED")
            return client.facts(b"ers stat rep/k")["scheme"] == "rep:3"

        self.config("rules:\n  - scheme: rep:2\n  - scheme: rs:9\n")
        log = daemon.reload()
        self.assertIn(f"not reloaded, the old settings stay: {path}:6: "
                      "rules[1].scheme: ", log)
        self.assertTrue(still_as_it_was())
        os.unlink(path)
        self.assertIn(f"{path}: cannot be read: No such file", daemon.reload())
        os.mkfifo(path)  # that no process writes to
        self.assertIn(f"{path}: cannot be read: it is not a regular file",
                      daemon.reload())
        os.unlink(path)
        self.assertTrue(still_as_it_was())
        self.config("rules:\n  - scheme: rep:2\n")
        self.assertIn("reloaded", daemon.reload())
        self.assertFalse(still_as_it_was())

    def test_servers_and_listeners_need_a_restart(self):
        path = self.config("scheme: rep:2\n")
        daemon = self.start("--config", path)
        fewer = self.servers.rsplit(",", 1)[0]
        self.config("scheme: rep:2\n", fewer)
        log = daemon.reload()
        self.assertIn(f"not reloaded, the old settings stay: {path}:1: "
                      "servers: changed from ", log)
        self.assertIn(": a cluster keeps its servers and their weights, over "
                      "a restart, too; put the old list back", log)
        self.assertRegex(log, r"\n?\[\d+-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "
                              r"[-+]\d\d:\d\d\] \[ersproxy\] \[info\] SIGHUP "
                              f"by process {os.getpid()} of user "
                              f"{os.getuid()}\n")
        self.config("scheme: rep:2\n")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.write(text.replace("127.0.0.1:0", "127.0.0.1:1"))
        self.assertIn(f"{path}:2: listen: changed from 127.0.0.1:0 to "
                      "127.0.0.1:1, which needs a restart", daemon.reload())
        # What the file says of them does not count where an option does.
        other = self.start("--config", path, "--listen", "127.0.0.1:0")
        self.config("scheme: rep:2\n")
        self.assertIn("reloaded", other.reload())

    def test_without_a_file_there_is_nothing_to_read(self):
        daemon = self.start("--servers", self.servers, "--listen",
                            "127.0.0.1:0", "--max-failures", "3")
        client = daemon.client()
        self.assertIn("no configuration file", daemon.reload())
        self.assertEqual(client.set(b"k", b"v"), b"STORED")


class FirstStartTest(DaemonCase):

    def test_the_max_failures_of_the_start_stays(self):
        path = self.config(RULES, max_failures=False)
        daemon = self.start("--config", path)
        self.config("rules:\n  - scheme: rep:4\n", max_failures=False)
        self.assertIn(f"{path}:4: rules[0]: scheme rep:4 has m = 3: "
                      "max_failures is 2", daemon.reload())
        self.config("rules:\n  - scheme: rep:2\n", max_failures=False)
        self.assertIn("reloaded", daemon.reload())


if __name__ == "__main__":
    unittest.main()
