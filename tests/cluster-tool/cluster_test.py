"""memcached-cluster/cluster against real memcached processes."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TOOL = os.path.join(TOP, "memcached-cluster", "cluster")
sys.path.insert(0, os.path.dirname(TOOL))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import member_process


def ask(server, request):
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), 5) as link:
        link.sendall(request + b"quit\r\n")
        reply = b""
        while part := link.recv(65536):
            reply += part
    return reply


class ClusterToolTest(unittest.TestCase):

    def setUp(self):
        self.parent = tempfile.mkdtemp(prefix="ers-cluster-test-")
        self.dir = os.path.join(self.parent, "cluster")
        self.addCleanup(shutil.rmtree, self.parent, ignore_errors=True)
        self.addCleanup(self.tool, "down")

    def tool(self, *words, env=None):
        return subprocess.run(
            [sys.executable, TOOL, "--dir", self.dir, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False, env=env)

    def done(self, *words):
        result = self.tool(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def refused(self, text, *words, code=3, env=None):
        result = self.tool(*words, env=env)
        self.assertEqual(result.returncode, code, result.stdout)
        self.assertIn(text, result.stderr)

    def members(self):
        return json.loads(self.done("status", "--json"))["members"]

    def states(self):
        return [m["state"] for m in self.members()]

    def state_file(self):
        return os.path.join(self.dir, "cluster.json")

    def test_up_gives_servers_that_answer_and_env_names_them_in_order(self):
        self.done("up", "-n", "3")
        members = self.members()
        self.assertEqual([m["state"] for m in members], ["running"] * 3)
        self.assertEqual([m["number"] for m in members], [1, 2, 3])
        servers = [m["server"] for m in members]
        self.assertEqual(self.done("env"),
                         f"export ERS_SERVERS={','.join(servers)}\n")
        for member in members:
            stats = ask(member["server"], b"stats\r\n")
            self.assertIn(b"STAT pid %d\r\n" % member["pid"], stats)
            path = os.path.join(self.dir,
                                f"memcached-{member['number']}.pid")
            with open(path, encoding="ascii") as file:
                self.assertEqual(int(file.read()), member["pid"])

    def test_ports_are_not_those_of_outgoing_connections(self):
        self.done("up", "-n", "2")
        with open("/proc/sys/net/ipv4/ip_local_port_range",
                  encoding="ascii") as file:
            low = int(file.read().split()[0])
        for member in self.members():
            self.assertLess(int(member["server"].split(":")[1]), low)

    def test_options_reach_memcached(self):
        self.done("up", "-n", "1", "--memory", "64", "--item-max", "16",
                  "--no-evict", "--threads", "2")
        settings = ask(self.members()[0]["server"], b"stats settings\r\n")
        for line in (b"STAT maxbytes 67108864", b"STAT item_size_max 16777216",
                     b"STAT evictions off", b"STAT num_threads 2",
                     b"STAT inter 127.0.0.1"):
            self.assertIn(line + b"\r\n", settings)

    def test_servers_listen_where_host_says(self):
        self.done("up", "-n", "2", "--host", "127.0.0.2")
        self.done("kill", "2")
        self.done("start", "2")
        for member in self.members():
            self.assertEqual(member["server"].split(":")[0], "127.0.0.2")
            self.assertIn(b"STAT inter 127.0.0.2\r\n",
                          ask(member["server"], b"stats settings\r\n"))

    def test_eviction_is_on_unless_refused(self):
        self.done("up", "-n", "1")
        self.assertIn(b"STAT evictions on\r\n",
                      ask(self.members()[0]["server"], b"stats settings\r\n"))

    def test_kill_loses_memory_and_start_keeps_the_port(self):
        self.done("up", "-n", "2")
        before = self.members()
        for member in before:
            self.assertIn(b"STORED",
                          ask(member["server"], b"set a 0 0 1\r\nx\r\n"))
        self.done("kill", "2")
        self.assertEqual(self.states(), ["running", "dead"])
        self.refused("server 2 is not running", "kill", "2")
        self.refused("server 2 is not running", "stop", "2")
        self.done("start", "2")
        after = self.members()
        self.assertEqual([m["server"] for m in after],
                         [m["server"] for m in before])
        self.assertNotEqual(after[1]["pid"], before[1]["pid"])
        self.assertIn(b"VALUE", ask(after[0]["server"], b"get a\r\n"))
        self.assertEqual(ask(after[1]["server"], b"get a\r\n"), b"END\r\n")

    def test_stop_freezes_and_cont_goes_on_with_its_memory(self):
        self.done("up", "-n", "1")
        server = self.members()[0]["server"]
        ask(server, b"set a 0 0 1\r\nx\r\n")
        self.done("stop", "1")
        self.assertEqual(self.states(), ["stopped"])
        self.assertIsNone(member_process.answering_pid(
            int(server.split(":")[1]), timeout_s=0.2))
        self.refused("already running", "start", "1")
        self.done("cont", "1")
        self.assertEqual(self.states(), ["running"])
        self.assertIn(b"VALUE", ask(server, b"get a\r\n"))

    def test_down_ends_all_also_frozen_and_dead_ones_and_leaves_nothing(self):
        self.done("up", "-n", "3")
        members = self.members()
        self.done("stop", "1")
        self.done("kill", "2")
        self.done("down")
        self.assertFalse(os.path.exists(self.dir))
        for member in members:
            stat = member_process.read_stat(member["pid"])
            self.assertTrue(stat is None or stat[0] == "Z", stat)
        self.refused("no cluster is up", "down")

    def test_down_keeps_files_it_did_not_make(self):
        self.done("up", "-n", "1")
        mine = os.path.join(self.dir, "mine")
        with open(mine, "w", encoding="ascii"):
            pass
        self.done("down")
        self.assertEqual(os.listdir(self.dir), ["mine"])

    def test_up_twice_is_refused_until_all_servers_are_gone(self):
        self.done("up", "-n", "1")
        pid = self.members()[0]["pid"]
        self.refused("already up", "up", "-n", "1")
        self.assertEqual(self.members()[0]["pid"], pid)
        self.done("kill", "1")
        self.done("up", "-n", "2")
        self.assertEqual(self.states(), ["running"] * 2)

    def pretend(self, **changes):
        """Makes the state name this test's own child as server 1."""
        self.done("up", "-n", "1")
        self.done("kill", "1")
        child = subprocess.Popen(["sleep", "600"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        with open(self.state_file(), encoding="utf-8") as file:
            state = json.load(file)
        member = {"pid": child.pid,
                  "start_ticks": member_process.read_stat(child.pid)[1]}
        member.update(changes)
        state["members"][0].update(member)
        with open(self.state_file(), "w", encoding="utf-8") as file:
            json.dump(state, file)
        return child

    def test_a_reused_pid_is_never_signalled(self):
        child = self.pretend(start_ticks=1)
        self.assertEqual(self.states(), ["dead"])
        for command in ("kill", "stop", "cont"):
            self.refused("not running", command, "1")
        self.done("down")
        self.assertIsNone(child.poll())

    def test_a_pid_of_another_boot_is_never_signalled(self):
        child = self.pretend(boot_id="another")
        self.refused("not running", "kill", "1")
        self.done("down")
        self.assertIsNone(child.poll())

    def test_the_pid_and_start_time_are_what_is_signalled(self):
        child = self.pretend()
        self.done("kill", "1")
        self.assertEqual(child.wait(timeout=10), -signal.SIGKILL)

    def test_a_taken_port_is_said(self):
        self.done("up", "-n", "1")
        port = int(self.members()[0]["server"].split(":")[1])
        self.done("kill", "1")
        with socket.socket() as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            thief.bind(("127.0.0.1", port))
            thief.listen()
            self.refused(f"port {port} of server 1 is taken", "start", "1")
        self.done("start", "1")

    def test_failure_half_way_leaves_nothing_running(self):
        fake_path = os.path.join(self.parent, "bin")
        os.mkdir(fake_path)
        pids = os.path.join(self.parent, "pids")
        with open(os.path.join(fake_path, "memcached"), "w",
                  encoding="ascii") as file:
            file.write("#!/bin/sh\n"
                       f"if [ -s {pids} ]; then echo broken >&2; exit 1; fi\n"
                       f"echo $$ >>{pids}\n"
                       "PATH=/usr/bin:/usr/sbin exec memcached \"$@\"\n")
        os.chmod(os.path.join(fake_path, "memcached"), 0o755)
        env = {**os.environ,
               "PATH": fake_path + os.pathsep + os.environ["PATH"]}
        self.refused("broken", "up", "-n", "2", env=env)
        with open(pids, encoding="ascii") as file:
            stat = member_process.read_stat(int(file.read()))
        self.assertTrue(stat is None or stat[0] == "Z", stat)
        self.assertFalse(os.path.exists(self.dir))

    def test_bad_usage(self):
        self.refused("no cluster is up", "status")
        self.refused("no cluster is up", "env")
        self.refused("not between", "up", "-n", "0", code=2)
        self.refused("more than half", "up", "-n", "1", "--memory", "8",
                     code=2)
        self.refused("-n", "up", code=2)
        self.done("up", "-n", "1")
        for number in ("0", "2", "-1"):
            self.refused("there is no server", "kill", "--", number)

    def test_a_folder_that_cannot_be_is_named(self):
        with open(self.dir, "w", encoding="ascii"):
            pass
        self.refused(f"cluster: --dir: {self.dir}: File exists", "up", "-n",
                     "1")

    def test_a_foreign_state_file_is_refused(self):
        os.mkdir(self.dir)
        with open(self.state_file(), "w", encoding="ascii") as file:
            file.write('{"version": 99}')
        self.refused("not a state file of this version", "up", "-n", "1")
        os.unlink(self.state_file())

    def test_version_is_the_projects(self):
        with open(os.path.join(TOP, "CMakeLists.txt"),
                  encoding="utf-8") as file:
            version = re.search(r"libers VERSION ([\d.]+)", file.read())[1]
        self.assertEqual(self.done("--version"),
                         f"cluster (libers) {version}\n")


class FindMemcachedTest(unittest.TestCase):

    def test_a_missing_memcached_names_the_package(self):
        which = shutil.which
        member_process.shutil.which = lambda *_, **__: None
        try:
            with self.assertRaisesRegex(member_process.ClusterError,
                                        "apt-get install memcached"):
                member_process.find_memcached()
        finally:
            member_process.shutil.which = which


if __name__ == "__main__":
    unittest.main()
