"""What the rows are measured on: servers, a relay before some of them, and the
proxies of one system before all."""

import dataclasses
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "eval", "proxy-load")]
# pylint: disable=wrong-import-position
import relay
import setting

KIB = 1 << 10
SIZES = (16 * KIB, 1 << 20)
KEYS = {16 * KIB: 40, 1 << 20: 20}
PATIENCE_S = 60
LONGEST = 300  # characters of a message
POLL_S = 0.02
SERVERS = 6
SLOW = SERVERS - 1  # the one that things happen to, from 0 on
# The usual settings of production: a server that fails once is passed over.
NUTCRACKER = ("  timeout: 400\n  auto_eject_hosts: true\n"
              "  server_failure_limit: 1\n  server_retry_timeout: 2000\n")


class BedError(Exception):
    """What went wrong, as one sentence for the user."""

    def __init__(self, text):
        # A message may name each of a hundred servers.
        super().__init__(text if len(text) < LONGEST
                         else text[:LONGEST] + " ...")


class Skipped(Exception):
    """Why a row cannot be measured here."""


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    scheme: str | None = None  # of ersproxy; None: another proxy

    def check(self):
        if self.scheme is None and shutil.which(self.name) is None:
            raise Skipped(f"{self.name} is not installed: apt-get install "
                          f"{self.name}")


CODED = System("ersproxy", "ers2:4,1,5")
COPIES = System("copies", "rep:2")
NUTCRACKER_SYSTEM = System("nutcracker")
SYSTEMS = (CODED, COPIES, NUTCRACKER_SYSTEM)


class Client:
    """One text connection, for what is asked one by one."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def ask(self, request, ends=(b"END\r\n",)):
        """The lines of an answer, up to one that ends it."""
        self.socket.sendall(request)
        lines = []
        while True:
            line = self.file.readline()
            lines.append(line)
            if line in ends:
                return lines
            if not line or b"ERROR" in line:
                raise BedError(f"{request[:60]!r} is answered by {line!r}")

    def set(self, key, value):
        self.ask(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(value), value),
                 (b"STORED\r\n",))

    def replicas(self, key):
        """The servers that hold the key's manifest."""
        for line in self.ask(b"ers stat %s\r\n" % key.encode()):
            words = line.decode().split(None, 2)
            if words[:2] == ["STAT", "replicas"]:
                return words[2].strip().split(",")
        raise BedError(f"no replicas of {key} are shown")

    def close(self):
        self.file.close()
        self.socket.close()


class Proxy:

    def __init__(self, name, process, ports, log):
        self.name = name
        self.process = process
        self.port = ports[0]
        self.admin = ports[-1]
        self.log = log

    def status(self):
        address = f"http://127.0.0.1:{self.admin}/status"
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def state_of(self, name):
        """(state, since when)"""
        for server in self.status()["servers"]:
            if server["name"] == name:
                return server["state"], server["since_s"]
        raise BedError(f"{self.name} has no server {name}")

    def in_sync(self):
        return all(server["state"] == "in_sync"
                   for server in self.status()["servers"])

    def logged(self, pattern):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return re.findall(pattern, file.read())

    def view(self):
        """The newest that its log names; 0: none."""
        return max(map(int, self.logged(r"\bview (\d+)")), default=0)


