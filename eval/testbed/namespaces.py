"""Servers and a client on links of so many bits a second, as on a network.

Each has a network namespace of its own, one address, and a link to a switch
that carries so much in each direction. It has its processes to itself, too: all
of them end when this process does, however that is, and their network with
them, as nothing of it has a name outside.
"""

import contextlib
import shutil
import subprocess

from testbed import bed, links
from testbed.bed import BedError

# Of its own namespaces alone.
SUBNET = "10.0.0"
UPLINK = "uplink"
# Where it is to be no limit.
CLIENT_MBIT = 10_000
# Congestion control, Linux's own default: what a machine has in its place
# would be measured along.
TCP = "cubic"


class Namespace:
    """What runs on one machine of the network."""

    address = None  # until it has joined a network

    def __init__(self):
        # 'cat' ends with the pipe; the kernel then ends all others that are in
        # there.
        try:
            self.holder = subprocess.Popen(
                ["unshare", "--net", "--pid", "--fork", "--mount-proc", "sh",
                 "-c", "echo made; exec cat"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, start_new_session=True)
        except FileNotFoundError as error:
            raise BedError(f"{error}: install util-linux") from None
        self.path = f"/proc/{self.holder.pid}/ns"
        if self.holder.stdout.readline() != "made\n":
            said = self.holder.stderr.read().strip()
            self.end()
            raise BedError("shaped links need network namespaces, and so "
                            f"root: run it as root, or without ({said})")

    def command(self, *words):
        """What runs these words there."""
        return ["nsenter", f"--net={self.path}/net", f"--mount={self.path}/mnt",
                f"--pid={self.path}/pid_for_children", "--", *words]

    def configure(self, *words):
        """Its network alone: processes have their numbers of outside."""
        try:
            subprocess.run(["nsenter", f"--net={self.path}/net", "--", *words],
                           check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        except subprocess.CalledProcessError as error:
            raise BedError(f"'{' '.join(words)}' failed: "
                            f"{error.stdout.strip()}: is iproute2 installed, "
                            "and has the kernel veth, bridge and tbf?"
                            ) from None

    def end(self):
        for pipe in (self.holder.stdin, self.holder.stdout,
                     self.holder.stderr):
            pipe.close()
        self.holder.wait()


class Loopback(Namespace):
    """A machine by itself, whose processes talk with each other: unshaped, but
    under a congestion control that is not the machine's own."""

    address = "127.0.0.1"

    def __init__(self, tcp=TCP):
        super().__init__()
        self.tcp = tcp
        try:
            self.configure("ip", "link", "set", "dev", "lo", "up")
            for to in ("127.0.0.0/8", "127.0.0.1"):
                self.configure("ip", "route", "change", "table", "local",
                               "local", to, "dev", "lo", "proto", "kernel",
                               "scope", "host", "src", self.address, "congctl",
                               tcp)
        except BaseException:
            self.end()
            raise


class Network:

    def __init__(self, link, tcp=TCP):
        self.link = link  # where a node has none of its own
        self.tcp = tcp
        self.ends = contextlib.ExitStack()
        self.count = 0
        self.switch = self.namespace()
        try:
            self.switch.configure("ip", "link", "add", "switch", "type", "bridge")
            self.switch.configure("ip", "link", "set", "dev", "switch", "up")
        except BaseException:
            self.end()
            raise

    def namespace(self):
        made = Namespace()
        self.ends.callback(made.end)
        return made

    def shape(self, where, device, link):
        """What leaves by this device. What the kernel cuts into packets late is
        kept well below a burst: tbf would cut it before, and interfaces count
        the headers of each."""
        where.configure("ip", "link", "set", "dev", device, "gso_max_size",
                        str(min(link.burst_bytes // 2, 65536)))
        where.configure("tc", "qdisc", "add", "dev", device, "root", "tbf",
                        "rate", f"{link.mbit}mbit",
                        "burst", str(link.burst_bytes),
                        "limit", str(link.queue_bytes))

    def join(self, link=None):
        """A namespace with a link."""
        link = link or self.link
        node = self.namespace()
        self.count += 1
        port = f"port{self.count}"
        node.address = f"{SUBNET}.{self.count}"
        self.switch.configure("ip", "link", "add", port, "type", "veth", "peer",
                        "name", UPLINK, "netns", str(node.holder.pid))
        self.switch.configure("ip", "link", "set", "dev", port, "master", "switch", "up")
        node.configure("ip", "address", "add", f"{node.address}/24", "dev", UPLINK)
        for device in ("lo", UPLINK):
            node.configure("ip", "link", "set", "dev", device, "up")
        # By its route, as a namespace may not choose any for all.
        node.configure("ip", "route", "change", f"{SUBNET}.0/24", "dev", UPLINK,
                       "src", node.address, "congctl", self.tcp)
        self.shape(self.switch, port, link)
        self.shape(node, UPLINK, link)
        return node

    def end(self):
        self.ends.close()


class NamespaceBed(bed.Bed):
    """A client and servers, each behind a link of its own."""

    name = "namespaces"
    interface = UPLINK

    def __init__(self, servers, mbit, tcp=TCP):
        self.link = bed.link_of(mbit)
        self.tcp = tcp
        self.network = Network(self.link, tcp)
        try:
            self.client = self.network.join(self.client_link())
            self.nodes = [self.network.join() for _ in range(servers)]
        except BaseException:
            self.network.end()
            raise

    def client_link(self):
        return self.link

    def check(self):
        measured = links.measure(links.ring([self.client, *self.nodes]),
                                 self.link.mbit)
        self.measured_mbit, self.cpu_limited = links.hold(measured,
                                                          self.link.mbit)

    def end(self):
        self.network.end()


class ServerLinksBed(NamespaceBed):
    """The same, where the servers' links are the limit."""

    name = "server-links"

    def client_link(self):
        return bed.link_of(CLIENT_MBIT)

    def check(self):
        super().check()
        # Over all servers' links, its own carries no more than they do.
        other = self.network.join(self.client_link())
        carries, _ = links.hold(links.measure(
            links.ring([self.client, other]), CLIENT_MBIT), CLIENT_MBIT)
        needed = self.link.mbit * len(self.nodes)
        if carries < needed:
            raise BedError(f"the client's link carries {carries:.4g} Mbit/s, "
                           f"all servers' {needed:g}: try again when the machine "
                           "has less to do")


NAMES = (NamespaceBed.name, ServerLinksBed.name)


def refusal():
    """Why there can be no such bed here; None: there can."""
    for program, package in (("ip", "iproute2"), ("tc", "iproute2"),
                             ("unshare", "util-linux")):
        if shutil.which(program) is None:
            return f"{program} is missing: install {package}"
    try:
        network = Network(bed.link_of(100))
        try:
            network.join()
        finally:
            network.end()
    except BedError as error:
        return str(error)
    return None
