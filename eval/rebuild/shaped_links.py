"""Servers and a client on links of so many bits a second, as on a network.

Each has a network namespace of its own, one address, and a link to a switch
that carries so much in each direction. It has its processes to itself, too: all
of them end when this process does, however that is, and their network with
them, as nothing of it has a name outside.
"""

import contextlib
import subprocess

# Of its own namespaces alone.
SUBNET = "10.0.0"
# What a link holds back before it drops; a switch's buffer.
LATENCY = "50ms"


class LinkError(Exception):
    """What went wrong and what to do, as one sentence for the user."""


class Namespace:
    """What runs on one machine of the network."""

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
            raise LinkError(f"{error}: install util-linux") from None
        self.path = f"/proc/{self.holder.pid}/ns"
        if self.holder.stdout.readline() != "made\n":
            said = self.holder.stderr.read().strip()
            self.end()
            raise LinkError("shaped links need network namespaces, and so "
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
            raise LinkError(f"'{' '.join(words)}' failed: "
                            f"{error.stdout.strip()}: is iproute2 installed, "
                            "and has the kernel veth, bridge and tbf?"
                            ) from None

    def end(self):
        for pipe in (self.holder.stdin, self.holder.stdout,
                     self.holder.stderr):
            pipe.close()
        self.holder.wait()


class Network:

    def __init__(self, mbit):
        self.mbit = mbit
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

    def shape(self, where, device):
        """What leaves by this device. A burst is what the kernel sends at
        once, at least: a packet of 64 KiB that it cuts late."""
        where.configure("tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
                  f"{self.mbit}mbit", "burst", "128kb", "latency", LATENCY)

    def join(self):
        """A namespace with a link, and its address."""
        node = self.namespace()
        self.count += 1
        port = f"port{self.count}"
        address = f"{SUBNET}.{self.count}"
        self.switch.configure("ip", "link", "add", port, "type", "veth", "peer",
                        "name", "uplink", "netns", str(node.holder.pid))
        self.switch.configure("ip", "link", "set", "dev", port, "master", "switch", "up")
        node.configure("ip", "address", "add", f"{address}/24", "dev", "uplink")
        for device in ("lo", "uplink"):
            node.configure("ip", "link", "set", "dev", device, "up")
        self.shape(self.switch, port)
        self.shape(node, "uplink")
        return node, address

    def end(self):
        self.ends.close()
