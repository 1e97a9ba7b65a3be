"""Every command of ersctl where nothing but the proxy's admin port can be
reached: it runs in a network of its own."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import unittest

import island
from accepting import Accepting
from proxy_case import (DEADLINE_S, ERSPROXY, MIB, PATIENT, Link, Polls,
                        Proxy, TOP,
                        random_bytes, split_address)
# pylint: disable=wrong-import-order
from ctl_case import (ALREADY_SO, CLUSTER_ERROR, CtlCase, DONE, ERSCTL,
                      NOT_FOUND, by_tunnels, hold_port)

sys.path.insert(0, os.path.join(TOP, "memcached-cluster"))
# pylint: disable=wrong-import-position
import member_process

TOKEN = "0123456789abcdef" * 2


class ThroughCase(Polls, CtlCase):
    """Six servers: four by number and by name, one of IPv6, one behind a unix
    socket; and a daemon whose admin port is in another network, with ersctl."""

    up = ("-n", "4")

    @classmethod
    def setUpClass(cls):
        if not island.may_be():
            raise unittest.SkipTest("no network namespaces here")
        super().setUpClass()
        first, *others = cls.servers.split(",")
        held = hold_port("::1")
        cls.addClassCleanup(held.close)
        port = held.getsockname()[1]
        path = os.path.join(cls.folder, "server socket")
        cls.start_server("-l", "::1", "-p", str(port))
        cls.start_server("-s", path, "-a", "700")
        cls.servers = ",".join([first.replace("127.0.0.1", "localhost"),
                                *others, f"[::1]:{port}", path])
        cls.island = island.Island()
        cls.addClassCleanup(cls.island.close)
        cls.start_daemon()

    @classmethod
    def start_server(cls, *words):
        user = ["-u", "root"] if os.geteuid() == 0 else []
        process = subprocess.Popen(
            [member_process.find_memcached(), *words, "-U", "0", "-m", "256",
             "-I", "8m", *user], stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)

    @classmethod
    def start_daemon(cls):
        token = os.path.join(cls.folder, "token")
        with open(token, "w", encoding="ascii",
                  opener=lambda path, how: os.open(path, how, 0o600)) as file:
            file.write(TOKEN + "\n")
        cls.token = token
        settings = os.path.join(cls.folder, "ersproxy.yaml")
        with open(settings, "w", encoding="ascii") as file:
            file.write("servers: [%s]\nlisten: [\"%s\"]\n"
                       "max_failures: 2\nadmin: \"%s\"\n"
                       "admin_token_file: %s\ninline_below: 4096\n%s"
                       % (", ".join(f'"{s}"' for s in cls.servers.split(",")),
                          os.path.join(cls.folder, "clients"),
                          cls.island.address, token, PATIENT))
        ports = os.path.join(cls.folder, "ports")
        notify = os.path.join(cls.folder, "notify")
        script = ('export LISTEN_FDS=1 LISTEN_PID=$$; '
                  'exec "$@" 3<&%d' % cls.island.listening.fileno())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(notify)
            ready.settimeout(DEADLINE_S)
            cls.daemon = subprocess.Popen(
                ["sh", "-c", script, "sh", ERSPROXY, "--config", settings,
                 "--port-file", ports], stdin=subprocess.DEVNULL,
                pass_fds=[cls.island.listening.fileno()],
                stderr=subprocess.DEVNULL,
                env={**os.environ, "NOTIFY_SOCKET": notify})
            cls.addClassCleanup(cls.daemon.wait)
            cls.addClassCleanup(cls.daemon.kill)
            while ready.recv(4096) != b"READY=1":
                pass
        with open(ports, encoding="ascii") as file:
            cls.address = file.read().split()[0]

    def run_there(self, *words, data=b""):
        return by_tunnels(lambda: subprocess.run(
            [*self.island.enter, ERSCTL, "--proxy", self.island.address,
             "--token-file", self.token, *words], input=data,
            capture_output=True, env=self.environment(""), cwd=self.work,
            timeout=DEADLINE_S, check=False))

    def there(self, *words, **options):
        result = self.run_there(*words, **options)
        self.assertEqual(result.returncode, DONE, (words, result.stderr))
        return result.stdout

    def there_json(self, *words, **options):
        return json.loads(self.there(*words, "--json", **options))

    def fails_there(self, code, text, *words, **options):
        result = self.run_there(*words, **options)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, code, (words, message))
        self.assertIn(text, message)
        self.assertEqual(message.count("\n"), 1, message)
        return message


class ThroughTest(ThroughCase):

    def test_no_server_can_be_reached_otherwise(self):
        result = subprocess.run(
            [*self.island.enter, ERSCTL, "--servers",
             self.servers.rpartition(",")[0], "--timeout", "2", "stat", "k"],
            capture_output=True, env=self.environment(""), check=False,
            timeout=DEADLINE_S)
        self.assertEqual(result.returncode, CLUSTER_ERROR, result.stderr)
        self.assertIn(b"onnection refused", result.stderr)

    def test_values(self):
        value = random_bytes(3 * MIB, seed=1)
        self.there("put", "obj", "-", "--scheme", "ers2:4,1,5", data=value)
        self.assertTrue(self.there("get", "obj") == value)
        self.there("update", "obj", "--offset", "10", "-", data=b"new")
        self.there("append", "obj", "-", data=b"end")
        value = value[:10] + b"new" + value[13:] + b"end"
        with Link(self.address) as link:
            self.assertTrue(link.get("obj") == value)
        self.assertEqual(self.there("get", "obj", "--range", "10-12"), b"new")
        stat = self.there_json("stat", "obj")
        self.assertEqual(stat["length"], len(value))
        self.assertEqual(stat, self.ctl_json("stat", "obj"))
        self.assertTrue(all(block["present"] for block in stat["blocks"]))
        self.assertIn("obj", [row["key"] for row in self.there_json("ls")])
        self.there("rm", "obj")
        self.fails_there(NOT_FOUND, "obj", "get", "obj")

    def test_work_on_many(self):
        values = {f"m{i}": random_bytes(20_000 * i, seed=i)
                  for i in range(1, 6)}
        for key, value in values.items():
            self.there("put", key, "-", data=value)
        done = self.there_json("transition", "--to", "wide", "--prefix", "m")
        self.assertEqual(done["changed"], 5)
        self.fails_there(ALREADY_SO, "already", "transition", "m1", "--to",
                         "wide")
        self.assertEqual(
            self.there_json("transition", "m1", "--to", "narrow", "--plan",
                            "paper")["object"]["width"], "narrow")
        verified = self.there_json("verify", "m.*")
        self.assertEqual((verified["objects"], verified["damaged"]), (5, 0))
        self.assertFalse(self.there_json("gc", "--dry-run")["dropped"])
        self.there("backup", "file")
        for key in values:
            self.there("rm", key)
        self.assertEqual(self.there_json("restore", "file")["restored"], 5)
        for key, value in values.items():
            self.assertTrue(self.there("get", key) == value, key)
        self.assertEqual(self.there_json("export", "--prefix", "m")["exported"],
                         5)
        self.there("rebuild")
        self.there("advise", "--object-size", "1MiB", "--mbit", "100")
        self.assertEqual(self.there_json("servers")["servers"][0]["state"],
                         "in_sync")

    def test_a_token_that_is_wrong_or_missing(self):
        self.token = self.file("wrong", b"another-token-of-mine\n")
        os.chmod(self.token, 0o600)
        self.fails_there(2, "not the token", "stat", "k")


class DeadServersTest(ThroughCase):

    def kill(self, number):
        self.tool("kill", str(number))
        return self.servers.split(",")[number - 1]

    def test_a_dead_server_is_named_and_more_can_be_recovered_from(self):
        value = random_bytes(MIB, seed=2)
        self.there("put", "obj", "-", "--scheme", "ers2:4,1,5", data=value)
        dead = [self.kill(1)]
        self.assertTrue(self.there("get", "obj") == value)
        shown = self.run_there("verify").stderr.decode()
        self.assertNotIn("proxy", shown)
        # One too many: f is 2. The server is at fault, and not the proxy.
        dead += [self.kill(2), self.kill(3)]
        message = self.fails_there(CLUSTER_ERROR, "", "put", "other", "-",
                                   "--timeout", "10s", data=value)
        for server in dead[1:]:
            self.assertIn(f"{server}: the proxy at {self.island.address} says: "
                          f"server {server} cannot be reached: connection "
                          "refused",
                          message)
        places = [f"{server}={self.spare()}" for server in dead]
        self.there("recover", "--accept-loss", "--yes", *places)
        self.there("put", "other", "-", data=value)
        self.assertTrue(self.there("get", "other") == value)
        unknown = "127.0.0.1:1"
        self.fails_there(2, f"{unknown} is none of this ersproxy's servers",
                         "recover", "--accept-loss", "--yes",
                         f"{unknown}={self.spare()}")


class Between(Accepting):
    """A proxy before the daemon's admin port: it passes on what comes, but for
    tunnels to some servers, and cuts all tunnels once so much has gone up."""

    def __init__(self, admin):
        super().__init__()
        self.admin = split_address(admin)
        self.refused = ()      # servers, by their names
        self.cut_after = None  # bytes
        self.cut = threading.Event()
        self.carried = 0
        self.lock = threading.Lock()
        self.pairs = []

    def serve(self, link):
        client, head = link, link.recv(65536)
        if any(head.startswith(f"CONNECT {server} ".encode())
               for server in self.refused):
            client.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            client.close()
            return
        server = socket.create_connection(self.admin)
        server.sendall(head)
        with self.lock:
            self.pairs.append((client, server))
        threading.Thread(target=self.carry, args=(server, client),
                         daemon=True).start()
        self.carry(client, server, up=True)

    def carry(self, source, to, up=False):
        try:
            while part := source.recv(16384):
                if up:
                    self.count(len(part))
                to.sendall(part)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def count(self, count):
        with self.lock:
            self.carried += count
            if self.cut_after is None or self.carried < self.cut_after:
                return
            self.cut_after = None
            for pair in self.pairs:
                for end in pair:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
            self.pairs.clear()
        self.cut.set()


class BetweenTest(CtlCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Proxy(os.path.join(cls.folder, "proxy"), cls.servers,
                           "--admin", "127.0.0.1:0")
        cls.addClassCleanup(cls.daemon.kill)

    def setUp(self):
        super().setUp()
        self.between = Between(self.daemon.addresses[-1])
        self.between.start()
        self.addCleanup(self.between.close)

    def at(self, *words, **options):
        return self.run_ctl("--proxy", self.between.address, *words,
                            servers="", **options)

    def states(self):
        return [server["state"]
                for server in self.ctl_json("servers")["servers"]]

    def test_a_proxy_at_fault_is_named(self):
        self.between.refused = self.servers.split(",")[2:5]
        result = self.at("put", "k", "-", "--timeout", "3", data=bytes(MIB))
        self.assertEqual(result.returncode, CLUSTER_ERROR, result.stderr)
        self.assertIn(f": the proxy at {self.between.address} says: HTTP "
                      "status 503", result.stderr.decode())
        # More than may be out: nothing was changed.
        self.assertEqual(self.states(), ["in_sync"] * 6)
        self.between.refused = ()
        self.assertEqual(
            self.at("put", "k", "-", data=bytes(MIB)).returncode, DONE)

    def test_tunnels_that_are_cut_during_a_put_lose_nothing(self):
        old, new = random_bytes(MIB, seed=3), random_bytes(MIB, seed=4)
        for cut_after in (2_000, 100_000, 600_000, 1_200_000, 1_300_000):
            with self.subTest(cut_after=cut_after):
                self.ctl("put", "k", "-", data=old)
                self.between.carried = 0
                self.between.cut.clear()
                self.between.cut_after = cut_after
                result = self.at("put", "k", "-", data=new)
                self.assertTrue(self.between.cut.is_set())
                got = self.ctl("get", "k")
                if result.returncode == DONE:
                    self.assertTrue(got == new)
                else:
                    self.assertEqual(result.returncode, CLUSTER_ERROR)
                    self.assertTrue(got in (old, new))
        self.assertEqual(self.ctl_json("verify")["damaged"], 0)


if __name__ == "__main__":
    unittest.main()
