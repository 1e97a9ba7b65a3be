"""Servers that are replaced by others at other addresses: the new one gets all
that the old one should hold, no other block moves, and every process goes by
it, whichever of the two it was given."""

import json
import signal
import unittest

from daemon_case import DaemonCase
from jobs_case import Api
from proxy_case import KIB, MIB, USUAL, Proxy, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR

SIZES = (0, 100, 5 * KIB, 70_000, MIB, 9 * MIB)


class ReplaceCase(ProxyCase):
    options = ("--scheme", "ers2:2,2,4", "--admin", ":0")

    def setUp(self):
        super().setUp()
        self.members = self.servers.split(",")
        self.admin = self.proxy.addresses[-1]
        self.started = 0
        self.values = {}
        for size in SIZES:
            self.put(f"v{size}", size)

    def put(self, key, size, address=None):
        self.values[key] = random_bytes(size, seed=len(self.values))
        self.assertEqual(self.link(address).set(key, self.values[key]),
                         b"STORED")

    def all_right(self, address=None):
        for key, value in self.values.items():
            self.same(self.link(address).get(key), value, key)

    def listed(self, *pairs):
        """The list of servers with new addresses in place of old ones."""
        servers = self.servers
        for old, new in pairs:
            servers = servers.replace(old, new)
        return servers

    def start(self, servers, *more):
        """A daemon with such a list."""
        self.started += 1
        proxy = Proxy(self.path(f"proxy{self.started}"), servers,
                      *self.options, *more)
        self.addCleanup(proxy.kill)
        return proxy

    def replace(self, old, new, admin=None):
        return self.ctl("--proxy", admin or self.admin, "replace", old, new)

    def places(self, servers=None):
        """{key: [server of each block]}."""
        return {key: [block["server"] for block in
                      self.ctl_json("stat", key, servers=servers)["blocks"]]
                for key in self.values}

    def whole(self, servers):
        report = json.loads(self.ctl("verify", "--json", servers=servers))
        self.assertEqual(report["objects"], len(self.values))
        self.assertEqual(report["damaged"], 0, report)

    def status(self, proxy):
        code, _, text = Api(proxy.addresses[-1]).raw("GET", "/status")
        self.assertEqual(code, 200)
        return json.loads(text)

    def in_sync(self, proxy):
        return all(server["state"] == "in_sync"
                   for server in self.status(proxy)["servers"])


class DeadTest(ReplaceCase):

    def test_a_dead_server_is_replaced_and_no_block_moves(self):
        other = self.start(self.servers)
        beside = other.addresses[0]
        self.all_right(beside)
        before = self.places()
        old, new = self.members[2], self.spare()
        self.tool("kill", "3")
        self.all_right()
        self.replace(old, new)
        after = self.places()
        self.assertEqual(after, {
            key: [new if server == old else server for server in servers]
            for key, servers in before.items()})
        self.assertIn(new, {one for servers in after.values()
                            for one in servers})
        self.assertIn(f"{new} (for {old})", self.ctl("servers").decode())
        edited = self.listed((old, new))
        self.whole(edited)
        self.whole(self.servers)
        shown = [(server["name"], server["slot"])
                 for server in self.status(self.proxy)["servers"]
                 if server["name"] != server["slot"]]
        self.assertEqual(shown, [(new, old)])
        # The other daemon, which knows the old address, goes by the new one.
        self.put("beside", 70_000, beside)
        self.all_right(beside)
        self.until(lambda: self.in_sync(other), "it follows")
        # With an empty server at the old address it makes no difference.
        self.tool("start", "3")
        for number in (1, 6):
            self.tool("kill", str(number))
        self.put("later", 70_000, beside)
        self.all_right()
        self.all_right(beside)
        self.assertNotIn(f"{old} is back", self.proxy.said() + other.said())


class RetiredTest(ReplaceCase):

    def test_a_server_that_lives_leaves_for_good_with_all_it_knows(self):
        old, new = self.members[4], self.spare()
        sleeper = self.start(self.servers)
        asleep = sleeper.addresses[0]
        self.all_right(asleep)
        sleeper.process.send_signal(signal.SIGSTOP)
        self.addCleanup(sleeper.process.send_signal, signal.SIGCONT)
        self.replace(old, new)
        for key, size in (("v100", 5 * KIB), ("v70000", 90_000)):
            self.put(key, size)
        # The old server lives, with the memory and the view that it had.
        sleeper.process.send_signal(signal.SIGCONT)
        self.all_right(asleep)
        self.put("v5120", 80_000, asleep)
        self.all_right()
        for servers in (self.servers, self.listed((old, new))):
            started = self.start(servers)
            self.all_right(started.addresses[0])
            replaced = f"{new} has taken the place of {old}"
            self.assertEqual(replaced in started.said(),
                             servers == self.servers)
            started.terminate()
            started.wait()
        self.whole(self.servers)
        # Back at its own address, which holds too much at first.
        self.refused(BAD_USAGE, "is, or was, a server of a cluster: restart",
                     "--proxy", self.admin, "replace", new, old)
        self.tool("kill", "5")
        self.tool("start", "5")
        self.replace(new, old)
        self.whole(self.servers)
        self.whole(self.listed((old, new)))
        for number in (2, 3):
            self.tool("kill", str(number))
        self.all_right()
        self.all_right(asleep)


