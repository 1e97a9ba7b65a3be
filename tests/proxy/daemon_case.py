"""What the tests of daemons with settings of their own have in common: each
starts, reloads and ends them itself. Those that share one are in proxy_case.
"""

import os
import signal
import socket
import subprocess

from proxy_case import CtlCase, DEADLINE_S, ERSPROXY, PATIENT, USUAL, Polls

ENDED, BAD_USAGE, FAILED = 0, 2, 3


class Client:
    """A connection that speaks text."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), DEADLINE_S)
        self.file = self.socket.makefile("rb")

    def line(self, request):
        """The first line of the answer, without its end."""
        self.socket.sendall(request)
        return self.file.readline().rstrip(b"\r\n")

    def set(self, key, value, flags=0, exptime=0):
        return self.line(b"set %s %d %d %d\r\n%s\r\n" % (
            key, flags, exptime, len(value), value))

    def facts(self, command):
        """The lines "STAT name value" of an answer."""
        self.socket.sendall(command + b"\r\n")
        facts = {}
        while (line := self.file.readline().rstrip(b"\r\n")) != b"END":
            word, name, value = line.split(b" ", 2)
            if word != b"STAT":
                raise AssertionError(line)
            facts[name.decode()] = value.decode()
        return facts

    def close(self):
        self.file.close()
        self.socket.close()


class Daemon:
    """An ersproxy that says by itself how far it is, as it does to systemd."""

    def __init__(self, case, *words, env=None, program=ERSPROXY):
        self.case = case
        folder = case.new_folder()
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(os.path.join(folder, "notify"))
        self.notices.settimeout(DEADLINE_S)
        self.log_path = os.path.join(folder, "log")
        self.ports = os.path.join(folder, "ports")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program, *words, "--port-file", self.ports],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**case.environment(""), **(env or {}),
                     "NOTIFY_SOCKET": os.path.join(folder, "notify")})
        case.addCleanup(self.end)
        self.expect(b"READY=1")
        with open(self.ports, encoding="utf-8") as file:
            self.addresses = file.read().split()

    def expect(self, notice):
        said = b"STATUS="
        try:
            # What it is at comes in between.
            while said.startswith(b"STATUS="):
                said = self.notices.recv(4096)
        except TimeoutError:
            said = b"nothing"
        self.case.assertEqual(said, notice, self.log())

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def client(self):
        client = Client(self.addresses[0])
        self.case.addCleanup(client.close)
        return client

    def reload(self):
        """Returns what the log says of it."""
        before = len(self.log())
        self.process.send_signal(signal.SIGHUP)
        self.expect(b"RELOADING=1")
        self.expect(b"READY=1")
        return self.log()[before:]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.expect(b"STOPPING=1")
        self.case.assertEqual(self.process.wait(DEADLINE_S), ENDED, self.log())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.notices.close()


class DaemonCase(Polls, CtlCase):

    def new_folder(self):
        self.folders = getattr(self, "folders", 0) + 1
        folder = self.path(f"daemon-{self.folders}")
        os.mkdir(folder)
        return folder

    def config(self, text, servers=None, max_failures=True):
        """A file with the class's servers, any port, and this.

        The tests of a class share a cluster, and so its f."""
        listed = ", ".join(f'"{s}"'
                           for s in (servers or self.servers).split(","))
        return self.write(f"servers: [{listed}]\nlisten: [\"127.0.0.1:0\"]\n"
                          + ("max_failures: 3\n" if max_failures else "") + text
                          + (PATIENT if "\ninline_below" in "\n" + text
                             else USUAL))

    def write(self, text):
        path = self.path("ersproxy.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, *words, **options):
        return Daemon(self, *words, **options)

    def run_proxy(self, *words):
        """One that is to end by itself."""
        return subprocess.run(
            [ERSPROXY, *words], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, env=self.environment(""), cwd=self.work,
            timeout=DEADLINE_S, check=False)

    def refused(self, *words):
        """Its one line on standard error."""
        result = self.run_proxy(*words)
        self.assertEqual(result.returncode, BAD_USAGE, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr
