"""Which test bed a run has, and its making."""

import sys

from testbed import bed, cloud, hosts, namespaces
from testbed.bed import BedError


def kind_of(arguments):
    """"hosts", "namespaces" or "unshaped"; says why where it is the last."""
    if arguments.hosts:
        return "hosts"
    if arguments.bed == "unshaped":
        return "unshaped"
    why = namespaces.refusal()
    if why is None:
        return "namespaces"
    if arguments.bed == "namespaces":
        raise BedError(why)
    print(f"links are not shaped, so this machine's memory is the network: "
          f"{why}", file=sys.stderr)
    return "unshaped"


def with_tcp(kind):
    """Those whose congestion control a run of this kind chooses."""
    return ((*namespaces.NAMES, cloud.CloudBed.name) if kind == "namespaces"
            else ())


class Beds:
    """Beds for groups, each made, and its links measured, before the first
    group of an experiment that needs it; one at a time."""

    def __init__(self, kind, arguments, groups):
        self.kind = kind
        self.arguments = arguments
        self.groups = groups
        self.key = None
        self.current = None
        self.no_cloud = None

    def bed(self, group):
        """None: there can be none here, which was said."""
        on_cloud = group.bed == "cloud" and self.kind != "hosts"
        if on_cloud and self.no_cloud is None:
            self.no_cloud = cloud.refusal(
                build=not self.arguments.quick) or ""
            if self.no_cloud:
                print(f"\nno links as in a cloud: {self.no_cloud}",
                      file=sys.stderr)
        if on_cloud and self.no_cloud:
            return None
        key = (group.experiment, group.link_mbit)
        if key != self.key:
            self.end()
            nodes = max(other.nodes for other in self.groups
                        if (other.experiment, other.link_mbit) == key)
            self.current = self.make(nodes, group, on_cloud)
            self.key = key
            self.current.check()
        return self.current

    def make(self, nodes, group, on_cloud):
        if on_cloud:
            return cloud.CloudBed(
                nodes, self.arguments.seed,
                self.arguments.tcp if self.kind == "namespaces" else None)
        if self.kind == "hosts":
            return hosts.HostsBed(self.arguments.hosts, self.arguments.ssh,
                                  nodes, group.link_mbit)
        if self.kind == "namespaces":
            make = (namespaces.ServerLinksBed if group.bed == "server-links"
                    else namespaces.NamespaceBed)
            return make(nodes, group.link_mbit, self.arguments.tcp)
        return bed.Bed(nodes)

    def end(self):
        if self.current is not None:
            self.current.end()
        self.current = self.key = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
