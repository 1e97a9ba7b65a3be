"""warm_from: a miss is asked at an old pool; what is changed or deleted here
does not come back from there."""

import os
import subprocess
import threading
import time
import unittest

from daemon_case import BAD_USAGE, DaemonCase
from jobs_case import Api
from old_proxies import Nutcracker, nutcracker_program, pool
from proxy_case import DEADLINE_S, KIB, Link, random_bytes

LONG = random_bytes(900 * KIB, seed=1)
CLIENTS = 20


class OldServer:
    """A memcached at a path."""

    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        user = ["-u", "root"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            ["memcached", "-s", self.path, *user], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + DEADLINE_S
        while True:
            try:
                Link(self.path).socket.close()
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                # A port that is listened on causes no event.
                time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()


class WarmCase(DaemonCase):

    def setUp(self):
        super().setUp()
        self.old_server = OldServer(os.path.join(self.work, "old"))
        self.addCleanup(self.old_server.stop)
        self.old = Link(self.old_server.path)
        self.addCleanup(self.old.socket.close)

    def warm(self, *servers, more="timeout_ms: 5000"):
        """A link to a daemon with these, or the old server."""
        listed = ", ".join(f'"{server}"'
                           for server in servers or [self.old_server.path])
        self.daemon = self.start("--admin", "127.0.0.1:0", "--config",
                                 self.config("warm_from: {servers: [" + listed
                                             + "], " + more + "}\n"))
        self.api = Api(self.daemon.addresses[-1])
        link = Link(self.daemon.addresses[0])
        self.addCleanup(link.socket.close)
        return link

    def count(self, name):
        return sum(number for label, number in self.api.metrics().items()
                   if label.startswith(f"ersproxy_warm_{name}_total"))


class WarmTest(WarmCase):

    def test_a_miss_is_answered_by_the_old_pool_and_stored(self):
        link = self.warm()
        self.old.set("t:ttl", b"one", flags=7, exptime=5000)
        self.old.set("t:ever", b"two", flags=9)
        self.old.set("t:long", LONG)
        self.assertEqual(link.get_many("t:ttl", "t:none", "t:ever"),
                         {"t:ttl": (b"one", 7, None),
                          "t:ever": (b"two", 9, None)})
        self.assertEqual(link.get("t:long"), LONG)
        seconds = int(link.ask(b"mg t:ttl t").split()[1][1:])
        self.assertTrue(4900 < seconds <= 5000, seconds)
        self.assertEqual(link.ask(b"mg t:ever t"), b"HD t-1")
        self.assertEqual(self.ctl_json("stat", "t:ttl")["flags"], 7)
        self.assertEqual(self.count("hits"), 3)
        self.assertEqual(self.count("misses"), 1)
        self.assertEqual(self.count("failures"), 0)
        # The old pool is not asked again.
        self.old.set("t:ttl", b"another")
        self.assertEqual(link.get("t:ttl"), b"one")

    def test_what_is_deleted_or_replaced_does_not_come_back(self):
        link = self.warm()
        for key in "abcd":
            self.old.set(f"d:{key}", b"old")
        # Of which none was read here before.
        self.assertEqual(link.ask(b"delete d:a"), b"DELETED")
        self.assertEqual(link.ask(b"delete d:a"), b"NOT_FOUND")
        self.assertIsNone(link.get("d:a"))
        self.assertEqual(link.set("d:b", b"new"), b"STORED")
        self.assertEqual(link.ask(b"delete d:b"), b"DELETED")
        self.assertIsNone(link.get("d:b"))
        # And one that was.
        self.assertEqual(link.get("d:c"), b"old")
        self.assertEqual(link.ask(b"delete d:c"), b"DELETED")
        self.assertIsNone(link.get("d:c"))
        self.assertEqual(self.old.get_many("d:a", "d:b", "d:c", "d:d"),
                         {"d:d": (b"old", 0, None)})
        self.assertIn(b"SERVER_ERROR the old pool's values would come back",
                      link.ask(b"flush_all"))
        code, answer = self.api.ask("POST", "/v1/jobs", {
            "to": "delete", "select": {"prefix": "d:"}})
        self.assertEqual(code, 400)
        self.assertIn("warm_from", str(answer))

    def test_commands_that_go_by_the_value_see_the_old_one(self):
        link = self.warm()
        for key, value in {"count": b"41", "text": b"mid", "there": b"x",
                           "swap": b"1", "touched": b"t"}.items():
            self.old.set(f"v:{key}", value, flags=3)
        self.assertEqual(link.ask(b"incr v:count 1"), b"42")
        self.assertEqual(link.store("append", "v:text", b">"), b"STORED")
        self.assertEqual(link.store("prepend", "v:text", b"<"), b"STORED")
        self.assertEqual(link.store("add", "v:there", b"y"), b"NOT_STORED")
        self.assertEqual(link.store("replace", "v:there", b"z"), b"STORED")
        cas = link.get_many("v:swap", verb="gets")["v:swap"][2]
        self.assertEqual(link.store("cas", "v:swap", b"2", more=f" {cas}"),
                         b"STORED")
        self.assertEqual(link.ask(b"touch v:touched 5000"), b"TOUCHED")
        self.assertEqual(link.get_many("v:count", "v:text", "v:there",
                                       "v:swap", "v:touched"),
                         {"v:count": (b"42", 3, None),
                          "v:text": (b"<mid>", 3, None),
                          "v:there": (b"z", 0, None),
                          "v:swap": (b"2", 0, None),
                          "v:touched": (b"t", 3, None)})
        # None of them is there any more: an old value cannot come back.
        self.assertEqual(self.old.get_many(
            "v:count", "v:text", "v:there", "v:swap", "v:touched"), {})
        self.assertEqual(link.store("replace", "v:none", b"1"), b"NOT_STORED")
        self.assertEqual(link.ask(b"incr v:none 1"), b"NOT_FOUND")

    def test_of_many_that_miss_a_key_one_asks(self):
        link = self.warm()
        link.get("s:none")  # connects
        self.old.set("s:one", LONG)
        before = int(self.old.stats()["cmd_get"])
        ready = threading.Barrier(CLIENTS)
        got = []

        def read():
            with Link(self.daemon.addresses[0]) as client:
                ready.wait(DEADLINE_S)
                got.append(client.get("s:one") == LONG)
        clients = [threading.Thread(target=read) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual(got, [True] * CLIENTS)
        # Each thread of the daemon reads the key once to find that it is there
        # still; one that came late asks nothing.
        self.assertLessEqual(int(self.old.stats()["cmd_get"]) - before, 4)

    def test_a_dead_pool_leaves_a_miss_a_miss(self):
        link = self.warm(more="timeout_ms: 300")
        self.old_server.stop()
        self.assertIsNone(link.get("x:1"))
        self.until(lambda: "a miss stays a miss" in self.daemon.log(), "a line")
        self.assertEqual(self.count("failures"), 1)
        self.assertEqual(link.set("x:1", b"1"), b"STORED")
        self.assertEqual(self.count("forward_failures"), 1)
        self.assertEqual(link.get("x:1"), b"1")
        os.unlink(self.old_server.path)
        self.old_server.start()
        with Link(self.old_server.path) as old:
            old.set("x:2", b"2")
        self.until(lambda: link.get("x:2") == b"2", "the old pool is asked")
        self.assertIn("answers again", self.daemon.log())

    def test_a_server_of_both_is_refused(self):
        server = self.servers.split(",")[0]
        done = self.run_proxy("--config", self.config(
            f"warm_from: {{servers: ['{server}']}}\n"))
        self.assertEqual(done.returncode, BAD_USAGE)
        self.assertIn("is a server of the cluster, too", done.stderr)


@unittest.skipUnless(nutcracker_program(), "nutcracker is not installed")
class NutcrackerTest(WarmCase):

    def proxy_of(self, *servers):
        listener = os.path.join(self.work, "listener")
        old = Nutcracker(os.path.join(self.work, "nutcracker"), pool(
            "a", listener, [f"{server}:1" for server in servers],
            hash="fnv1a_64", distribution="modula", timeout=5000))
        self.addCleanup(old.stop)
        old.wait_for(listener)
        return listener

    def test_a_proxy_that_speaks_text_alone_is_asked_by_text(self):
        link = self.warm(self.proxy_of(self.old_server.path))
        self.old.set("n:1", b"one", flags=5, exptime=5000)
        self.old.set("n:2", LONG)
        self.assertEqual(link.get_many("n:1", "n:2", "n:3"),
                         {"n:1": (b"one", 5, None), "n:2": (LONG, 0, None)})
        # Text does not show it.
        self.assertEqual(link.ask(b"mg n:1 t"), b"HD t-1")
        self.assertEqual(link.ask(b"delete n:1"), b"DELETED")
        self.assertIsNone(link.get("n:1"))
        self.assertEqual(self.old.get_many("n:1"), {})
        self.assertEqual(self.count("hits"), 2)

    def test_servers_are_asked_by_the_old_placement(self):
        other = OldServer(os.path.join(self.work, "other"))
        self.addCleanup(other.stop)
        third = OldServer(os.path.join(self.work, "third"))
        self.addCleanup(third.stop)
        paths = [self.old_server.path, other.path, third.path]
        with Link(self.proxy_of(*paths)) as old:
            for number in range(50):
                old.set(f"p:{number}", str(number).encode())
        link = self.warm(*paths, more="distribution: modula, hash: fnv1a_64, "
                                      "timeout_ms: 5000")
        got = link.get_many(*(f"p:{number}" for number in range(50)))
        self.assertEqual(len(got), 50)

    def test_a_proxy_before_the_clusters_own_servers_is_refused(self):
        link = self.warm(self.proxy_of(*self.servers.split(",")))
        self.assertEqual(link.set("o:1", b"1"), b"STORED")
        self.assertIsNone(link.get("o:2"))
        self.until(lambda: "a server of a libers cluster" in self.daemon.log(),
                   "a line")
        self.assertEqual(link.get("o:1"), b"1")


if __name__ == "__main__":
    unittest.main()
