"""What all test beds have in common: nodes, and what runs on them.

A node says by which words a command runs on it (`command`) and where others
reach it (`address`). Whatever a bed starts ends with this process, however that
ends: it ends with a pipe, and pipes end with processes.
"""

import contextlib
import dataclasses
import os
import subprocess


class BedError(Exception):
    """What went wrong and what to do, as one sentence for the user."""


@dataclasses.dataclass(frozen=True)
class Link:
    """What a shaped link carries, each way."""

    mbit: float
    burst_bytes: int  # at once, at the most
    queue_bytes: int  # that wait for it; more are dropped


# The kernel's timers are good for this much of what a link carries. A burst
# goes at the speed of memory: were it as large as what an experiment moves, no
# link would be seen at all. With less than the least, most pieces are so short
# that their headers are more than 5 % of them at the interface.
BURST_S = 0.0005
LEAST_BURST = 12 << 10
MOST_BURST_BELOW_GIGABIT = 64 << 10
# Whatever servers send at once to one client: what is dropped is sent again
# 200 ms later, which is seen in place of the bytes that were moved.
LEAST_QUEUE = 4 << 20
QUEUE_S = 0.05


def link_of(mbit):
    a_second = mbit * 1e6 / 8
    burst = max(int(a_second * BURST_S), LEAST_BURST)
    if mbit < 1000:
        burst = min(burst, MOST_BURST_BELOW_GIGABIT)
    return Link(mbit, burst, max(int(a_second * QUEUE_S), LEAST_QUEUE))


class Local:
    """This machine as it is."""

    address = "127.0.0.1"

    def command(self, *words):
        return list(words)


class Ending:
    """A process that ends when its standard input does."""

    def __init__(self, words):
        try:
            # Ctrl-C is for us alone.
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, start_new_session=True)
        except FileNotFoundError as error:
            raise BedError(f"cannot run {words[0]}: {error.strerror}"
                           ) from None

    def line(self):
        """Its next line; a BedError says what it said where it ended."""
        line = self.process.stdout.readline()
        if not line:
            said = self.process.stderr.read().strip()
            raise BedError(f"'{self.process.args[0]} ...' ended: "
                           f"{said or 'without a word'}")
        return line.strip()

    def end(self):
        for pipe in (self.process.stdin, self.process.stdout,
                     self.process.stderr):
            with contextlib.suppress(OSError):
                pipe.close()
        self.process.wait()


TCP_DEFAULT = "/proc/sys/net/ipv4/tcp_congestion_control"
MEMCACHED = """
file=$(mktemp)
MEMCACHED_PORT_FILENAME=$file memcached -l "$1" -p -1 -U 0 -t 1 -I 8m -m "$2" \
  -u "$(id -un)" </dev/null >/dev/null &
server=$!
trap 'kill "$server"; wait "$server"; rm -f "$file"' EXIT
until [ -s "$file" ]; do
  kill -0 "$server" 2>/dev/null || { echo "memcached did not start" >&2; exit 1; }
  sleep 0.01  # a file that is written causes no event
done
sed -n 's/^TCP INET: //p' "$file"
cat >/dev/null
"""


class Servers:
    """One memcached on each of some nodes."""

    def __init__(self, nodes, memory_mb=512):
        self.running = []
        try:
            self.running = [
                Ending(node.command("sh", "-c", MEMCACHED, "sh", node.address,
                                    str(memory_mb))) for node in nodes]
            self.ports = [server.line() for server in self.running]
        except BaseException:
            self.end()
            raise
        self.names = ",".join(f"{node.address}:{port}"
                              for node, port in zip(nodes, self.ports))

    def end(self):
        # Signalled to end together, then waited for.
        for server in self.running:
            with contextlib.suppress(OSError):
                server.process.stdin.close()
        for server in self.running:
            server.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Bed:
    """Nodes to run on. `name` is the row's; link None: not shaped."""

    name = "unshaped"
    link = None
    interface = None  # of the client's node
    measured_mbit = None
    cpu_limited = None
    tcp = None  # the servers' congestion control

    def __init__(self, servers):
        self.client = Local()
        self.nodes = [Local()] * servers
        with open(TCP_DEFAULT, encoding="ascii") as file:
            self.tcp = file.read().strip()

    def check(self):
        """Holds the links to what they should carry; a BedError reports one
        that does not."""

    def servers(self, count):
        return Servers(self.nodes[:count])

    def end(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def cpu_times():
    """Jiffies of all processors: (all, idle)."""
    with open("/proc/stat", encoding="ascii") as file:
        times = [int(word) for word in file.readline().split()[1:9]]
    return sum(times), times[3] + times[4]


def may_be_root():
    return os.geteuid() == 0
