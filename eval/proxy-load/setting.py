"""What the programs of this folder have in common: real memcached servers, an
ersproxy and other proxies before them, and the load."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CLUSTER = os.path.join(TOP, "memcached-cluster", "cluster")
BINS = os.path.join(TOP, "build", "release", "bin")
START_S = 10
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pids):
    """Seconds that these processes have used, user and system together."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS_PER_S


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Setting:
    """The servers and the proxies before them; stop() ends all of it."""

    def __init__(self, arguments, *more_options):
        """arguments: of add_arguments; more_options: of ersproxy."""
        self.arguments = arguments
        self.more_options = more_options
        self.folder = tempfile.mkdtemp(prefix="proxy-load-")
        self.processes = []
        self.proxies = {}  # name: (ports, processes)
        self.before = None  # the handler of SIGTERM

    def cluster(self, *words):
        return subprocess.run(
            [sys.executable, CLUSTER, "--dir",
             os.path.join(self.folder, "cluster"), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            check=True).stdout

    def start(self):
        self.cluster("up", "-n", str(self.arguments.servers), "--memory",
                     str(self.arguments.memory_mb))
        self.servers = self.cluster("env").strip().partition("=")[2]
        status = json.loads(self.cluster("status", "--json"))
        self.server_pids = [server["pid"] for server in status["members"]]
        self.proxies["ersproxy"] = self.ersproxy("ersproxy",
                                                 self.arguments.ersproxy)

    def start_nutcrackers(self):
        if not shutil.which("nutcracker"):
            print("nutcracker is not installed: left out", file=sys.stderr)
            return
        for count in (1, 2):
            started = [self.nutcracker(f"{count}-{i}") for i in range(count)]
            self.proxies[f"nutcracker-x{count}"] = (
                [port for port, _ in started], [one for _, one in started])

    def run(self, name, command):
        with open(os.path.join(self.folder, name + ".log"), "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def wait(self, process, condition):
        end = time.monotonic() + START_S
        while not condition():
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f"it has not started: {process.args}; "
                         f"see {self.folder}")
            # It causes no event: try again soon.
            time.sleep(0.01)

    def ersproxy(self, name, program):
        port_file = os.path.join(self.folder, name + ".port")
        process = self.run(name, [
            program, "--listen", "127.0.0.1:0", "--servers",
            self.servers, "--port-file", port_file, "--threads",
            str(self.arguments.threads), *self.more_options])
        self.wait(process, lambda: os.path.exists(port_file))
        with open(port_file, encoding="ascii") as file:
            self.addresses = file.read().split()
        return [int(self.addresses[0].rpartition(":")[2])], [process]

    def nutcracker(self, name, options=""):
        """options: further lines of its configuration."""
        port = free_port()
        config = os.path.join(self.folder, f"nutcracker-{name}.yml")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"pool:\n  listen: 127.0.0.1:{port}\n"
                       "  hash: fnv1a_64\n  distribution: ketama\n"
                       "  backlog: 1024\n  preconnect: true\n"
                       f"{options}  servers:\n")
            for server in self.servers.split(","):
                file.write(f"   - {server}:1\n")
        process = self.run(f"nutcracker-{name}", [
            "nutcracker", "-c", config, "-v", "0", "-o",
            os.path.join(self.folder, f"nutcracker-{name}.out"),
            "-a", "127.0.0.1", "-s", str(free_port()),
            "-p", os.path.join(self.folder, f"nutcracker-{name}.pid")])
        self.wait(process, lambda: listens(port))
        return port, process

    def load(self, name, value_bytes, depth, *more):
        ports, _ = self.proxies[name]
        output = subprocess.run(
            [self.arguments.load, "--ports", ",".join(map(str, ports)),
             "--connections", str(self.arguments.connections),
             "--depth", str(depth), "--keys", str(self.arguments.keys),
             "--value-bytes", str(value_bytes),
             # One cannot read what another has stored.
             "--prefix", name, *map(str, more)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            check=True).stdout
        return json.loads(output)

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        if os.path.isdir(os.path.join(self.folder, "cluster")):
            self.cluster("down")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        # Its end is that of what it started, too.
        self.before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return self

    def __exit__(self, *_):
        # `timeout` sends it twice: the second one would cut the end off.
        signal.signal(signal.SIGTERM, lambda *_: None)
        self.stop()
        signal.signal(signal.SIGTERM, self.before)


def add_arguments(parser, **defaults):
    parser.add_argument("--ersproxy", default=os.path.join(BINS, "ersproxy"))
    parser.add_argument("--load", default=os.path.join(BINS, "proxy-load"))
    parser.add_argument("--threads", type=int, default=2, help="of ersproxy")
    parser.add_argument("--servers", type=int, default=6)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--requests", type=int, help="of a run")
    parser.add_argument("--connections", type=int)
    parser.add_argument("--keys", type=int)
    parser.add_argument("--memory-mb", type=int, default=256,
                        help="of each server (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.set_defaults(**{"rounds": 5, "requests": 100_000, "connections": 50,
                           "keys": 10_000, **defaults})
