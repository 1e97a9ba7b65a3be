"""What the tests of the command line have in common: a cluster of real
memcached processes for each class, and ersctl run against it.

The build's programs are named by the environment: ERSCTL, ERS_EXAMPLE_CPP,
ERS_EXAMPLE_C; ERS_SANITIZE is set where sanitizers are built in.
"""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from urllib.parse import unquote_to_bytes

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TOOL = os.path.join(TOP, "memcached-cluster", "cluster")
ERSCTL = os.environ.get(
    "ERSCTL", os.path.join(TOP, "build", "release", "bin", "ersctl"))
SANITIZED = bool(os.environ.get("ERS_SANITIZE"))

DONE, NOT_FOUND, BAD_USAGE, CLUSTER_ERROR, REPORT_LOST = range(5)
ALREADY_SO = 7
DEADLINE_S = 60

OBJECT_KEYS = ["key", "scheme", "width", "length", "version", "inline",
               "unit", "group_bytes", "groups", "flags", "cas", "expiry"]


def random_bytes(count, seed):
    return random.Random(seed).randbytes(count)


def hold_port(host="127.0.0.1", port=0):
    """A socket that keeps a port, or any, from all but those who name it and
    listen there: nobody can connect to it itself, and who takes any port gets
    another one."""
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind((host, port))
    return held


def by_tunnels(run):
    """What run() returns, a command that has a daemon's tunnels to servers. A
    daemon that stood still drops what waited in them: the command, which has
    changed nothing yet, is run again."""
    for _ in range(20):
        result = run()
        if (result.returncode != CLUSTER_ERROR
                or b"servers do not answer" not in result.stderr
                or not any(why in result.stderr for why in
                           (b"connection reset by peer",
                            b"no connection within"))):
            break
    return result


def ask(server, request):
    """Sends a text request on a connection of its own; returns the reply."""
    host, port = server.rsplit(":", 1)
    with socket.create_connection((host, int(port)), DEADLINE_S) as link:
        link.sendall(request + b"quit\r\n")
        reply = b""
        while part := link.recv(65536):
            reply += part
    return reply


def item_expiries(server):
    """{key: Unix seconds, None where it never expires} of all items that a
    server holds."""
    host, port = server.rsplit(":", 1)
    text = b"BUSY"  # with a listing for another client
    with socket.create_connection((host, int(port)), DEADLINE_S) as link:
        while not text.endswith(b"END\r\n"):
            if text.startswith(b"BUSY"):
                # "all" misses items that move between its queues.
                link.sendall(b"lru_crawler metadump hash\r\n")
                text = b""
            text += link.recv(65536)
    items = {}
    for line in text.splitlines()[:-1]:
        words = line.split()
        expiry = int(words[1].removeprefix(b"exp="))
        items[unquote_to_bytes(words[0].removeprefix(b"key="))] = \
            expiry if expiry >= 0 else None
    return items


def block_keys(server, at_least_s=0):
    """Of all blocks that a server holds, and for so long."""
    end = time.time() + at_least_s
    return [key for key, expiry in item_expiries(server).items()
            if key.startswith(b"ers!b") and b"." in key
            and (at_least_s == 0 or expiry is None or expiry >= end)]


class CtlCase(unittest.TestCase):
    """A cluster for the class; kills in one test need a class of its own."""

    up = ("-n", "6")  # how the cluster is started
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ersctl-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        # A server that a busy machine keeps silent is not dead.
        os.makedirs(os.path.join(cls.folder, "config", "libers"))
        with open(os.path.join(cls.folder, "config", "libers", "ersctl.toml"),
                  "w", encoding="ascii") as file:
            file.write('request-timeout = "25s"\n')
        cls.cluster_folder = os.path.join(cls.folder, "cluster")
        cls.addClassCleanup(cls.tool, "down")
        cls.tool("up", *cls.up)
        cls.servers = cls.tool("env").strip().partition("=")[2]

    @classmethod
    def tool(cls, *words):
        result = subprocess.run(
            [sys.executable, TOOL, "--dir", cls.cluster_folder, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DEADLINE_S, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"cluster {words}: {result.stderr}")
        if words[0] == "kill":
            # Else it may be another's before the server is started again.
            host, port = cls.servers.split(",")[int(words[1]) - 1].rsplit(
                ":", 1)
            cls.addClassCleanup(hold_port(host, int(port)).close)
        return result.stdout

    def held_port(self, host="127.0.0.1"):
        """Of this machine, where nothing listens but what the test starts."""
        held = hold_port(host)
        self.addCleanup(held.close)
        return held.getsockname()[1]

    def setUp(self):
        self.work = tempfile.mkdtemp(dir=self.folder)

    def spare(self, *options):
        """The address of an empty memcached that is in no cluster yet."""
        folder = tempfile.mkdtemp(dir=self.work)

        def tool(*words):
            return subprocess.run(
                [sys.executable, TOOL, "--dir", os.path.join(folder, "spare"),
                 *words], stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=DEADLINE_S, check=True).stdout
        self.addCleanup(tool, "down")
        tool("up", "-n", "1", *options)
        return tool("env").strip().partition("=")[2]

    def path(self, name):
        return os.path.join(self.work, name)

    def file(self, name, data):
        with open(self.path(name), "wb") as out:
            out.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def environment(self, servers=None):
        env = {k: v for k, v in os.environ.items()
               if k not in ("ERS_SERVERS", "ERS_PROXY", "ERS_STATE")}
        for name in ("state", "config"):
            env[f"XDG_{name.upper()}_HOME"] = os.path.join(self.folder, name)
        if servers != "":
            env["ERS_SERVERS"] = servers or self.servers
        return env

    def run_ctl(self, *words, data=b"", servers=None, preexec_fn=None,
                env=None):
        return subprocess.run(
            [ERSCTL, *words], input=data, capture_output=True,
            env={**self.environment(servers), **(env or {})}, cwd=self.work, timeout=DEADLINE_S,
            check=False, preexec_fn=preexec_fn)

    def ctl(self, *words, **options):
        """Runs a command that must succeed; returns its output."""
        result = self.run_ctl(*words, **options)
        self.assertEqual(result.returncode, DONE, (words, result.stderr))
        return result.stdout

    def ctl_json(self, *words, **options):
        return json.loads(self.ctl(*words, "--json", **options))

    def refused(self, code, text, *words, **options):
        """Runs a command that must fail; returns its standard error.

        One line, which holds `text`; nothing on standard output."""
        result = self.run_ctl(*words, **options)
        message = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, code, (words, message))
        self.assertIn(text, message)
        self.assertTrue(message.startswith("ersctl: "), message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual(result.stdout, b"")
        return message

    def put(self, key, data, *words):
        return self.ctl_json("put", key, "-", *words, data=data)

    def check(self, key, data):
        """The object's bytes are `data`."""
        got = self.ctl("get", key)
        self.assertEqual(len(got), len(data))
        self.assertTrue(got == data, f"{key}: other bytes than stored")
