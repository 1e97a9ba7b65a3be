"""Real memcached servers that are killed and started again one by one, together
on this machine or each on a link of its own."""

import json
import os
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TOOL = os.path.join(TOP, "memcached-cluster", "cluster")


def output_of(words):
    with subprocess.Popen(words, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True) as child:
        try:
            printed, _ = child.communicate()
        except BaseException:
            # Not killed: a cluster that begins has servers to stop.
            child.terminate()
            child.wait()
            raise
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, words)
    return printed


def report_of(words):
    """What a program says in JSON; None where it says nothing."""
    printed = output_of(words)
    return json.loads(printed) if printed else None


class Group:
    """Servers of one `cluster`, numbered from 0 on; where `node` says."""

    def __init__(self, folder, count, arguments, node=None):
        self.folder = folder
        self.node = node
        words = [] if node is None else ["--host", node.address]
        self.tool("up", "-n", str(count), "--no-evict", *words,
                  "--memory", str(arguments.memory))
        self.servers = self.tool("env").strip().partition("=")[2].strip("'\"")

    def tool(self, *words):
        words = [sys.executable, TOOL, "--dir", self.folder, *words]
        return output_of(words if self.node is None
                         else self.node.command(*words))

    def kill(self, number):
        self.tool("kill", str(number + 1))

    def start(self, number):
        self.tool("start", str(number + 1))

    def down(self):
        self.tool("down")


class Spread:
    """The same, each server on a link of its own. They end with those."""

    def __init__(self, folder, count, arguments, network):
        self.groups = [Group(f"{folder}-{number}", 1, arguments,
                             network.join()) for number in range(count)]
        self.servers = ",".join(group.servers for group in self.groups)

    def kill(self, number):
        self.groups[number].kill(0)

    def start(self, number):
        self.groups[number].start(0)

    def down(self):
        pass
