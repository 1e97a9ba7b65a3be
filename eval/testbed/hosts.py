"""Machines that ssh reaches, in place of namespaces.

Each needs memcached and Python; the client's also ers-bench, where it is here.
What runs there ends when its ssh does, and so when this process does.
"""

import shlex
import subprocess

from testbed import bed, links
from testbed.bed import BedError


class Host:

    def __init__(self, text, ssh):
        self.name, _, address = text.partition("=")
        # Without a user's name.
        self.address = address or self.name.rpartition("@")[2]
        self.ssh = shlex.split(ssh)

    def command(self, *words):
        return [*self.ssh, self.name, shlex.join(words)]


def output_of(host, *words):
    """What a command says there."""
    done = subprocess.run(host.command(*words), check=False,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise BedError(f"{host.name}: {done.stderr.strip()}")
    return done.stdout.strip()


class HostsBed(bed.Bed):

    name = "hosts"

    def __init__(self, text, ssh, servers, mbit):
        found = [Host(word, ssh) for word in text.split(",") if word]
        if len(found) < servers + 1:
            raise BedError(f"--hosts: a client and {servers} servers are needed, "
                           f"these are {len(found)}; fewer do for fewer "
                           "experiments")
        self.client, *self.nodes = found[:servers + 1]
        self.mbit = mbit
        self.interface = self.find_interface()
        self.tcp = "/".join(sorted(
            {output_of(node, "cat", bed.TCP_DEFAULT) for node in self.nodes}))

    def find_interface(self):
        """The client's, towards the servers."""
        return output_of(self.client, "python3", "-c", FIND_INTERFACE,
                         self.nodes[0].address) or None

    def check(self):
        ways = links.ring([self.client, *self.nodes])
        if self.mbit:
            measured = links.measure(ways, self.mbit)
            self.measured_mbit, self.cpu_limited = links.hold(measured,
                                                              self.mbit)
        else:
            # Each once: nothing says what they should carry.
            self.measured_mbit = min(links.transfer([way], 1, 1000)[0]
                                     for way in ways)


# The interface whose address is used on the way to a server.
FIND_INTERFACE = """
import fcntl, socket, struct, sys
server = socket.getaddrinfo(sys.argv[1], 9)[0]
probe = socket.socket(server[0], socket.SOCK_DGRAM)
probe.connect(server[4])
own = probe.getsockname()[0]
for _, name in socket.if_nameindex():
    try:
        found = fcntl.ioctl(probe, 0x8915, struct.pack("256s", name.encode()))
    except OSError:
        continue
    if socket.inet_ntoa(found[20:24]) == own:
        print(name)
        break
"""
