"""The packages on a clean Debian 12 under systemd: installed, configured,
started, used, upgraded, removed and purged.

  clean_root_test.py BUILD VERSION

Fetches a Debian system by apt's tools. Exits with 77 where that, or starting
it, cannot be done here."""

import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import time
import unittest

import clean_root
import debian_packages
from debian_packages import output

BUILD, VERSION = sys.argv[1:3]
NEWER = VERSION + "+newer"
ADMIN = "127.0.0.1:11280"
SERVERS = [f"127.0.0.1:{port}" for port in range(21211, 21217)]
CONFIG = "/etc/ersproxy.yaml"
ADDED = "# A line that only the newer package has.\n"
STATE = "/var/lib/ersproxy"

READY = """
import sys, urllib.request
with urllib.request.urlopen(f"http://{sys.argv[1]}/readyz", timeout=30) as r:
    print(r.status, r.read().decode().strip())
"""
# Sends a line and what follows it, and prints what comes back until its end.
ASK = r"""
import socket, sys
with socket.create_connection(("127.0.0.1", 11211), timeout=30) as link:
    link.sendall(sys.argv[1].encode().decode("unicode_escape").encode())
    got = b""
    while not got.endswith(sys.argv[2].encode() + b"\r\n"):
        piece = link.recv(1 << 16)
        if not piece:
            break
        got += piece
print(got.decode(), end="")
"""
# Which process a connection is served by, before and after another one took
# over.
TAKE_OVER = r"""
import socket, sys, time
with socket.create_connection(("127.0.0.1", 11211), timeout=30) as link:
    file = link.makefile("rb")
    def pid():
        link.sendall(b"stats\r\n")
        lines = iter(file.readline, b"END\r\n")
        found, = [line.split()[2] for line in lines
                  if line.startswith(b"STAT pid ")]
        return found.decode()
    before = pid()
    open(sys.argv[1], "w").close()
    end = time.monotonic() + 30
    while (now := pid()) == before and time.monotonic() < end:
        time.sleep(0.1)  # a client is told nothing of it: ask again
    print(before, now)
"""


def newer(package, folder):
    """The package as a later version whose settings have changed as well."""
    raw = os.path.join(folder, "raw-" + os.path.basename(package))
    output("dpkg-deb", "--raw-extract", package, raw)
    control = os.path.join(raw, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(text.replace(VERSION, NEWER))
    config = os.path.join(raw, CONFIG.lstrip("/"))
    if os.path.exists(config):
        with open(config, "a", encoding="utf-8") as file:
            file.write(ADDED)
    path = os.path.join(folder, "newer-" + os.path.basename(package))
    output("dpkg-deb", "--root-owner-group", "--build", raw, path)
    return path


class CleanRootTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="ers-clean-root-test-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        made = debian_packages.build(BUILD, cls.work)
        cls.there = clean_root.CleanRoot()
        cls.addClassCleanup(cls.there.close)
        cls.there.make()
        os.mkdir(cls.there.path("/packages"))
        cls.packages = {}
        for name in ("libers0", "ersproxy", "ers-tools"):
            cls.packages[name] = cls.there.put(made[name], "/packages")
        cls.newer = [cls.there.put(newer(made[name], cls.work), "/packages")
                     for name in cls.packages]
        cls.there.fetch_for(list(cls.packages.values()))
        cls.there.boot()
        # Debian's own one listens where the daemon does.
        cls.there.run("systemctl", "disable", "--now", "memcached")

    def service(self, name):
        return self.there.run("systemctl", "show", "--value", "--property",
                              name, "ersproxy").strip()

    def running(self):
        """Paths of the programs that run there."""
        return self.there.result("sh", "-c",
                                 "readlink /proc/[0-9]*/exe").stdout

    def ready(self):
        return self.there.python(READY, ADMIN)

    def ask(self, text, end):
        return self.there.python(ASK, text, end)

    # In this order: the life of an installation.
    def test_all(self):
        before = self.there.files()
        self.install()
        self.configure()
        self.start()
        self.use()
        self.take_over()
        self.upgrade()
        self.remove()
        self.purge(before)

    def install(self):
        self.there.apt("install", *self.packages.values())
        self.assertEqual(self.service("ActiveState"), "inactive")
        self.assertEqual(self.service("UnitFileState"), "disabled")
        self.assertIn("ersproxy:", self.there.run("getent", "passwd",
                                                  "ersproxy"))
        self.assertEqual(self.there.run("stat", "-c", "%U:%G %a", STATE),
                         "ersproxy:ersproxy 700\n")
        for program in ("ersproxy", "ersctl", "ers-analyze", "ers-bench"):
            self.assertIn(VERSION, self.there.run(program, "--version"))
        # It finds its figures.
        self.assertIn("rep:2", self.there.run(
            "ersctl", "advise", "--object-size", "1048576", "--mbit", "200"))

    def configure(self):
        for server in SERVERS:
            port = server.rpartition(":")[2]
            self.there.run("systemd-run", f"--unit=memcached-{port}",
                           "--property=User=memcache", "memcached", "-l",
                           "127.0.0.1", "-p", port, "-M")
        text = self.there.read(CONFIG)
        listed = re.search(r"^servers:\n(  - .*\n)+", text, re.M)[0]
        text = text.replace(listed, "servers:\n" + "".join(
            f"  - {server}\n" for server in SERVERS))
        for setting in (f"admin: {ADMIN}", f"state_file: {STATE}/view",
                        f"state_dir: {STATE}/state"):
            self.assertIn(f"\n#{setting}\n", text)
            text = text.replace(f"\n#{setting}\n", f"\n{setting}\n")
        self.there.write(CONFIG, text)
        self.config = text
        self.there.run("ersproxy", "--check-config", CONFIG)

    def start(self):
        self.there.run("systemctl", "enable", "--now", "ersproxy")
        self.assertEqual(self.ready().split()[0], "200")
        pid = self.service("MainPID")
        self.assertEqual(self.there.run("stat", "-c", "%U", f"/proc/{pid}"),
                         "ersproxy\n")
        self.assertIn("/usr/bin/ersproxy\n", self.running())
        log = self.there.run("journalctl", "--unit=ersproxy", "--no-pager")
        self.assertIn("ersproxy[" + pid + "]", log)

    def use(self):
        self.assertEqual(self.ask(r"set kept 5 0 7\r\ncontent\r\n", "STORED"),
                         "STORED\n")
        self.get()
        said = self.there.run("ersctl", "--proxy", ADMIN, "servers")
        self.assertEqual(said.count("in_sync"), len(SERVERS), said)
        # What it knows of the cluster is where only it can read it.
        self.assertEqual(self.there.run("stat", "-c", "%U", STATE + "/view"),
                         "ersproxy\n")

    def get(self):
        self.assertEqual(self.ask(r"get kept\r\n", "END").split("\n")[:3],
                         ["VALUE kept 5 7", "content", "END"])

    def taken_over(self, before):
        """systemd goes by another process, and has started none itself."""
        now = self.service("MainPID")
        self.assertNotEqual(now, before)
        self.assertEqual(self.service("NRestarts"), "0")
        self.assertEqual(self.service("ActiveState"), "active")
        log = self.there.run("journalctl", "--unit=ersproxy", "--no-pager")
        self.assertIn(f"process {now} serves: clients are handed over", log)

    def take_over(self):
        before = self.service("MainPID")
        connected = os.path.join(self.work, "connected")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            client = pool.submit(self.there.python, TAKE_OVER, connected)
            while not os.path.exists(connected) and not client.done():
                time.sleep(0.1)  # a file that appears causes no event
            self.there.run("systemctl", "kill", "--kill-whom=main",
                           "--signal=SIGUSR2", "ersproxy")
            pids = client.result().split()
        self.assertEqual(pids, [before, self.service("MainPID")])
        self.taken_over(before)
        self.assertEqual(self.ready().split()[0], "200")

    def upgrade(self):
        before = self.service("MainPID")
        self.there.apt("install", *self.newer)
        self.taken_over(before)
        self.assertIn(NEWER, self.there.run("dpkg-query", "--show",
                                            "ersproxy"))
        self.assertEqual(self.there.read(CONFIG), self.config)
        self.assertTrue(self.there.read(CONFIG + ".dpkg-dist")
                        .endswith(ADDED))
        self.assertEqual(self.ready().split()[0], "200")
        self.get()

    def remove(self):
        self.there.apt("remove", "ersproxy", "ers-tools", "libers0")
        self.assertIn("/usr/bin/memcached\n", self.running())
        self.assertNotIn("ersproxy", self.running())
        self.assertEqual(self.there.read(CONFIG), self.config)
        self.assertTrue(os.path.exists(self.there.path(STATE)))

    def purge(self, before):
        # The others left nothing to purge, and apt knows them no more.
        self.there.apt("purge", "ersproxy")
        self.there.apt("autoremove", "--purge")
        self.assertEqual(self.there.files() - before, set())
        self.assertNotIn("ersproxy", self.there.run("dpkg-query", "--show"))
        # Debian's packages leave their users: files may be theirs.
        self.assertIn("ersproxy:", self.there.read("/etc/passwd"))


if __name__ == "__main__":
    WHY_NOT = debian_packages.MISSING or clean_root.why_not()
    if WHY_NOT:
        print(f"skipped: {WHY_NOT}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
