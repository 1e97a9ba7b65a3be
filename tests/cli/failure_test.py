"""Servers that are dead, silent, full, too strict or too old."""

import contextlib
import os
import signal
import socketserver
import subprocess
import threading
import time
import unittest

from ctl_case import (BAD_USAGE, CLUSTER_ERROR, DEADLINE_S, DONE, ERSCTL,
                      CtlCase, block_keys, random_bytes)

# Servers are dead after a second's silence.
IMPATIENT = ("--request-timeout", "1")


class OneServerDeadTest(CtlCase):

    def test_everything_goes_on(self):
        narrow, wide = (random_bytes(300_000, seed=s) for s in (1, 2))
        self.put("narrow", narrow)
        self.put("wide", wide, "--width", "wide")
        self.put("small", b"inline")
        self.tool("kill", "3")
        dead = self.servers.split(",")[2]

        self.check("narrow", narrow)
        self.check("wide", wide)
        self.check("small", b"inline")
        self.ctl("transition", "narrow", "--to", "wide")
        self.ctl("transition", "wide", "--to", "narrow")
        self.ctl("update", "narrow", "--offset", "10", "-", data=b"new")
        narrow = narrow[:10] + b"new" + narrow[13:]
        self.check("narrow", narrow)
        self.check("wide", wide)
        self.put("later", wide)
        self.check("later", wide)
        self.ctl("rm", "small")
        servers = {s["name"]: s for s in self.ctl_json("servers")["servers"]}
        self.assertIs(servers[dead]["answers"], False)
        self.assertIs(servers[dead]["reachable"], False)
        self.assertEqual(sum(s["reachable"] for s in servers.values()), 5)
        detail = self.ctl_json("stat", "wide")
        self.assertEqual({b["server"] for b in detail["blocks"]
                          if not b["present"]} - {dead}, set())


class EachServerDeadTest(CtlCase):
    up = ("-n", "7")

    def test_any_two_of_seven(self):
        data = random_bytes(300_000, seed=3)
        self.put("two", data, "--scheme", "ers2:4,2,5")
        self.tool("kill", "2")
        self.check("two", data)
        self.tool("kill", "6")
        self.check("two", data)
        self.ctl("transition", "two", "--to", "wide")
        self.check("two", data)


class TooManyDeadTest(CtlCase):

    def test_an_error_and_never_a_miss(self):
        self.put("lost", random_bytes(300_000, seed=4))
        for number in ("1", "2", "3"):
            self.tool("kill", number)
        self.file("out", b"older")
        for words in (["get", "lost", "-o", "out"], ["stat", "lost"],
                      ["rm", "lost"], ["append", "lost", "-"],
                      ["put", "lost", "-"],
                      ["transition", "lost", "--to", "wide"]):
            with self.subTest(words=words):
                message = self.refused(CLUSTER_ERROR, "", *words, data=b"x")
                self.assertTrue(
                    any(s in message for s in self.servers.split(",")[:3]),
                    message)
                self.assertIn("start what does not answer", message)
        self.assertEqual(self.read("out"), b"older")
        self.assertEqual(os.listdir(self.work), ["out"])

    def test_no_server_at_all(self):
        absent = "127.0.0.1:1,127.0.0.1:2"
        for words in (["get", "k"], ["ls"], ["rm", "k"]):
            message = self.refused(CLUSTER_ERROR, "none of the 2 servers",
                                   *words, servers=absent)
            self.assertNotIn("the others", message)
        self.refused(BAD_USAGE, "list every server", "put", "k", "-",
                     servers="127.0.0.1:1", data=b"x")


class SilentServersTest(CtlCase):

    def test_servers_that_stand_still(self):
        data = random_bytes(300_000, seed=5)
        self.put("frozen", data)
        for number in ("1", "2"):
            self.tool("stop", number)
        try:
            self.refused(CLUSTER_ERROR, "", "put", "frozen", "-", "--timeout",
                         "2", data=b"x" * 5000)
        finally:
            for number in ("1", "2"):
                self.tool("cont", number)