class Bed(setting.Setting):
    """For a with statement; what it started ends with it."""

    def __init__(self, arguments, system=CODED):
        super().__init__(arguments)
        self.system = system
        self.relay = None
        self.relayed = {}  # server: its number at the relay
        self.started = []  # proxies
        self.groups = []   # folders of further clusters

    # Servers.

    def start_servers(self, count=SERVERS, behind=(SLOW,), memory_mb=256):
        self.cluster("up", "-n", str(count), "--no-evict", "--memory",
                     str(memory_mb))
        names = self.cluster("env").strip().partition("=")[2].split(",")
        ports = [int(name.rpartition(":")[2]) for name in names]
        if behind:
            self.relay = relay.Relay(self.arguments.relay,
                                     [ports[server] for server in behind])
            for number, server in enumerate(behind):
                self.relayed[server] = number
                names[server] = f"127.0.0.1:{self.relay.ports[number]}"
        self.servers = ",".join(names)

    def server_name(self, server):
        return self.servers.split(",")[server]

    def act(self, what, server=SLOW):
        """kill, start, stop or cont: as `cluster` has it."""
        self.cluster(what, str(server + 1))

    def pid(self, server):
        status = json.loads(self.cluster("status", "--json"))
        return status["members"][server]["pid"]

    def well(self):
        for number in self.relayed.values():
            self.relay.well(number)

    # Proxies.

    def start_proxy(self, *options):
        name = f"proxy{len(self.started)}"
        if self.system.scheme is None:
            port, process = self.nutcracker(name, NUTCRACKER)
            ports = [port]
        else:
            self.more_options = (
                "--scheme", self.system.scheme, "--admin", "127.0.0.1:0",
                *options)
            _, (process,) = self.ersproxy(name, self.arguments.ersproxy)
            ports = [int(address.rpartition(":")[2])
                     for address in self.addresses]
        self.started.append(Proxy(name, process, ports, os.path.join(
            self.folder, name + ".log")))
        return self.started[-1]

    @property
    def proxy(self):
        return self.started[0]

    def patient(self):
        """A file of settings for what is counted, not timed: no server is dead
        because the machine is busy."""
        path = os.path.join(self.folder, "patient.yaml")
        with open(path, "w", encoding="ascii") as file:
            file.write("timeouts: {connect_ms: 25000, request_ms: 25000}\n")
        return path

    def client(self, proxy=None):
        return Client((proxy or self.proxy).port)

    def await_all(self, holds, what):
        """Until it holds of every proxy, and has held of those that were asked
        before: seconds. One is asked at a time: questions cost, too."""
        return sum(wait_for(lambda proxy=proxy: holds(proxy), what)
                   for proxy in self.started)

    def await_in_sync(self):
        if self.system.scheme is None:
            # It shows no states: longer than it passes a server over.
            time.sleep(3)
            return
        # A server that came and went must wait, unless a person lets it in.
        subprocess.run(
            [os.path.join(self.arguments.programs, "ersctl"), "rebuild",
             "--servers", self.servers], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.await_all(Proxy.in_sync, "all have all servers in sync")

    def since(self, server):
        """{proxy: since when it has the server in this state}"""
        if self.system.scheme is None:
            return {}
        name = self.server_name(server)
        return {proxy: proxy.state_of(name)[1] for proxy in self.started}

    def await_return(self, server, before):
        """Until it is in sync again, and not still; before: of since().
        Seconds."""
        if self.system.scheme is None:
            return self.await_in_sync()
        name = self.server_name(server)

        def returned(proxy):
            state, since = proxy.state_of(name)
            return state == "in_sync" and since != before[proxy]
        return self.await_all(returned, "a server is in sync again")

    # The load.

    def begin(self, value_bytes, clients, seconds, sets=0, ports=None, skip=0,
              names=(), seed=1):
        """A load that runs; the argument of end()."""
        words = [self.arguments.load, "--ports", ",".join(
            map(str, ports or [self.proxy.port])), "--connections", clients,
            "--keys", KEYS[value_bytes], "--value-bytes", value_bytes,
            "--set-percent", sets, "--seconds", seconds, "--skip-s", skip,
            "--prefix", f"v{value_bytes}-", "--apart", "--seed", seed]
        if names:
            words += ["--names", ",".join(names)]
        return subprocess.Popen(list(map(str, words)),
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    @staticmethod
    def end(load):
        printed, complaints = load.communicate()
        if load.returncode:
            raise BedError(complaints.strip())
        return json.loads(printed)

    def load(self, *words, **options):
        return self.end(self.begin(*words, **options))

    def fill(self, sizes=SIZES):
        """The values that are read, and those that are written beside."""
        for value_bytes in sizes:
            for prefix in ("", "-set"):
                filled = subprocess.run(
                    [self.arguments.load, "--ports", str(self.proxy.port),
                     "--connections", "1", "--keys", str(KEYS[value_bytes]),
                     "--value-bytes", str(value_bytes), "--prefix",
                     f"v{value_bytes}-{prefix}", "--fill"], check=False,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True)
                if filled.stderr:
                    raise BedError(filled.stderr.strip())

    def stop(self):
        if self.relay is not None:
            self.relay.end()
        for folder in self.groups:
            subprocess.run([sys.executable, setting.CLUSTER, "--dir", folder,
                            "down"], stdin=subprocess.DEVNULL, check=True)
        super().stop()

    def more_servers(self, count):
        """Further ones, for which nothing is relayed: their names."""
        folder = os.path.join(self.folder, f"more{len(self.groups)}")
        words = [sys.executable, setting.CLUSTER, "--dir", folder]
        subprocess.run([*words, "up", "-n", str(count), "--no-evict",
                        "--memory", "8", "--item-max", "1"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       check=True)
        self.groups.append(folder)
        env = subprocess.run([*words, "env"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, text=True, check=True)
        return env.stdout.strip().partition("=")[2]


    def items(self):
        """How many all servers hold."""
        count = 0
        for server in self.servers.split(","):
            client = Client(int(server.rpartition(":")[2]))
            for line in client.ask(b"stats\r\n"):
                words = line.split()
                if words[1:2] == [b"curr_items"]:
                    count += int(words[2])
            client.close()
        return count

    def await_items(self):
        """Until a proxy that has begun has stored what it keeps ready."""
        before = None
        while before != (before := self.items()):
            # No event tells the last one: two looks that agree do.
            time.sleep(1)


def wait_for(condition, what):
    """Seconds that it took."""
    begun = time.monotonic()
    while True:
        try:
            if condition():
                return time.monotonic() - begun
        except urllib.error.URLError:
            pass  # not yet
        if time.monotonic() - begun > PATIENCE_S:
            raise BedError(f"in {PATIENCE_S} s it did not come to this: {what}")
        # What is waited for causes no event here: ask again soon.
        time.sleep(POLL_S)
