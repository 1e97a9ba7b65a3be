"""What CI has no time for: nothing is left behind however a run ends, machines
that ssh reaches, and links as in a cloud."""

import getpass
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))
# pylint: disable=wrong-import-position
import rows
from testbed import bed, cloud, namespaces

PROGRAMS = os.environ.get("PROGRAMS", os.path.join(TOP, "build", "release",
                                                   "bin"))
DEADLINE_S = 240
END_S = 20
GROUPS = 4  # of exp1 and exp2, with --quick
SSHD = "/usr/sbin/sshd"


def words_of(out, *words):
    return [sys.executable, "-B", os.path.join(TOP, "eval", "run"), "--quick",
            "--out", out, "--programs", PROGRAMS, *words]


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def below(root):
    """All processes that it started, and those that they did."""
    parents = {int(pid): parent_of(pid) for pid in os.listdir("/proc")
               if pid.isdigit()}
    found = {root}
    while True:
        more = {pid for pid, parent in parents.items()
                if parent in found} - found
        if not more:
            return found - {root}
        found |= more


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def interfaces():
    return set(os.listdir("/sys/class/net"))


class LeftBehindTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "rows.csv")

    def check(self, bed_name, number, code):
        before = interfaces()
        with subprocess.Popen(words_of(self.out, "exp1", "exp2", "--bed",
                                       bed_name), stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as run:
            for line in run.stderr:
                if " 1/" in line:  # so there are rows, and it goes on
                    break
            # Servers, and the processes at work on them.
            while len(started := below(run.pid)) < 8 and run.poll() is None:
                pass
            run.send_signal(number)
            run.stderr.read()
        self.assertEqual(run.returncode, code)
        self.assertGreaterEqual(len(started), 8)
        end = time.monotonic() + END_S
        while left := [pid for pid in started if is_there(pid)]:
            self.assertLess(time.monotonic(), end, left)
            time.sleep(0.02)  # the end of another's child causes no event
        self.assertEqual(interfaces(), before)
        # It goes on where it was.
        done = {(row.experiment, row.object_bytes)
                for row in rows.read(self.out)}
        self.assertGreaterEqual(len(done), 1)
        again = subprocess.run(words_of(self.out, "exp1", "exp2", "--bed",
                                        bed_name, "--list"), check=True,
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(len(again.splitlines()), GROUPS - len(done))

    def test_nothing_is_left_of_namespaces(self):
        why = namespaces.refusal()
        if why is not None:
            self.skipTest(why)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143),
                             (signal.SIGKILL, -9)):
            with self.subTest(number=number):
                self.check("namespaces", number, code)
                os.remove(self.out)

    def test_nothing_is_left_of_plain_processes(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
            with self.subTest(number=number):
                self.check("unshaped", number, code)
                os.remove(self.out)


class HostsTest(unittest.TestCase):

    def setUp(self):
        why = namespaces.refusal()
        for program, package in ((SSHD, "openssh-server"),
                                 ("ssh", "openssh-client")):
            if shutil.which(program) is None:
                why = f"{program} is missing: install {package}"
        if why is not None:
            self.skipTest(why)
        # Where sshd finds keys that no one else could have written.
        folder = tempfile.TemporaryDirectory(dir="/root" if os.geteuid() == 0
                                             else None)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.key = os.path.join(self.folder, "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        self.key], check=True)
        os.makedirs("/run/sshd", exist_ok=True)

    def serve(self, node):
        """sshd there, which ends with the node."""
        subprocess.Popen(node.command(
            SSHD, "-f", "/dev/null", "-p", "22", "-h", self.key,
            "-o", f"AuthorizedKeysFile={self.key}.pub",
            "-o", "StrictModes=no", "-o", "PidFile=none",
            "-o", "PermitRootLogin=prohibit-password", "-o", "UsePAM=no"),
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()

    def test_experiments_run_where_ssh_leads(self):
        out = os.path.join(self.folder, "rows.csv")
        network = namespaces.Network(bed.link_of(100))
        self.addCleanup(network.end)
        own = network.join()
        nodes = [network.join() for _ in range(7)]
        for node in nodes:
            self.serve(node)
        ssh = (f"ssh -i {self.key} -F none -o BatchMode=yes "
               "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
               "-o LogLevel=ERROR")
        hosts = ",".join(f"{getpass.getuser()}@{node.address}"
                         for node in nodes)
        done = subprocess.run(
            own.command(*words_of(out, "exp2", "--hosts", hosts, "--ssh", ssh,
                                  "--link-mbit", "100")),
            check=False, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = rows.read(out)
        with open(bed.TCP_DEFAULT, encoding="ascii") as file:
            own_tcp = file.read().strip()
        self.assertEqual(len(found), 2 * 2 * (5 + 1) + 2 * 2 * 5)
        for row in found:
            self.assertEqual((row.bed, row.link_mbit, row.tcp),
                             ("hosts", 100, own_tcp))
            self.assertAlmostEqual(row.measured_mbit, 100, delta=10)
            self.assertEqual((row.payload_in, row.payload_out),
                             (row.expected_in, row.expected_out))
            self.assertGreater(row.interface_out, row.payload_out)

    def test_too_few_machines_are_said(self):
        done = subprocess.run(
            words_of(os.path.join(self.folder, "rows.csv"), "exp2", "--hosts",
                     "a,b,c"), check=False, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 3)
        self.assertIn("6 servers are needed", done.stderr)


class CloudTest(unittest.TestCase):

    def test_links_carry_what_their_profile_says(self):
        why = cloud.refusal(build=True)
        if why is not None:
            self.skipTest(why)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "rows.csv")
            done = subprocess.run(
                words_of(out, "exp6"), check=False, stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = rows.read(out)
        self.assertTrue(found)
        least = min(profile.mbit for profile in cloud.profiles(6, 1))
        for row in found:
            self.assertEqual(row.bed, "cloud")
            self.assertAlmostEqual(row.measured_mbit / least, 1, delta=0.1)
            # A round trip at least, with the nearest zone's latency.
            self.assertGreater(row.seconds, min(cloud.ZONES_MS) / 1000)


if __name__ == "__main__":
    unittest.main()