class PatienceTest(CtlCase):

    def test_a_server_is_waited_for_as_long_as_is_said(self):
        self.tool("stop", "1")
        self.addCleanup(self.tool, "cont", "1")
        file = self.file("late", random_bytes(300_000, seed=8))
        with subprocess.Popen(
                [ERSCTL, "put", "late", file, "--request-timeout", "120",
                 "--timeout", "2min"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=self.environment(), cwd=self.work) as process:
            # What is tested: longer than it is waited for by default.
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(3)
            self.tool("cont", "1")
            self.assertEqual(process.wait(DEADLINE_S), DONE,
                             process.stderr.read())
        states = {s["state"] for s in self.ctl_json("servers")["servers"]}
        self.assertEqual(states, {"in_sync"})
        # Not so long:
        self.tool("stop", "1")
        self.put("other", random_bytes(300_000, seed=9), *IMPATIENT)
        self.tool("cont", "1")
        states = {s["state"] for s in self.ctl_json("servers")["servers"]}
        self.assertNotEqual(states, {"in_sync"})


class ItemLimitTest(CtlCase):
    up = ("-n", "6", "--item-max", "1")

    def test_blocks_are_made_to_fit(self):
        data = random_bytes(4 << 20, seed=6)
        self.put("fits", data, "--scheme", "rep:2")
        blocks = self.ctl_json("stat", "fits")["blocks"]
        self.assertLess(max(b["bytes"] for b in blocks), 1 << 20)
        self.check("fits", data)

    def test_a_value_that_no_manifest_could_hold_becomes_blocks(self):
        data = random_bytes((1 << 20) - 200, seed=7)
        info = self.put("big", data, "--inline-below", str(1 << 20))
        self.assertIs(info["inline"], False)
        self.check("big", data)


class OutOfMemoryTest(CtlCase):
    up = ("-n", "6", "--memory", "4", "--item-max", "1", "--no-evict")
    value_bytes = 1 << 20
    scheme = ()

    def test_a_full_server_refuses_and_keeps_what_it_has(self):
        stored = {}
        for i in range(100):
            key, data = f"fill-{i}", random_bytes(self.value_bytes, seed=i)
            result = self.run_ctl("put", key, "-", *self.scheme, data=data)
            if result.returncode != 0:
                break
            stored[key] = data
        self.assertEqual(result.returncode, CLUSTER_ERROR)
        message = result.stderr.decode()
        self.assertTrue(any(s in message for s in self.servers.split(",")),
                        message)
        self.assertTrue(stored, "nothing could be stored at all")
        self.nothing_is_left(stored)
        for key, data in stored.items():
            self.check(key, data)
        # A put that replaces: the old value is still there.
        self.refused(CLUSTER_ERROR, "", "put", "fill-0", "-", *self.scheme,
                     data=random_bytes(16 << 20, seed=200))
        self.check("fill-0", stored["fill-0"])
        self.nothing_is_left(stored)

    def nothing_is_left(self, stored):
        """The servers have the blocks of these objects, and no other."""
        self.assertEqual(
            sum(len(block_keys(s)) for s in self.servers.split(",")),
            sum(len(self.ctl_json("stat", key)["blocks"]) for key in stored))


class OutOfChunksTest(OutOfMemoryTest):
    """Blocks that memcached makes of several chunks, and refuses late."""
    up = ("-n", "6", "--memory", "32", "--item-max", "1", "--no-evict")
    value_bytes = 10 << 20
    scheme = ("--scheme", "rs:4,1")


class OverwriteTest(CtlCase):
    # Room for five of the values, with what replaces one of them.
    up = ("-n", "6", "--memory", "16", "--item-max", "1", "--no-evict")

    def test_a_long_value_overwritten_in_a_loop_does_not_fill_the_memory(self):
        for i in range(20):
            data = random_bytes(12 << 20, seed=i)
            self.put_where_there_is_room("again", data)
        self.check("again", data)

    def put_where_there_is_room(self, key, data):
        """A value that was there for seconds, as on a machine that stands
        still, is kept for its readers, until its server looks for what has
        expired: within about a minute."""
        end = time.monotonic() + 3 * DEADLINE_S
        while True:
            result = self.run_ctl("put", key, "-", data=data)
            if result.returncode == DONE:
                return
            self.assertIn(b"wait: what long values replaced goes",
                          result.stderr)
            self.assertLess(time.monotonic(), end, result.stderr)
            # What expires at a server causes no event here: try again.
            time.sleep(0.5)


class SlowCallerTest(CtlCase):

    def put_slowly(self, *words, start=None):
        """A command whose input takes longer than its --timeout; `start` is
        stored before it. A time that is too short for a busy machine proves
        nothing: a longer one is tried."""
        for timeout_s in (2, 8, 24):
            if start:
                self.put(words[1], start)
            with subprocess.Popen(
                    [ERSCTL, *words, "--timeout", str(timeout_s)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, env=self.environment(),
                    cwd=self.work) as process:
                first, rest = random_bytes(9 << 20, seed=1), b"and the rest"
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(first)
                    process.stdin.flush()
                # What is tested: a pause longer than --timeout.
                time.sleep(timeout_s * 1.25)
                out, err = process.communicate(rest, timeout=DEADLINE_S)
            if process.returncode == DONE:
                break
        self.assertEqual(process.returncode, DONE, err)
        return first + rest

    def tearDown(self):
        # No server was taken for dead.
        states = {s["state"] for s in self.ctl_json("servers")["servers"]}
        self.assertEqual(states, {"in_sync"})

    def test_the_time_an_output_takes_is_not_the_servers(self):
        data = random_bytes(30 << 20, seed=3)
        self.put("long", data)
        with subprocess.Popen(
                [ERSCTL, "get", "long", *IMPATIENT], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=self.environment(),
                cwd=self.work, bufsize=0) as process:
            # Without a buffer: communicate() would pass over what is in it.
            got = b""
            for _ in range(3):
                got += process.stdout.read(4 << 20)
                # What is tested: longer than a server may be silent.
                time.sleep(1.3)
            rest, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, DONE, err)
        self.assertTrue(got + rest == data)

    def test_a_process_that_was_stopped_blames_nobody(self):
        with subprocess.Popen(
                [ERSCTL, "put", "stopped", "-", *IMPATIENT],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=self.environment(),
                cwd=self.work) as process:
            process.stdin.write(random_bytes(9 << 20, seed=4))
            process.stdin.flush()
            process.send_signal(signal.SIGSTOP)
            # What is tested: stopped longer than a server may be silent.
            time.sleep(1.5)
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(b"end", timeout=DEADLINE_S)
        self.assertEqual(process.returncode, DONE, err)

    def test_the_time_an_input_takes_is_not_the_servers(self):
        self.check("slow", self.put_slowly("put", "slow", "-"))
        added = self.put_slowly("append", "grown", "-", start=b"start ")
        self.check("grown", b"start " + added)


class OldServer(socketserver.StreamRequestHandler):
    """Answers as memcached 1.4 does: it has no meta commands."""

    def handle(self):
        with contextlib.suppress(OSError):  # the client may leave early
            self.answer_all()

    def answer_all(self):
        for line in self.rfile:
            words = line.split()
            if words[:1] == [b"version"]:
                reply = b"VERSION 1.4.39\r\n"
            elif words[:1] == [b"stats"]:
                reply = (b"STAT pid 1\r\nSTAT uptime 5\r\nSTAT time 5\r\n"
                         b"STAT version 1.4.39\r\nEND\r\n")
            elif words[:1] in ([b"get"], [b"gets"]):
                reply = b"END\r\n"
            else:
                reply = b"ERROR\r\n"
            self.wfile.write(reply)


class OldMemcachedTest(CtlCase):
    up = ("-n", "5")

    def start_old_server(self):
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), OldServer)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"127.0.0.1:{server.server_address[1]}"

    def test_one_old_memcached_counts_as_down_and_servers_says_why(self):
        old = self.start_old_server()
        servers = f"{old},{self.servers}"
        self.ctl("put", "k", "-", servers=servers, data=b"x" * 100_000)
        info = self.ctl_json("servers", servers=servers)
        about = {s["name"]: s for s in info["servers"]}[old]
        self.assertIs(about["answers"], True)
        self.assertIs(about["reachable"], False)
        self.assertIn("1.6", about["last_error"])

    def test_a_cluster_of_old_memcacheds_is_refused_by_name(self):
        old = [self.start_old_server() for _ in range(6)]
        message = self.refused(CLUSTER_ERROR, "1.6", "put", "k", "-",
                               servers=",".join(old), data=b"x" * 100_000)
        self.assertTrue(any(server in message for server in old), message)


if __name__ == "__main__":
    unittest.main()
