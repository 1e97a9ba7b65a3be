"""ersctl --proxy: commands that an ersproxy carries out on its client port."""

import base64
import json
import os
import socket
import struct
import unittest

from proxy_case import ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR, DONE, NOT_FOUND

COUNTS = ["data_reads", "parity_reads", "writes", "bytes_read",
          "bytes_written", "microseconds"]


def free_port():
    """Where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class InBandTest(ProxyCase):
    listen = ("127.0.0.1:0", "[::1]:0")
    options = ("--hedge-percent", "0")  # blocks are counted

    def at(self, *words, address=None, **options):
        return self.run_ctl("--proxy", address or self.address, *words,
                            servers="", **options)

    def done(self, *words, **options):
        result = self.at(*words, **options)
        self.assertEqual(result.returncode, DONE, (words, result.stderr))
        return result.stdout

    def at_fails(self, code, text, *words, **options):
        result = self.at(*words, **options)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, code, (words, message))
        self.assertIn(text, message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual(result.stdout, b"")

    def test_the_four_commands(self):
        link = self.link()
        value = random_bytes(100_000, seed=1)
        link.set("obj", value, flags=3)
        for address in self.proxy.addresses[:2]:
            info = json.loads(self.done("transition", "obj", "--to", "wide",
                                        "--json", address=address))
            self.assertEqual(list(info),
                             ["key", "path", "scheme", "width", *COUNTS])
            self.assertEqual((info["key"], info["path"], info["width"]),
                             ("obj", "plan", "wide"))
            self.assertEqual(info["data_reads"] + info["parity_reads"], 8)
            self.at_fails(BAD_USAGE, "already", "transition", "obj", "--to",
                          "wide")
            self.done("transition", "obj", "--to", "narrow")
        self.done("update", "obj", "--offset", "10", "-", data=b"new")
        value = value[:10] + b"new" + value[13:]
        self.same(link.get("obj"), value)
        self.assertEqual(
            json.loads(self.done("update", "obj", "--offset", "0", "-",
                                 "--json", data=b"")),
            {"key": "obj", "updated": 0})
        stat = json.loads(self.done("stat", "obj", "--json"))
        self.assertEqual((stat["length"], stat["flags"], stat["inline"]),
                         (100_000, 3, False))
        self.assertEqual(stat["blocks"], stat["blocks_present"])
        direct = self.ctl_json("stat", "obj")
        for name in ("key", "scheme", "width", "version", "cas", "expiry"):
            self.assertEqual(stat[name], direct[name])
        self.assertIn(b"ers2:4,1,5", self.done("stat", "obj"))

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
        self.assertIn(b"chain\t", self.done("ls"))
        self.assertNotIn(b"chain\t", self.done("ls", "--width", "narrow"))
        rows = json.loads(self.done("ls", "--width", "wide", "--json"))
        self.assertEqual(len(rows), 10)
        self.assertEqual(list(rows[0]), ["key", "scheme", "width", "length"])

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
        # ersctl, by the proxy and by itself.
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
        self.same(self.ctl("get", text), b"vuu" + b"v" * 8997)
        self.assertEqual(self.ctl("rm", text), text.encode() + b": removed\n")
        self.ctl("rm", reserved)

    def test_a_key_that_is_no_utf_8(self):
        link = self.link()
        key = b"\xff\xfe"
        self.assertEqual(link.ask(b"set %s 0 0 1\r\nx" % key), b"STORED")
        for ctl in (self.done, self.ctl):
            shown = [row.get("key_base64")
                     for row in json.loads(ctl("ls", "--json"))]
            self.assertIn(base64.b64encode(key).decode(), shown)
        self.assertEqual(link.ask(b"delete " + key), b"DELETED")

    def test_what_is_refused_says_why(self):
        for words in (["transition", "none", "--to", "wide"],
                      ["stat", "none"],
                      ["update", "none", "--offset", "0", "-"]):
            with self.subTest(words=words):
                self.at_fails(NOT_FOUND, "none", *words, data=b"x")
        self.link().set("r", b"x" * 9000)
        self.at_fails(BAD_USAGE, "beyond", "update", "r", "--offset", "8999",
                      "-", data=b"xy")
        self.at_fails(BAD_USAGE, "sideways", "transition", "r", "--to",
                      "sideways")
        self.at_fails(BAD_USAGE, "--plan", "transition", "r", "--to", "wide",
                      "--plan", "paper")
        self.at_fails(BAD_USAGE, "base64:YSBi", "stat", "a b")
        self.at_fails(NOT_FOUND, "a b", "stat", "base64:YSBi")
        self.at_fails(BAD_USAGE, "base64:YQpi", "stat", "a\nb")
        self.at_fails(BAD_USAGE, "250 bytes", "stat", "x" * 251)
        self.at_fails(BAD_USAGE, "base64", "stat", "base64:a")
        self.at_fails(BAD_USAGE, "--servers", "put", "r", "-", data=b"x")
        self.at_fails(BAD_USAGE, "--servers", "export", "r")

    def test_what_is_no_proxy_is_reported(self):
        self.at_fails(CLUSTER_ERROR, "memcached", "stat", "k",
                      address=self.servers.split(",")[0])
        absent = f"127.0.0.1:{free_port()}"
        self.at_fails(CLUSTER_ERROR, "Connection refused", "stat", "k",
                      address=absent)
        self.at_fails(CLUSTER_ERROR, absent, "ls", address=absent)
        self.at_fails(BAD_USAGE, "--proxy", "stat", "k", address="localhost")
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            self.at_fails(CLUSTER_ERROR, "in time (--timeout", "stat", "k",
                          "--timeout", "0.2", address=address)
            # A read changed nothing; a change may have.
            for code, words in (
                    ("unavailable", ["stat", "k"]), ("unavailable", ["ls"]),
                    ("outcome-unknown", ["transition", "k", "--to", "wide"]),
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


class UnixSocketTest(ProxyCase):

    def test_a_path(self):
        path = os.path.join(self.folder, "proxy.sock")
        self.start_proxy("unix", listen=(path,))
        self.link(path).set("u", b"x" * 9000)
        result = self.run_ctl("--proxy", path, "stat", "u", "--json",
                              servers="")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(json.loads(result.stdout)["length"], 9000)


if __name__ == "__main__":
    unittest.main()
