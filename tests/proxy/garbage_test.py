"""What proxies that were killed have left on the servers is found and dropped,
and nothing else is: counted, item by item."""

import collections
import json
import os
import unittest

from jobs_case import Api, JobsCase
from proxy_case import KIB, MIB, USUAL, random_bytes
from ctl_case import block_keys, item_expiries

SIZES = (100, 5 * KIB, 70_000, MIB, 9 * MIB)
RESERVED = (b"ers!view", b"ers!boot", b"ers!peers")
LONG = 20 * MIB
# Blocks that live no longer are left to readers that are late.
LASTING_S = 120


def sockets():
    """(local port, remote port, inode) of all."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in list(file)[1:]:
            words = line.split()
            ports = [int(word.split(":")[1], 16) for word in words[1:3]]
            yield *ports, words[9]


def connections_of(pid):
    """(local port, remote port) of a process: a local port alone may be that
    of another's connection, to somewhere else."""
    folder = f"/proc/{pid}/fd"
    own = {os.readlink(os.path.join(folder, name))
           for name in os.listdir(folder)}
    return {(local, remote) for local, remote, inode in sockets()
            if f"socket:[{inode}]" in own}


def served(servers):
    """The connections that servers have not closed yet, as their client's end
    sees them."""
    listening = {int(server.rsplit(":", 1)[1]) for server in servers}
    return {(remote, local) for local, remote, inode in sockets()
            if local in listening and inode != "0"}


