"""ersctl --proxy: commands that an ersproxy carries out on its client port."""

import json
import os
import socket
import unittest

from proxy_case import ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR, DONE, NOT_FOUND

COUNTS = ["data_reads", "parity_reads", "writes", "bytes_read",
          "bytes_written", "microseconds"]


def free_port():
    """Where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class InBandTest(ProxyCase):
    listen = ("127.0.0.1:0", "[::1]:0")

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
            link.set(f"l{number}", b"x" * 5000)
        for number in range(0, 30, 3):
            self.assertEqual(
                link.lines(f"ers transition l{number} wide".encode())[0],
                b"STAT path plan")
        for words in ([], ["--width", "wide"], ["--width", "narrow"]):
            with self.subTest(words=words):
                self.assertEqual(
                    sorted(self.done("ls", *words).splitlines()),
                    sorted(self.ctl("ls", *words).splitlines()))
        rows = json.loads(self.done("ls", "--width", "wide", "--json"))
        self.assertEqual(len(rows), 10)
        self.assertEqual(list(rows[0]), ["key", "scheme", "width", "length"])

    def test_what_is_refused_says_why(self):
        for words in (["transition", "none", "--to", "wide"],
                      ["stat", "none"],
                      ["update", "none", "--offset", "0", "-"]):
            with self.subTest(words=words):
                self.at_fails(NOT_FOUND, "none", *words, data=b"x")
        self.link().set("r", b"x" * 5000)
        self.at_fails(BAD_USAGE, "beyond", "update", "r", "--offset", "4999",
                      "-", data=b"xy")
        self.at_fails(BAD_USAGE, "sideways", "transition", "r", "--to",
                      "sideways")
        self.at_fails(BAD_USAGE, "--plan", "transition", "r", "--to", "wide",
                      "--plan", "paper")
        self.at_fails(BAD_USAGE, "spaces", "stat", "a b")
        self.at_fails(BAD_USAGE, "spaces", "stat", "x" * 251)
        self.at_fails(BAD_USAGE, "--servers", "put", "r", "-", data=b"x")
        self.at_fails(BAD_USAGE, "--servers", "export", "r")

    def test_what_is_no_proxy_is_told(self):
        self.at_fails(CLUSTER_ERROR, "memcached", "stat", "k",
                      address=self.servers.split(",")[0])
        nobody = f"127.0.0.1:{free_port()}"
        self.at_fails(CLUSTER_ERROR, "Connection refused", "stat", "k",
                      address=nobody)
        self.at_fails(CLUSTER_ERROR, nobody, "ls", address=nobody)
        self.at_fails(BAD_USAGE, "--proxy", "stat", "k", address="localhost")
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            self.at_fails(CLUSTER_ERROR, "in time", "stat", "k", "--timeout",
                          "0.2",
                          address=f"127.0.0.1:{silent.getsockname()[1]}")


class UnixSocketTest(ProxyCase):

    def test_a_path(self):
        path = os.path.join(self.folder, "proxy.sock")
        self.start_proxy("unix", listen=(path,))
        self.link(path).set("u", b"x" * 5000)
        result = self.run_ctl("--proxy", path, "stat", "u", "--json",
                              servers="")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(json.loads(result.stdout)["length"], 5000)


if __name__ == "__main__":
    unittest.main()