class KilledProxyTest(ReplaceCase):
    up = ("-n", "6")

    def test_it_goes_on_after_kill_with_the_old_list_and_the_new_one(self):
        # One object or so in each process's life: many are left at the end.
        slow = self.file("slow.yaml",
                         b"backfill:\n  bytes_per_second: 1\n  parallel: 1\n"
                         + USUAL.encode())
        for number in range(30):
            self.put(f"more{number}", 20 * KIB)
        old, new = self.members[0], self.spare()
        edited = self.listed((old, new))
        self.proxy.terminate()
        self.proxy.wait()
        self.tool("kill", "1")
        for servers in (self.servers, edited, self.servers):
            proxy = self.start(servers, "--config", slow)
            api = Api(proxy.addresses[-1])
            # The first one begins, the others find it done.
            code, answer = api.ask("POST", "/v1/replace",
                                 {"old": old, "new": new})
            self.assertEqual((code, answer), (200, {"old": old, "new": new}))
            self.until(lambda proxy=proxy: [
                server["name"] for server in self.status(proxy)["servers"]
                if server["state"] == "backfilling"] == [new], "it is backfilled")
            self.all_right(proxy.addresses[0])
            proxy.kill()
        proxy = self.start(edited)
        self.until(lambda: self.in_sync(proxy), "it is in sync")
        self.whole(edited)
        for number in (4, 5):
            self.tool("kill", str(number))
        self.all_right(proxy.addresses[0])


class TwiceTest(ReplaceCase):

    def test_a_slot_is_replaced_again_and_a_list_of_between_is_good(self):
        old, mid, new = self.members[1], self.spare(), self.spare()
        self.tool("kill", "2")
        self.replace(old, mid)
        between = self.listed((old, mid))
        proxy = self.start(between)
        address, admin = proxy.addresses
        self.replace(mid, new, admin)
        self.put("more", 70_000, address)
        self.all_right()
        proxy.kill()
        for servers in (self.servers, between, self.listed((old, new))):
            self.whole(servers)
        self.refused(CLUSTER_ERROR, "other servers than this cluster has: ",
                     "ls", servers=self.listed((old, "127.0.0.1:1")))
        # Another place may get neither the address nor the name.
        for taken in (mid, old):
            self.refused(BAD_USAGE, "is, or was, the server in the place of",
                         "replace", self.members[0], taken)


class ReloadTest(DaemonCase):

    def test_the_edited_list_is_the_same_cluster(self):
        daemon = self.start("--config", self.config("scheme: rep:2\n"))
        client = daemon.client()
        self.assertEqual(client.set(b"k", b"v"), b"STORED")
        old, new = self.servers.split(",")[5], self.spare()
        edited = self.servers.replace(old, new)
        self.config("scheme: rep:2\n", edited)
        self.assertIn("not reloaded", daemon.reload())
        self.ctl("replace", old, new)
        # It meets the new view by then.
        self.assertEqual(client.set(b"k", b"w"), b"STORED")
        self.until(lambda: "taken over" in daemon.log(), "it follows")
        self.assertNotIn("not reloaded", daemon.reload())


class RefusedTest(ReplaceCase):

    def refuse(self, code, text, old, new):
        """By the daemon, and without one."""
        view = self.ctl_json("servers")
        self.refused(code, text, "--proxy", self.admin, "replace", old, new)
        self.refused(code, text, "replace", old, new)
        again = self.ctl_json("servers")
        self.assertEqual(view["epoch"], again["epoch"])
        self.all_right()

    def test_what_cannot_be_is_refused_and_nothing_is_changed(self):
        old, new = self.members[3], self.spare()
        self.refuse(BAD_USAGE, "is none of the servers of this cluster",
                    new, old)
        self.refuse(BAD_USAGE, "is, or was, the server in the place of",
                    old, self.members[0])
        self.refuse(BAD_USAGE, "is, or was, the server in the place of",
                    old, old)
        self.refuse(BAD_USAGE, "the port is missing", old, "nowhere")
        self.refuse(BAD_USAGE, "the weight of", old, new + ":7")
        self.refuse(CLUSTER_ERROR, "127.0.0.1:1 cannot be used: ", old, "127.0.0.1:1")
        busy = self.spare()
        self.assertEqual(self.link(busy).set("plain", b"x"), b"STORED")
        self.refuse(BAD_USAGE, "holds 1 items: restart it", old, busy)
        foreign = self.spare()
        self.ctl("put", "k", "-", "--scheme", "rep:2", data=b"x",
                 servers=f"{foreign},{self.spare()}")
        self.refuse(BAD_USAGE, "is, or was, a server of a cluster", old,
                    foreign)
        api = Api(self.admin)
        self.assertEqual(api.raw("GET", "/v1/replace")[0], 405)
        for body in (b"", {"old": old}, {"old": old, "new": new, "x": 1}):
            self.assertEqual(api.ask("POST", "/v1/replace", body)[0], 400)
        # With one out already, a server that lives is needed; with two, no
        # third one may be touched.
        self.tool("kill", "1")
        self.put("w", 70_000)
        self.until(lambda: not self.in_sync(self.proxy), "it is missed")
        self.refuse(CLUSTER_ERROR, "is needed: it answers", old, new)
        self.tool("kill", "2")
        self.put("x", 70_000)
        self.until(lambda: sum(server["state"] == "down" for server in
                               self.status(self.proxy)["servers"]) == 2,
                   "both are missed")
        self.tool("kill", "4")
        self.refused(CLUSTER_ERROR, "are in sync and answer", "--proxy", self.admin,
                     "replace", old, new)


if __name__ == "__main__":
    unittest.main()
