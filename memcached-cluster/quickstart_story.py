"""The story that quickstart shows: one file through a transition and a crash.

usage: quickstart_story.py ERSCTL [FILE]

Every count in its table is a fact: blocks of a transition are those that
ersctl reports, bytes are those that the servers themselves counted.
"""

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
CLUSTER = os.path.join(HERE, "cluster")
SERVERS = 6
SCHEME = "ers2:4,1,5"
SAMPLE_BYTES = 4 << 20
# Below, a value is kept whole beside its manifest: no blocks to show.
SMALLEST_BYTES = 4 << 10
LARGEST_BYTES = 256 << 20
KEY = "quickstart"
HEADS = (("", "", "blocks", "blocks", "KiB", "KiB", "", ""),
         ("step", "what happened", "read", "written", "read", "written", "ms",
          "verified"))
LEFT_ALIGNED = (1, 7)
LEGEND = """\
narrow    each stripe is 4 data blocks and 1 parity block, on 5 servers
wide      5 data blocks and 1 parity block, on 6 servers: less memory
blocks    of a put or a change of width, as ersctl reports them
KiB       sent and received by the servers, as they count it, manifests included
ms        a change of width: as ersctl measures it; put and get: the whole
          command, with starting and connecting it
verified  the SHA-256 of what was read is that of the file stored"""


class StoryError(Exception):
    """Why the story cannot go on."""


