"""ersctl that is given a proxy in place of servers: every command works, and
goes to the proxy where that has a command for it."""

import base64
import json
import os
import socket
import struct
import unittest

from proxy_case import ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import (ALREADY_SO, BAD_USAGE, CLUSTER_ERROR, DONE, NOT_FOUND,
                      by_tunnels)

COUNTS = ["data_reads", "parity_reads", "writes", "bytes_read",
          "bytes_written", "microseconds"]


class ByProxyCase(ProxyCase):
    # Blocks are counted.
    options = ("--hedge-percent", "0", "--admin", "127.0.0.1:0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = cls.proxy.addresses[-1]

    def at(self, *words, address=None, **options):
        return by_tunnels(lambda: self.run_ctl(
            "--proxy", address or self.admin, *words, servers="", **options))

    def done(self, *words, **options):
        result = self.at(*words, **options)
        self.assertEqual(result.returncode, DONE, (words, result.stderr))
        return result.stdout

    def done_json(self, *words, **options):
        return json.loads(self.done(*words, "--json", **options))

    def at_fails(self, code, text, *words, **options):
        result = self.at(*words, **options)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, code, (words, message))
        self.assertIn(text, message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual(result.stdout, b"")


class ByProxyTest(ByProxyCase):

    def test_values(self):
        value = random_bytes(100_000, seed=1)
        self.done("put", "obj", "-", "--scheme", "ers2:4,1,5", "--flags", "3",
                  data=value)
        self.same(self.link().get("obj"), value)
        self.done("update", "obj", "--offset", "10", "-", data=b"new")
        self.done("append", "obj", "-", data=b"end")
        value = value[:10] + b"new" + value[13:] + b"end"
        self.same(self.done("get", "obj"), value)
        self.assertEqual(self.done("get", "obj", "--range", "10-12"), b"new")
        stat = self.done_json("stat", "obj")
        self.assertEqual((stat["length"], stat["flags"]), (len(value), 3))
        self.assertEqual(stat, self.ctl_json("stat", "obj"))
        self.assertEqual(self.done("rm", "obj"), b"obj: removed\n")
        self.assertIsNone(self.link().get("obj"))

    def test_a_transition_is_the_proxys(self):
        self.link().set("obj", random_bytes(100_000, seed=2))
        info = self.done_json("transition", "obj", "--to", "wide")
        self.assertEqual(list(info),
                         ["key", "path", "scheme", "width", *COUNTS])
        self.assertEqual((info["key"], info["path"], info["width"]),
                         ("obj", "plan", "wide"))
        self.assertEqual(info["data_reads"] + info["parity_reads"], 8)
        self.at_fails(ALREADY_SO, "already", "transition", "obj", "--to",
                      "wide")
        self.assertIn(b"narrow", self.done("transition", "obj", "--to",
                                           "narrow"))
        # It has one plan: others are carried out from here.
        self.assertEqual(
            self.done_json("transition", "obj", "--to", "wide", "--plan",
                           "paper")["object"]["width"], "wide")

    def test_work_on_all_objects(self):
        for number in range(5):
            self.link().set(f"w{number}", b"x" * 9000)
        self.assertEqual(
            self.done_json("transition", "--to", "wide", "--prefix",
                           "w")["changed"], 5)
        self.assertEqual(self.done_json("verify", "w.*")["objects"], 5)
        self.assertFalse(self.done_json("gc", "--dry-run")["dropped"])
        self.assertEqual(
            {server["state"] for server in self.done_json("servers")["servers"]},
            {"in_sync"})
        self.assertIn(b"in sync", self.done("rebuild"))
        self.assertEqual(self.done_json("export", "--prefix", "w",
                                        "--dry-run")["exported"], 5)
        self.assertEqual(self.done_json("job", "list"), [])
        # It goes by as many servers as the proxy has.
        self.assertIn("6 servers", self.at(
            "advise", "--object-size", "1MiB", "--mbit", "100", "--failures",
            "6").stderr.decode())

    def test_lists_are_those_of_ls(self):
        link = self.link()
        for number in range(30):
            link.set(f"l{number}", b"x" * 9000)
        for number in range(0, 30, 3):
            self.assertEqual(
                link.lines(f"ers transition l{number} wide".encode())[0],
                b"STAT path plan")
        for words in ([], ["--width", "wide"], ["--width", "narrow"]):
            with self.subTest(words=words):
                self.assertEqual(
                    sorted(self.done("ls", *words).splitlines()),
                    sorted(self.ctl("ls", *words).splitlines()))
        self.ctl("put", "chain", "-", "--scheme", "ers:2-3-4,1", "--width",
                 "2", data=b"x" * 9000)
        self.assertEqual(
            link.lines(b"ers transition chain 3")[:3],
            [b"STAT path plan", b"STAT scheme ers:2-3-4,1", b"STAT width 3"])
        self.assertEqual(self.done("ls", "--width", "3"),
                         b"chain\ters:2-3-4,1\t3\t9000\n")
        self.assertNotIn(b"chain\t", self.done("ls", "--width", "narrow"))
        self.assertEqual(self.done("ls", "--transitioning"), b"")
        self.assertEqual(self.done_json("ls", "--transitioning"), [])

    def test_a_key_that_no_line_can_hold(self):
        odd = b"a\r\nEND\r\nKEY b ers2:4,1,5 narrow 47 \x00" + b"x" * 200
        name = base64.b64encode(odd)
        link = self.link()
        # The binary protocol, for the key is too long in base64.
        with self.link() as binary:
            binary.send(struct.pack(">BBHBBHIIQ", 0x80, 1, len(odd), 8, 0, 0,
                                    len(odd) + 8 + 9000, 0, 0)
                        + bytes(8) + odd + b"v" * 9000)
            self.assertEqual(binary.read(24)[6:8], b"\0\0")
        link.set("base64:x", b"w" * 9000)
        listed = [line for line in link.lines(b"ers list narrow")
                  if line.startswith((b"KEY " + name, b"KEY base64:x"))]
        self.assertEqual(sorted(listed), sorted([
            b"KEY %s ers2:4,1,5 narrow 9000 b" % name,
            b"KEY base64:x ers2:4,1,5 narrow 9000"]))
        self.assertEqual(link.lines(b"ers list narrow %s b" % name),
                         [line for line in listed if line.endswith(b" b")])
        self.assertEqual(link.lines(b"ers transition %s wide b" % name)[0],
                         b"STAT path plan")
        self.assertIn(b"STAT width wide", link.lines(b"ers stat %s b" % name))
        link.send(b"ers update %s 1 2 b\r\nuu\r\n" % name)
        self.assertEqual(link.line(), b"UPDATED")
        text = "base64:" + name.decode()
        reserved = "base64:" + base64.b64encode(b"base64:x").decode()
        for ctl in (self.done, self.ctl):
            keys = [line.split(b"\t")[0].decode()
                    for line in ctl("ls").splitlines()]
            self.assertIn(text, keys)
            self.assertIn(reserved, keys)
            shown = [row.get("key") for row in json.loads(ctl("ls", "--json"))]
            self.assertIn(odd.decode(), shown)
            for key in (odd.decode(), "base64:x"):
                encoded = "base64:" + base64.b64encode(key.encode()).decode()
                self.assertEqual(
                    json.loads(ctl("stat", encoded, "--json"))["key"], key)
        self.done("transition", text, "--to", "narrow")
        self.same(self.done("get", text), b"vuu" + b"v" * 8997)
        self.assertEqual(self.done("rm", text), text.encode() + b": removed\n")
        self.done("put", text, "-", data=b"anew")
        self.assertEqual(self.done("get", text), b"anew")
        self.done("rm", text)
        self.done("rm", reserved)

    def test_a_key_that_is_no_utf_8(self):
        link = self.link()
        key = b"\xff\xfe"
        self.assertEqual(link.ask(b"set %s 0 0 9000\r\n%s"
                                  % (key, b"x" * 9000)), b"STORED")
        encoded = base64.b64encode(key).decode()
        for ctl in (self.done, self.ctl):
            shown = [row.get("key_base64")
                     for row in json.loads(ctl("ls", "--json"))]
            self.assertIn(encoded, shown)
        self.assertEqual(
            self.done_json("transition", "base64:" + encoded, "--to",
                           "wide")["key_base64"], encoded)
        self.assertEqual(link.ask(b"delete " + key), b"DELETED")

    def test_what_is_refused_says_why(self):
        for words in (["transition", "none", "--to", "wide"],
                      ["stat", "none"],
                      ["update", "none", "--offset", "0", "-"]):
            with self.subTest(words=words):
                self.at_fails(NOT_FOUND, "none", *words, data=b"x")
        self.link().set("r", b"x" * 9000)
        self.at_fails(BAD_USAGE, "end", "update", "r", "--offset", "8999",
                      "-", data=b"xy")
        self.at_fails(BAD_USAGE, "sideways", "transition", "r", "--to",
                      "sideways")
        self.at_fails(BAD_USAGE, "base64:YSBi", "stat", "a b")
        self.at_fails(NOT_FOUND, "a b", "stat", "base64:YSBi")
        self.at_fails(BAD_USAGE, "at most 250", "stat", "x" * 251)
        self.at_fails(BAD_USAGE, "base64", "stat", "base64:a")

    def test_what_is_no_proxy_is_reported(self):
        # A memcached, and the port for clients.
        for address in (self.servers.split(",")[0], self.address):
            self.at_fails(CLUSTER_ERROR, "admin address", "stat", "k",
                          address=address)
        absent = f"127.0.0.1:{self.held_port()}"
        self.at_fails(CLUSTER_ERROR, "Connection refused", "stat", "k",
                      address=absent)
        self.at_fails(CLUSTER_ERROR, absent, "ls", address=absent)
        for address in ("localhost", "/a/path"):
            self.at_fails(BAD_USAGE, f"--proxy {address}: give host:port or "
                          "[IPv6]:port\n", "stat", "k", address=address)
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            # A read changed nothing; a change may have.
            for code, words in (
                    ("unavailable", ["stat", "k"]), ("unavailable", ["ls"]),
                    ("outcome-unknown", ["transition", "k", "--to", "wide"]),
                    ("unavailable", ["put", "k", "-"]),
                    ("unavailable", ["job", "list"]),
                    ("outcome-unknown", ["job", "cancel", "1"]),
                    ("outcome-unknown", ["gc"])):
                with self.subTest(words=words):
                    self.at_fails(CLUSTER_ERROR, f'"code":"{code}"', *words,
                                  "--timeout", "0.2", "--json",
                                  address=address)
        # It answers as a memcached does, but is none.
        for words in (["get", "k"], ["ls"], ["servers"], ["rm", "k"]):
            self.refused(CLUSTER_ERROR, "it is an ersproxy: list the memcached "
                         "servers behind it", *words,
                         servers=self.proxy.addresses[0])
        for words in (["stat", "k"], ["job", "list"]):
            self.at_fails(BAD_USAGE, "--proxy 127.0.0.1:0: nothing listens",
                          *words, address="127.0.0.1:0")


class WhereTheClusterIsNamedTest(ByProxyCase):
    """The command line goes before the environment, and that before the
    file."""

    def setUp(self):
        super().setUp()
        self.link().set("named", b"x")
        self.more = {}

    def environment(self, servers=None):
        env = super().environment(servers)
        env["XDG_CONFIG_HOME"] = self.work
        return {**env, **self.more}

    def configure(self, text):
        os.makedirs(self.path("libers"), exist_ok=True)
        return self.file("libers/ersctl.toml", text.encode())

    def finds(self, *words):
        self.assertEqual(self.ctl(*words, "get", "named", servers=""), b"x")

    def test_environment(self):
        self.more = {"ERS_PROXY": self.admin}
        self.finds()
        self.finds("--servers", self.servers, "--max-failures", "1")
        self.refused(BAD_USAGE, "give --proxy or --max-failures, not both",
                     "get", "named", "--max-failures", "1", servers="")
        self.more["ERS_PROXY"] = "127.0.0.1:0"
        self.refused(BAD_USAGE, "port 0", "get", "named", servers="")
        self.finds("--servers", self.servers)
        self.finds("--proxy", self.admin)
        self.more["ERS_SERVERS"] = self.servers
        self.refused(BAD_USAGE, "ERS_SERVERS and ERS_PROXY", "get", "named")
        self.finds("--proxy", self.admin)

    def test_file(self):
        self.configure(f'proxy = "{self.admin}"\ntimeout = "20s"\n')
        self.finds()
        self.configure(f'servers = "{self.servers}"\nmax-failures = 1\n'
                       "json = true\n")
        self.assertEqual(json.loads(self.ctl("stat", "named",
                                             servers=""))["key"], "named")
        # What names the cluster nearer to the command takes its place.
        self.configure('servers = "127.0.0.1:0"\n')
        self.finds("--proxy", self.admin)
        self.more = {"ERS_PROXY": self.admin}
        self.finds()
        self.configure("timeout = 0.001\n")
        self.refused(BAD_USAGE, "--timeout", "get", "named", servers="")
        self.finds("--timeout", "20s")

    def test_a_file_that_is_named(self):
        path = self.file("other.toml", f"proxy = '{self.admin}'\n".encode())
        self.finds("--config", path)
        self.refused(BAD_USAGE, "/no/file: it cannot be read", "get", "named",
                     "--config", "/no/file", servers="")

    def test_a_bad_file_is_named(self):
        for text, why in (("frob = 1\n", "there is no \"frob\""),
                          ("max-failures = many\n", "--max-failures"),
                          ('servers = "a:1"\nproxy = "b:1"\n', "keep one"),
                          ("[section]\nproxy = 'a:1'\n", "section")):
            with self.subTest(text=text):
                path = self.configure(text)
                self.assertIn(path, self.refused(BAD_USAGE, why, "ls",
                                                 servers=""))

    def test_both_on_the_command_line(self):
        self.refused(BAD_USAGE, "give --servers or --proxy, not both", "ls",
                     "--proxy", self.admin, "--servers", self.servers)


if __name__ == "__main__":
    unittest.main()
