"""Values that twemproxy has stored, each of its hashes and distributions: an
ersproxy of that placement finds all of them."""

import os
import unittest

from daemon_case import DaemonCase
from old_proxies import Nutcracker, nutcracker_program, pool
from proxy_case import Link

HASHES = ["one_at_a_time", "md5", "crc16", "crc32", "crc32a", "fnv1_64",
          "fnv1a_64", "fnv1_32", "fnv1a_32", "hsieh", "murmur", "jenkins"]
VALUES = 500
RECORDS = ("ers!view", "ers!peers")


class Pool:
    """A pool of twemproxy, and the placement that is the same."""

    def __init__(self, distribution, key_hash, tag="", weights=(1,) * 6,
                 names=("",) * 6):
        self.distribution, self.hash, self.tag = distribution, key_hash, tag
        self.weights, self.names = weights, names
        self.name = "-".join(filter(None, (
            distribution, key_hash, tag and "tag",
            weights[0] != 1 and "weights" or "", names[0] and "names")))

    def key(self, number):
        mark = "{" + str(number % 97) + "}" if self.tag else ""
        return f"{self.name}:{mark}{number * 7919}"

    def settings(self):
        return {"hash": self.hash, "distribution": self.distribution,
                **({"hash_tag": f'"{self.tag}"'} if self.tag else {})}

    def placement(self):
        words = ", ".join(f"{key}: {value}"
                          for key, value in self.settings().items())
        return f"placement: {{{words}}}\n"

    def old_servers(self, servers):
        return [f"{server}:{weight}" + (f" {name}" if name else "")
                for server, weight, name in zip(servers, self.weights,
                                                self.names)]

    def new_servers(self, servers):
        """As ersproxy --import lists them."""
        all_of_them = list(zip(servers, self.weights, self.names))
        if self.distribution == "modula":
            all_of_them.sort(key=lambda one: (len(one[2] or one[0]),
                                              one[2] or one[0]))
        return ",".join(f"{server}:{weight}" + (f"={name}" if name else "")
                        for server, weight, name in all_of_them)


POOLS = [Pool(distribution, key_hash) for distribution in ("ketama", "modula")
         for key_hash in HASHES] + [
    Pool("ketama", "fnv1a_64", weights=(3, 1, 1, 2, 5, 1)),
    Pool("modula", "fnv1a_64", weights=(3, 1, 1, 2, 5, 1)),
    Pool("ketama", "murmur", tag="{}", names=tuple("uvwxyz")),
    Pool("modula", "jenkins", tag="{}"),
]


@unittest.skipUnless(nutcracker_program(), "nutcracker is not installed")
class PlacementTest(DaemonCase):

    def listener(self, one):
        return os.path.join(self.folder, one.name)

    def store_through_nutcracker(self):
        servers = self.servers.split(",")
        text = "".join(pool(one.name, self.listener(one),
                            one.old_servers(servers), **one.settings())
                       for one in POOLS)
        old = Nutcracker(os.path.join(self.folder, "old"), text)
        self.addCleanup(old.stop)
        for one in POOLS:
            old.wait_for(self.listener(one))
            with Link(self.listener(one)) as link:
                for number in range(VALUES):
                    key = one.key(number)
                    link.send(f"set {key} 7 0 {len(key)}\r\n{key}\r\n".encode())
                for _ in range(VALUES):
                    self.assertEqual(link.line(), b"STORED")

    def forget_the_cluster(self):
        """The next process makes a new one, with a placement of its own."""
        for server in self.servers.split(","):
            with Link(server) as link:
                for record in RECORDS:
                    link.ask(f"delete {record}".encode())

    def found(self, address, one):
        with Link(address) as link:
            keys = [one.key(number) for number in range(VALUES)]
            got = link.get_many(*keys)
        return sum(got.get(key) == (key.encode(), 7, None) for key in keys)

    def daemon(self, one, text=""):
        servers = one.new_servers(self.servers.split(","))
        return self.start("--config", self.config(
            one.placement() + text, servers=servers, max_failures=False))

    def test_all_values_of_twemproxy_are_found_by_its_placement(self):
        self.store_through_nutcracker()
        for one in POOLS:
            with self.subTest(pool=one.name):
                daemon = self.daemon(one)
                found = self.found(daemon.addresses[0], one)
                daemon.stop()
                self.forget_the_cluster()
                self.assertEqual(found, VALUES)
        # By another one they are not, so this test would show it.
        daemon = self.start("--config", self.config("", max_failures=False))
        self.assertLess(self.found(daemon.addresses[0], POOLS[-1]), VALUES / 2)
        daemon.stop()
        self.forget_the_cluster()

    def test_a_cluster_keeps_its_placement(self):
        one = Pool("modula", "fnv1a_64", names=tuple("uvwxyz"))
        daemon = self.daemon(one)
        self.assertEqual(daemon.client().set(b"kept", b"1"), b"STORED")
        daemon.stop()
        # A process that names none takes it, as ersctl does, in any order.
        backwards = ",".join(reversed(self.servers.split(",")))
        self.assertEqual(self.ctl("get", "kept", servers=backwards), b"1")
        daemon = self.start("--config", self.config(
            "", servers=backwards, max_failures=False))
        self.assertEqual(daemon.client().line(b"get kept\r\n"),
                         b"VALUE kept 0 1")
        daemon.stop()
        # Another one, or other labels, are refused.
        for text, why in ((Pool("ketama", "fnv1a_64"), "the placement is"),
                          (Pool("modula", "fnv1a_64", names=tuple("abcdef")),
                           "has label")):
            servers = text.new_servers(self.servers.split(","))
            self.assertIn(why, self.run_proxy("--config", self.config(
                text.placement(), servers=servers,
                max_failures=False)).stderr)
        self.forget_the_cluster()

    def test_ersctl_makes_a_new_cluster_as_its_proxy_would(self):
        one = Pool("modula", "fnv1a_64", names=tuple("uvwxyz"))
        daemon = self.start("--config", self.config(
            one.placement(),
            servers=one.new_servers(self.servers.split(",")),
            max_failures=False), "--admin", "127.0.0.1:0")
        self.ctl("--proxy", daemon.addresses[-1], "put", "first", "-",
                 data=b"1", servers="")
        self.assertEqual(daemon.client().line(b"get first\r\n"),
                         b"VALUE first 0 1")
        daemon.stop()
        # Otherwise this would be refused.
        self.daemon(one).stop()
        self.forget_the_cluster()


if __name__ == "__main__":
    unittest.main()