class GarbageCase(JobsCase):

    def setUp(self):
        super().setUp()
        self.members = self.servers.split(",")
        self.values = {}
        for size in SIZES:
            self.values[f"v{size}"] = random_bytes(size, seed=size)
        for key, value in self.values.items():
            self.assertEqual(self.link().set(key, value), b"STORED")
        # Of a test before this one.
        self.until(lambda: all(block_keys(member) == block_keys(
            member, LASTING_S) for member in self.members),
                   "what was replaced has gone")

    def counts(self):
        """How many each server holds."""
        return [len(block_keys(member)) for member in self.members]

    def kill_in_put(self, key, size=LONG):
        """A daemon of its own dies while a client sends it a value; how many
        blocks that leaves."""
        before = sum(self.counts())
        proxy = self.start_with()[0]
        link = self.link(proxy.addresses[0])
        # A group and a half: the rest never comes.
        link.send(f"set {key} 0 0 {size}\r\n".encode()
                  + random_bytes(size * 3 // 4, seed=1))
        self.until(lambda: sum(self.counts()) >= before + 6,
                   "blocks are stored")
        own = connections_of(proxy.process.pid)
        proxy.kill()
        self.assertEqual(link.read_all(), b"")
        self.until(lambda: not own & served(self.members),
                   "what it sent last has arrived")
        return sum(self.counts()) - before

    def exactly_the_live_ones(self):
        """Each server has its manifests, the blocks that they name, and its
        reserved items, and nothing else that lasts."""
        wanted = collections.Counter()
        replicas = self.ctl_json("servers")["max_failures"] + 1
        for key, value in self.values.items():
            stat = self.ctl_json("stat", key)
            self.assertEqual(len(stat["replicas"]), replicas)
            wanted.update((replica, key.encode()) for replica in stat["replicas"])
            stored = [block for block in stat["blocks"] if block["present"]]
            self.assertEqual(stored, stat["blocks"])
            wanted.update(block["server"] for block in stored)
        for member in self.members:
            self.assertEqual(len(block_keys(member, LASTING_S)),
                             wanted[member], member)
            items = item_expiries(member)
            blocks = block_keys(member)
            for key in RESERVED:
                self.assertIn(key, items)
            rest = {key for key in set(items) - set(blocks) - set(RESERVED)
                    if not key.startswith(b"ers!spare.")}
            for key, expiry in items.items():
                if key in rest and (member, key) not in wanted:
                    self.assertTrue(expiry, (member, key))  # a stub
            for replica, key in (place for place in wanted
                              if isinstance(place, tuple)):
                if replica == member:
                    self.assertIn(key, rest)

    def all_right(self):
        for key, value in self.values.items():
            self.same(self.link().get(key), value, key)


class KilledProxyTest(GarbageCase):

    def test_what_killed_proxies_left_is_dropped_and_nothing_else(self):
        self.exactly_the_live_ones()
        live = sum(self.counts())
        left = 0
        for key in ("v5120", f"v{MIB}", "new1", "new2", "v100"):
            left += self.kill_in_put(key)
        self.assertEqual(sum(self.counts()), live + left)

        young = self.ctl_json("gc")
        self.assertEqual((young["listed"], young["young"], young["dropped"]),
                         (live + left, live + left, 0))
        dry = self.ctl_json("gc", "--grace", "0", "--dry-run")
        self.assertEqual((dry["live"], dry["dropped"]),
                         (live, left))
        self.assertEqual(sum(self.counts()), live + left)

        # Nothing is written: every block that no object has is garbage.
        report = self.ctl_json("gc", "--grace", "0")
        self.assertEqual(
            (report["listed"], report["live"], report["dropped"],
             report["skipped"], report["young"]), (live + left, live, left, 0, 0))
        self.assertGreater(report["dropped_bytes"], left * 100 * KIB)
        self.exactly_the_live_ones()
        self.all_right()
        again = self.ctl("gc", "--grace", "0").decode()
        self.assertIn(f"dropped 0 of {live} blocks", again)

    def test_a_proxy_does_it_when_asked(self):
        left = self.kill_in_put("new")
        admin = self.proxy.addresses[-1]
        before = self.api.metrics()
        dry = json.loads(self.ctl("--proxy", admin, "gc", "--grace", "0",
                                  "--dry-run", "--json"))
        self.assertEqual((dry["dry_run"], dry["dropped"]), (True, left))
        printed = self.ctl("--proxy", admin, "gc", "--grace", "0").decode()
        for end in ("found, and left", "dropped"):
            self.assertRegex(self.proxy.said(), "garbage, asked for over HTTP: "
                             rf"{left} of \d+ blocks {end}, by 127\.0\.0\.1 ")
        self.assertIn(f"dropped {left} of ", printed)
        self.exactly_the_live_ones()
        metrics = self.api.metrics()
        for name, more in (("collections_total", 1),
                           ("dropped_blocks_total", left),
                           ("skipped_blocks", 0)):
            name = "ersproxy_garbage_" + name
            self.assertEqual(metrics[name] - before[name], more, name)
        status = json.loads(self.api.raw("GET", "/status")[2])["garbage"]
        self.assertEqual(status["last"]["dropped"], left)
        self.assertGreater(status["last_ended"], 0)

    def test_requests_at_fault_are_refused(self):
        self.refused(2, "--grace", "gc", "--grace", "-1")
        self.refused(2, "--grace", "gc", "--grace", "nan")
        for body, why in (({"grace_s": -1}, "grace_s"),
                          ({"grace": 1}, "grace"),
                          ({"dry_run": 1}, "dry_run")):
            code, answer = self.api.ask("POST", "/v1/garbage", body)
            self.assertEqual(code, 400, answer)
            self.assertIn(why, answer["error"])
        self.assertEqual(self.api.ask("GET", "/v1/garbage")[0], 405)


class BackgroundTest(GarbageCase):

    def test_a_proxy_does_it_by_itself(self):
        with open(self.path("settings"), "w", encoding="utf-8") as file:
            file.write(USUAL + "garbage: {every_s: 1}\n")
        proxy = self.start_with("--config", self.path("settings"))[0]
        link = self.link(proxy.addresses[0])
        self.assertEqual(link.ask(b"flush_all"), b"OK")
        # What is flushed need not grow old.
        self.assertEqual(link.set("after", self.values[f"v{MIB}"]), b"STORED")
        self.values = {"after": self.values[f"v{MIB}"]}
        live = len(self.ctl_json("stat", "after")["blocks"])
        self.until(lambda: sum(self.counts()) == live, "the rest is dropped")
        self.assertEqual(link.get("after"), self.values["after"])
        # After a flush each daemon collects at once: either may be the first.
        self.until(lambda: any("garbage is collected" in one.said()
                               for one in (proxy, self.proxy)), "one says so")
        self.assertRegex(proxy.said(), r"view \d+: flush_all was asked for\n")
        self.assertNotIn("by hand", proxy.said())
        api = Api(proxy.addresses[-1])
        name = "ersproxy_garbage_collected_timestamp_seconds"
        self.until(lambda: api.metrics()[name] > 0, "this one has collected")


if __name__ == "__main__":
    unittest.main()
