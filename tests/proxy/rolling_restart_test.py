"""The loop of docs/guides/operate.md that restarts one server after the other,
while clients write and read all the time: nothing is lost, nothing fails."""

import os
import re
import subprocess
import threading
import unittest

from proxy_case import (DEADLINE_S, KIB, TOP, Link, ProxyCase, random_bytes)
# pylint: disable=wrong-import-order
from ctl_case import ERSCTL, TOOL

# Beside each other: in the manifest, in columns, and in several stripes.
LENGTHS = (100, 3000, 40 * KIB, 300 * KIB, 1200 * KIB)
ROUNDS_S = 10 * DEADLINE_S  # six servers, each within a minute


def loop_of_the_guide():
    path = os.path.join(TOP, "docs", "guides", "operate.md")
    with open(path, encoding="utf-8") as file:
        found = re.findall(r"```sh\n([^`]*for server in[^`]*)```", file.read())
    assert len(found) == 1, found
    return found[0]


class Client(threading.Thread):
    """Writes and reads keys of its own, until it is stopped."""

    def __init__(self, address, number, stop):
        super().__init__()
        self.address, self.number, self.stop = address, number, stop
        self.reads = self.writes = 0
        self.wrong = []

    def run(self):
        try:
            with Link(self.address) as link:
                self.work(link)
        except (OSError, AssertionError) as error:
            self.wrong.append(repr(error))

    def work(self, link):
        values = {}
        turn = 0
        while not self.stop.is_set():
            for length in LENGTHS:
                turn += 1
                key = f"c{self.number}-{length}-{turn % 8}"
                values[key] = random_bytes(length, seed=(self.number << 32)
                                           + turn)
                said = link.set(key, values[key])
                if said != b"STORED":
                    self.wrong.append((key, said))
                self.writes += 1
                for other in list(values)[-3:] + list(values)[:3]:
                    got = link.get(other)
                    if got != values[other]:
                        self.wrong.append((other, None if got is None
                                           else "other bytes"))
                    self.reads += 1


class RollingRestartTest(ProxyCase):
    # f = 1, by the scheme.
    options = ("--admin", "127.0.0.1:0", "--scheme", "ers2:4,1,5")

    def script(self):
        """The guide's, with the test's servers and the way they restart."""
        text = loop_of_the_guide()
        numbers = " ".join(str(i) for i in range(1, 7))
        for line, ours in ((r'servers="[^"]*"', f'servers="{numbers}"'),
                           (r"restart\(\) .*",
                            'restart() { "$TOOL" --dir "$CLUSTER" kill "$1" &&'
                            ' "$TOOL" --dir "$CLUSTER" start "$1"; }'),
                           ("localhost:11280", self.proxy.addresses[-1])):
            text, count = re.subn(line, ours.replace("\\", "\\\\"), text)
            self.assertEqual(count, 1, line)
        return "set -euo pipefail\n" + text

    def test_no_miss_and_no_error(self):
        stop = threading.Event()
        clients = [Client(self.address, i, stop) for i in range(4)]
        for client in clients:
            client.start()
        try:
            self.until(lambda: all(client.reads > 50 or client.wrong
                                   for client in clients), "all are at work")
            done = subprocess.run(
                ["bash", "-c", self.script()], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=ROUNDS_S, check=False,
                env={**self.environment(""), "TOOL": TOOL,
                     "CLUSTER": self.cluster_folder,
                     "PATH": os.path.dirname(ERSCTL) + os.pathsep
                     + os.environ["PATH"]})
        finally:
            stop.set()
            for client in clients:
                client.join(DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual([client.wrong for client in clients],
                         [[] for _ in clients])
        said = self.proxy.said()
        self.assertEqual(said.count("is in sync again"), 6, said)
        print(f"{sum(client.reads for client in clients)} reads and "
              f"{sum(client.writes for client in clients)} writes, none wrong")


if __name__ == "__main__":
    unittest.main()