def run(command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        said = (result.stderr or result.stdout).strip()
        raise StoryError(f"{' '.join(command)} ended with exit code "
                         f"{result.returncode}: {said}")
    return result.stdout


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def write_sample(path):
    """The same bytes on every machine, and no two blocks alike."""
    with open(path, "wb") as file:
        file.write(hashlib.shake_256(b"libers").digest(SAMPLE_BYTES))


def server_counters(server):
    """What one memcached has sent and received, in bytes, and for this answer.

    Four numbers: sent and received before, and by, the query. All 0 if dead.
    """
    host, port = server.rsplit(":", 1)
    request = b"stats\r\nquit\r\n"
    try:
        with socket.create_connection((host, int(port)), 5) as link:
            link.sendall(request)
            reply = b""
            while part := link.recv(65536):
                reply += part
    except OSError:
        return 0, 0, 0, 0
    stats = dict(line.split(b" ")[1:3] for line in reply.split(b"\r\n")
                 if line.startswith(b"STAT "))
    return (int(stats[b"bytes_written"]), int(stats[b"bytes_read"]),
            len(reply), len(request))


class Story:
    """Six servers, one object, and the table of what happened to it."""

    def __init__(self, ersctl, work):
        self.ersctl = os.path.realpath(ersctl)
        self.work = work
        self.directory = os.path.join(work, "cluster")
        self.servers = []
        self.rows = []
        self.original = None
        self.wanted = None

    def cluster(self, *words):
        return run([sys.executable, CLUSTER, "--dir", self.directory, *words])

    def ctl(self, *words):
        """Runs ersctl; (its JSON, the bytes its servers moved, ms)."""
        before = self.counters()
        started = time.monotonic()
        said = run([self.ersctl, "--servers", ",".join(self.servers),
                    "--state", os.path.join(self.work, "view"), "--json",
                    *words])
        took_ms = (time.monotonic() - started) * 1000
        after = self.counters()
        moved = [after[i] - before[i] - before[i + 2] for i in (0, 1)]
        return json.loads(said), moved, took_ms

    def counters(self):
        return [sum(column) for column in
                zip(*(server_counters(s) for s in self.servers))]

    def blocks(self):
        return self.ctl("stat", KEY)[0]["blocks"]

    def show(self, what, reads="-", writes="-", moved=("-", "-"), took_ms=None,
             verified="-"):
        """Adds a row and prints what happened, so that no wait is blind."""
        took = "-" if took_ms is None else f"{took_ms:.1f}"
        moved = [f"{n / 1024:,.1f}" if isinstance(n, int) else n
                 for n in moved]
        self.rows.append((str(len(self.rows) + 1), what, str(reads),
                          str(writes), *moved, took, verified))
        print(f"  {len(self.rows)}. {what}", flush=True)

    def start(self, size):
        memory_mb = max(256, 2 * (size >> 20))
        self.cluster("up", "-n", str(SERVERS), "--memory", str(memory_mb))
        status = json.loads(self.cluster("status", "--json"))
        self.servers = [member["server"] for member in status["members"]]
        self.show(f"started {SERVERS} memcached servers")

    def put(self, path, size):
        self.original, self.wanted = path, sha256_of(path)
        _, moved, took_ms = self.ctl("put", KEY, path, "--scheme", SCHEME)
        self.show(f"stored {size:,} bytes as {SCHEME} (narrow)", 0,
                  len(self.blocks()), moved, took_ms)

    def get(self, how):
        path = os.path.join(self.work, "read-back")
        report, moved, took_ms = self.ctl("get", KEY, "-o", path)
        if sha256_of(path) != self.wanted:
            raise StoryError(f"{how}, the bytes read back differ from "
                             f"{self.original}")
        os.unlink(path)
        decoded = ", decoded" if report.get("degraded") else ""
        self.show(f"read it back {how}{decoded}", moved=moved,
                  took_ms=took_ms, verified="yes")

    def transition(self, width, what):
        report, moved, _ = self.ctl("transition", KEY, "--to", width)
        reads = report["data_reads"] + report["parity_reads"]
        self.show(what, reads, report["writes"], moved,
                  report["microseconds"] / 1000)

    def kill_one(self):
        """Kills a server that a plain read needs: one that holds data."""
        holders = {b["server"] for b in self.blocks() if b["kind"] == "data"}
        number, server = next(
            (i, s) for i, s in enumerate(self.servers, 1) if s in holders)
        self.cluster("kill", str(number))
        self.show(f"killed server {number} ({server}) with kill -9")

    def play(self, path):
        size = os.path.getsize(path)
        if not SMALLEST_BYTES <= size <= LARGEST_BYTES:
            raise StoryError(f"{path} has {size:,} bytes: the quick start "
                             f"takes {SMALLEST_BYTES:,} to {LARGEST_BYTES:,}")
        self.start(size)
        self.put(path, size)
        self.get("from the narrow code")
        self.transition("wide", "made it wide: 5 data + 1 parity block")
        self.get("from the wide code")
        self.kill_one()
        self.get("without the dead server")
        self.transition("narrow", "made it narrow again, the server still dead")
        self.get("narrow, the server still dead")

    def stop(self):
        if os.path.isdir(self.directory):
            self.cluster("down")

    def table(self):
        rows = [*HEADS, *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows)]

        def line(row):
            cells = (cell.ljust(width) if i in LEFT_ALIGNED
                     else cell.rjust(width)
                     for i, (cell, width) in enumerate(zip(row, widths)))
            return "  ".join(cells).rstrip()

        lines = [line(row) for row in rows]
        lines.insert(len(HEADS), "  ".join("-" * width for width in widths))
        return "\n".join(lines)


def interrupted(_number, _frame):
    raise KeyboardInterrupt


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    work = tempfile.mkdtemp(prefix="libers-quickstart-")
    story = Story(sys.argv[1], work)
    try:
        path = sys.argv[2] if len(sys.argv) == 3 else None
        if path is None:
            path = os.path.join(work, "sample")
            write_sample(path)
        story.play(path)
        print(f"\n{story.table()}\n")
        print(LEGEND)
    except (StoryError, OSError) as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("quickstart: interrupted", file=sys.stderr)
        return 130
    finally:
        # A second Ctrl-C must not leave servers behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        story.stop()
        shutil.rmtree(work, ignore_errors=True)
    print("\nthe servers are stopped; start your own with "
          "memcached-cluster/cluster up -n 6")
    return 0


if __name__ == "__main__":
    sys.exit(main())
