"""Several processes on the same servers: the one that finds a server dead
changes the view for all, and no process goes on under an old one."""

import os
import signal
import threading
import unittest

from proxy_case import KIB, MIB, ProxyCase, random_bytes


class PeersCase(ProxyCase):

    def setUp(self):
        super().setUp()
        self.other = self.start_proxy("other")
        self.both = (self.proxy, self.other)
        self.links = [self.link(proxy.addresses[0]) for proxy in self.both]

    def epoch(self, proxy):
        """Of the newest view in its log."""
        lines = [line for line in proxy.said().splitlines()
                 if " view " in line]
        return max((int(line.split(" view ")[1].split(":")[0].split()[0])
                    for line in lines), default=0)

    def put(self, key, value, link):
        self.assertEqual(link.set(key, value), b"STORED")

    def same_view(self):
        self.until(lambda: self.epoch(self.proxy) == self.epoch(self.other),
                   "both know the same view")

    def filled(self):
        """How often the proxies' logs say that a server is in sync again."""
        return sum(proxy.said().count("is in sync again") for proxy in self.both)


class FollowTest(PeersCase):

    def test_what_one_finds_dead_both_leave_out(self):
        values = {}
        for i, link in enumerate(self.links * 4):
            key = f"k{i}"
            values[key] = random_bytes(60_000 + i, seed=i)
            self.put(key, values[key], link)
        problems, ended = [], threading.Event()

        def client(number):
            """Writes through one, reads through the other."""
            links = [self.link(proxy.addresses[0]) for proxy in self.both]
            i = 0
            while not ended.is_set() and not problems:
                i += 1
                key = f"client{number}"
                value = random_bytes((100, 5000, 70_000)[i % 3], seed=i)
                said = links[(number + i) % 2].set(key, value)
                got = links[(number + i + 1) % 2].get(key)
                if said != b"STORED" or got != value:
                    problems.append((number, i, said, got and len(got)))

        threads = [threading.Thread(target=client, args=(i,))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        try:
            for number in (2, 5):
                before = self.filled()
                self.tool("kill", str(number))
                self.same_view()
                self.tool("start", str(number))
                self.until(lambda b=before: self.filled() > b,
                           "it is backfilled")
                self.same_view()
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        self.assertEqual(problems, [])
        for key, value in values.items():
            for link in self.links:
                self.same(link.get(key), value, key)


class StalledProxyTest(PeersCase):

    def test_a_process_that_slept_through_a_change_takes_it_over(self):
        old, new = random_bytes(9 * KIB, seed=1), random_bytes(MIB, seed=2)
        self.put("k", old, self.links[1])
        self.other.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.other.process.send_signal, signal.SIGCONT)
        self.tool("kill", "3")
        # The first one finds out, waits until the other is gone, and goes on.
        for i in range(6):
            self.put("k", new, self.links[0])
            self.put(f"x{i}", new, self.links[0])
        self.assertIn("is down", self.proxy.said())
        self.other.process.send_signal(signal.SIGCONT)
        self.same(self.links[1].get("k"), new, "k")
        self.put("k", old, self.links[1])
        self.same(self.links[0].get("k"), old, "k")
        self.assertRegex(self.other.said(),
                         r"view \d+: taken over from another process\n")


class KilledProxyTest(PeersCase):

    def test_a_killed_process_is_waited_for_no_longer_than_its_lease(self):
        value = random_bytes(MIB, seed=3)
        self.put("k", value, self.links[1])
        self.other.kill()
        self.tool("kill", "1")
        for i in range(6):
            self.put(f"y{i}", value, self.links[0])
        self.assertIn("is down", self.proxy.said())
        self.same(self.links[0].get("k"), value, "k")


class PausedMemberTest(PeersCase):

    def test_what_a_killed_process_sent_to_a_paused_server_does_no_harm(self):
        """The proxy is killed with changes under way to a server that does not
        read them; that goes on when another process has changed the view."""
        old, new = random_bytes(40_000, seed=4), random_bytes(40_000, seed=5)
        keys = [f"p{i}" for i in range(24)]
        for key in keys:
            self.put(key, old, self.links[0])
        self.tool("stop", "4")
        self.addCleanup(self.tool, "cont", "4")
        for key in keys:
            link = self.link(self.other.addresses[0])
            link.send(f"set {key} 0 0 {len(new)}\r\n".encode() + new + b"\r\n")
        # One that needs nothing of the paused server may be done already.
        self.until(lambda: link_is_busy(self.other), "they are under way")
        self.other.kill()
        newest = {}
        for i, key in enumerate(keys):
            newest[key] = random_bytes(30_000, seed=100 + i)
            self.put(key, newest[key], self.links[0])
        self.tool("cont", "4")
        name = self.servers.split(",")[3]
        self.until(lambda: f"{name} is in sync again" in self.proxy.said(),
                   "it is backfilled")
        for key in keys:
            self.same(self.links[0].get(key), newest[key], key)
        # Any other may go now.
        self.tool("kill", "2")
        for key in keys:
            self.same(self.links[0].get(key), newest[key], key)


def link_is_busy(proxy):
    """Has the process sent what is not answered? Its sockets' queues show
    it."""
    inodes = set()
    folder = f"/proc/{proxy.process.pid}/fd"
    for fd in os.listdir(folder):
        try:
            target = os.readlink(os.path.join(folder, fd))
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [row.split() for row in table.readlines()[1:]]
    by_address = {(row[1], row[2]): row for row in rows}
    for row in rows:
        if row[9] not in inodes:
            continue
        peer = by_address.get((row[2], row[1]))
        # Bytes that the server's end has received and not read.
        if peer and int(peer[4].split(":")[1], 16) > 0:
            return True
    return False


class CommandTest(PeersCase):

    def test_commands_beside_a_daemon_leave_no_trace(self):
        for i in range(5):
            self.ctl("put", f"c{i}", "-",
                     data=random_bytes(20_000, seed=i))
            self.same(self.links[0].get(f"c{i}"),
                      random_bytes(20_000, seed=i), "c")
        # The two daemons.
        self.until(lambda: self.labels() == 2, "only daemons are there")

    def labels(self):
        record = self.server_link(1).get("ers!peers")
        return record.count(b'"label"')


if __name__ == "__main__":
    unittest.main()
