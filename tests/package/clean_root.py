"""A clean Debian 12 in a folder, which systemd starts in namespaces of its own:
nothing of it reaches this machine's system or network."""

import os
import shutil
import subprocess
import tempfile
import time

from debian_packages import missing, output

RELEASE = "bookworm"
DEADLINE_S = 600  # with what is fetched
BOOT_S = 120
# What a service's own machine has, beside what all have.
INCLUDED = "systemd,systemd-sysv,dbus,memcached"
PLAIN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
         "DEBIAN_FRONTEND": "noninteractive"}


def why_not():
    """Why there can be none here, or None."""
    if os.geteuid() != 0:
        return "only root can start a system"
    return missing(mmdebstrap="mmdebstrap", systemd_nspawn="systemd-container",
                   nsenter="util-linux")


class CleanRoot:

    def __init__(self):
        # Not in memory, where /tmp may be.
        self.folder = tempfile.mkdtemp(prefix="ers-root-", dir="/var/tmp")
        self.root = os.path.join(self.folder, "root")
        self.system = None
        self.leader = None

    def make(self):
        self._fetch("mmdebstrap", "--variant=minbase",
                    f"--include={INCLUDED}", RELEASE, self.root)

    def _fetch(self, *command):
        result = subprocess.run(command, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True,
                                timeout=DEADLINE_S, check=False)
        if result.returncode != 0:
            raise AssertionError(f"{' '.join(command)}:\n{result.stdout}")

    def path(self, name):
        return os.path.join(self.root, name.lstrip("/"))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def put(self, path, folder):
        """Its path there."""
        shutil.copy(path, self.path(folder))
        return os.path.join(folder, os.path.basename(path))

    def fetch_for(self, packages):
        """What apt says these need, while there is a network."""
        for words in (("update",), ("install", "--yes", "--download-only",
                                    "--no-install-recommends", *packages)):
            self._fetch("systemd-nspawn", "--quiet", "--register=no",
                        "--keep-unit", "--pipe", "-D", self.root,
                        "apt-get", *words)

    def boot(self):
        with open(os.path.join(self.folder, "console"), "wb") as console:
            self.system = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit",
                 "--private-network", "--console=pipe", "--boot", "-D",
                 self.root], stdin=subprocess.DEVNULL, stdout=console,
                stderr=subprocess.STDOUT)
        end = time.monotonic() + BOOT_S
        while time.monotonic() < end:
            if self.system.poll() is not None:
                with open(os.path.join(self.folder, "console"),
                          encoding="utf-8", errors="replace") as console:
                    raise AssertionError(f"it ended:\n{console.read()}")
            children = f"/proc/{self.system.pid}/task/{self.system.pid}/children"
            with open(children, encoding="utf-8") as file:
                found = file.read().split()
            if found:
                self.leader = found[0]
                # It waits for the start to end, once there is a bus to ask on.
                said = self.result("systemctl", "is-system-running", "--wait")
                if said.stdout.strip() in ("running", "degraded"):
                    return
            time.sleep(0.1)
        raise AssertionError("it did not start")

    def result(self, *command, namespaces=("mount", "uts", "ipc", "net", "pid",
                                           "cgroup")):
        return subprocess.run(
            ["nsenter", "--target", self.leader,
             *(f"--{name}" for name in namespaces), "--", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=DEADLINE_S,
            check=False, env=PLAIN)

    def run(self, *command, **options):
        said = self.result(*command, **options)
        if said.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with "
                                 f"{said.returncode}:\n{said.stdout}")
        return said.stdout

    def python(self, text, *arguments):
        """Runs this machine's Python on the network of that one."""
        return self.run("python3", "-c", text, *arguments,
                        namespaces=("net",))

    def apt(self, *words):
        return self.run("apt-get", "--yes", "--no-install-recommends",
                        "-o", "Dpkg::Options::=--force-confdef",
                        "-o", "Dpkg::Options::=--force-confold", *words)

    def files(self):
        """Paths of all that is there, but for logs, caches and what dpkg, apt
        and debconf know."""
        skipped = tuple(self.path(name) for name in (
            "/proc", "/sys", "/dev", "/run", "/tmp", "/var/log", "/var/cache",
            "/var/tmp", "/var/lib/dpkg", "/var/lib/apt", "/packages"))
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders
                          if os.path.join(folder, name) not in skipped]
            found |= {os.path.join(folder, name).removeprefix(self.root)
                      for name in (*folders, *names)}
        return found

    def close(self):
        if self.system is not None and self.system.poll() is None:
            if self.leader:
                self.result("systemctl", "poweroff")
            try:
                self.system.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.system.kill()
                self.system.wait()
        output("rm", "-rf", "--one-file-system", self.folder)
