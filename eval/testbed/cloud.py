"""Links as in a cloud: no two alike, some slow, all with latency.

Each server is behind a proxy of its own, toxiproxy, which holds back what goes
through it: the kernel need not be able to, and no process has to be root's.
The client is on this machine, too. Where there is root, all of them have a
congestion control that is not the machine's own, as the other beds' do.
"""

import dataclasses
import json
import os
import random
import shutil
import socket
import subprocess
import time

from testbed import bed, links, namespaces
from testbed.bed import BedError

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
VERSION = "v2.5.0"  # that Debian 12's Go compiles
MODULE = f"github.com/Shopify/toxiproxy/v2/cmd/server@{VERSION}"
FOLDER = os.path.join(TOP, "build", "eval", f"toxiproxy-{VERSION}")
PROGRAM = os.path.join(FOLDER, "server")
BUILD_S = 600
START_S = 10
TRIES = 3

# Round trips to three zones, in ms, and what a server's link carries.
ZONES_MS = (1, 2, 3)
LEAST_MBIT, MOST_MBIT = 150, 500
# Every so many servers one straggles: it has a fraction of the others' link,
# and its answers come late, some more than others.
STRAGGLER_EACH = 8
STRAGGLER_SHARE = 4
STRAGGLER_MS, STRAGGLER_JITTER_MS = 5, 5


@dataclasses.dataclass(frozen=True)
class Profile:
    """Of one server's link."""

    mbit: float
    latency_ms: int
    jitter_ms: int

    def toxics(self):
        # Kilobytes of 1000 bytes.
        rate = {"rate": int(self.mbit * 1000 / 8)}
        return [("bandwidth", "upstream", rate),
                ("bandwidth", "downstream", rate),
                ("latency", "downstream", {"latency": self.latency_ms,
                                           "jitter": self.jitter_ms})]


def profiles(count, seed):
    """The same for the same seed; a straggler is the first, as also the
    smallest cluster has one."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        mbit = chance.randrange(LEAST_MBIT, MOST_MBIT + 1)
        zone = ZONES_MS[number % len(ZONES_MS)]
        if number % STRAGGLER_EACH == 0:
            made.append(Profile(mbit / STRAGGLER_SHARE, zone + STRAGGLER_MS,
                                STRAGGLER_JITTER_MS))
        else:
            made.append(Profile(mbit, zone, 0))
    return made


def refusal(build):
    """Why there can be no such bed here; None: there can. `build` allows to
    fetch and compile the proxy."""
    if os.path.exists(PROGRAM):
        return None
    if not build:
        return "toxiproxy is not built; 'eval/run exp6' does so"
    if shutil.which("go") is None:
        return "go is missing, to build toxiproxy: install golang-go"
    try:
        done = subprocess.run(
            ["go", "install", MODULE], check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=BUILD_S, env={**os.environ, "GOBIN": FOLDER})
    except subprocess.TimeoutExpired:
        return f"toxiproxy is not built after {BUILD_S} s"
    if done.returncode != 0:
        return f"toxiproxy cannot be built: {done.stdout.strip()}"
    return None


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


# It ends with its standard input, whatever it starts.
HOLD = '"$@" </dev/null >/dev/null 2>&1 & held=$!; trap "kill $held" EXIT; cat'


# Asks where the proxy is, which is not reached from outside: for a line with a
# URL and what to send, one with what was answered, or why nothing was.
ASK = """
import json, sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for line in sys.stdin:
    url, data, seconds = json.loads(line)
    request = urllib.request.Request(
        url, None if data is None else data.encode(),
        {"Content-Type": "application/json", "User-Agent": "eval"})
    try:
        with opener.open(request, timeout=seconds) as answer:
            answered = [answer.read().decode(), None]
    except OSError as error:
        answered = [None, str(error)]
    print(json.dumps(answered), flush=True)
"""


class Proxies:
    """One toxiproxy on a node, and the proxies in it."""

    def __init__(self, node, seed):
        self.count = 0
        self.asking = bed.Ending(node.command("python3", "-c", ASK))
        try:
            self.start(node, seed)
        except BaseException:
            self.asking.end()
            raise

    def start(self, node, seed):
        for left in reversed(range(TRIES)):
            # Another process may take the port before it does.
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            self.process = bed.Ending(node.command(
                "sh", "-c", HOLD, "sh", PROGRAM, "-host", "127.0.0.1",
                "-port", str(port), "-seed", str(seed)))
            if self.answers():
                return
            self.process.end()
            if not left:
                raise BedError(f"{PROGRAM} does not answer")

    def answers(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.answer_of("version", None)[1] is None:
                return True
            # A port that is listened on causes no event.
            time.sleep(0.01)
        return False

    def answer_of(self, path, what):
        """(answer, why there is none)"""
        data = None if what is None else json.dumps(what)
        self.asking.process.stdin.write(
            json.dumps([f"{self.url}/{path}", data, START_S]) + "\n")
        self.asking.process.stdin.flush()
        return json.loads(self.asking.line())

    def ask(self, path, what):
        answer, why_not = self.answer_of(path, what)
        if why_not is not None:
            raise BedError(f"toxiproxy: {path}: {why_not}")
        return answer

    def add(self, port, profile):
        """The port of a proxy to that port of this machine."""
        self.count += 1
        name = f"link{self.count}"
        made = json.loads(self.ask("proxies", {
            "name": name, "listen": "127.0.0.1:0",
            "upstream": f"127.0.0.1:{port}"}))
        for kind, stream, attributes in profile.toxics():
            self.ask(f"proxies/{name}/toxics",
                     {"name": f"{kind}-{stream}", "type": kind,
                      "stream": stream, "attributes": attributes})
        return int(made["listen"].rpartition(":")[2])

    def end(self):
        self.process.end()
        self.asking.end()


class ProxiedServers(bed.Servers):

    def __init__(self, nodes, proxies, links_of):
        super().__init__(nodes)
        try:
            self.names = ",".join(
                f"127.0.0.1:{proxies.add(port, profile)}"
                for port, profile in zip(self.ports, links_of))
        except BaseException:
            self.end()
            raise


class CloudBed(bed.Bed):

    name = "cloud"

    def __init__(self, servers, seed, tcp=None):
        """`tcp` None: the machine's own."""
        super().__init__(servers)
        self.profiles = profiles(servers, seed)
        self.inside = None
        if tcp is not None:
            self.inside = self.client = namespaces.Loopback(tcp)
            self.nodes = [self.inside] * servers
            self.tcp = tcp
        try:
            self.proxies = Proxies(self.client, seed)
        except BaseException:
            self.leave()
            raise

    def check(self):
        """Each link by itself, both ways: they are not alike."""
        measured = []
        for profile, node in zip(self.profiles, self.nodes):
            def lead(port, profile=profile):
                return "127.0.0.1", self.proxies.add(port, profile)
            ways = [links.Way(self.client, node, lead),
                    links.Way(node, self.client, lead, source_listens=True)]
            held, _ = links.hold(links.measure(ways, profile.mbit),
                                 profile.mbit)
            measured.append(held)
        self.measured_mbit = min(measured)

    def servers(self, count):
        return ProxiedServers(self.nodes[:count], self.proxies, self.profiles)

    def leave(self):
        if self.inside is not None:
            self.inside.end()

    def end(self):
        self.proxies.end()
        self.leave()
