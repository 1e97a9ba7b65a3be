"""ersctl backup and restore: the same bytes, flags and times to live."""

import os
import time
import unittest

from proxy_case import KIB, MIB, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR, DONE

COUNT = 10_000
FAR = 90 * 86400
LARGE = {f"large:{length}": random_bytes(length, seed=length)
         for length in (100 * KIB, MIB + 1, 9 * MIB)}
REPORT = ["objects", "bytes", "gone", "failed", "errors"]
RESTORED = ["check", "objects", "bytes", "restored", "kept", "expired",
            "abandoned"]


class BackupTest(ProxyCase):

    def fill(self):
        """{key: (value, flags, Unix seconds of its end or None)}"""
        now = int(time.time())
        objects = {}
        for number in range(COUNT):
            ends = (None, now + 5000, now + FAR)[number % 3]
            objects[f"small:{number}"] = (
                random_bytes(number % 200, seed=number), number, ends)
        for key, value in LARGE.items():
            objects[key] = (value, 1 << 31, now + 9000)
        link = self.link()
        keys = list(objects)
        for begin in range(0, len(keys), 500):
            part = keys[begin:begin + 500]
            link.send(b"".join(self.request(key, *objects[key])
                               for key in part))
            for key in part:
                self.assertEqual(link.line(), b"STORED", key)
        return objects

    @staticmethod
    def request(key, value, flags, ends):
        return (f"set {key} {flags} {ends or 0} {len(value)}\r\n".encode()
                + value + b"\r\n")

    def empty_all_servers(self):
        """Each is killed and started anew; so is the proxy."""
        self.proxy.kill()
        for number in range(1, 7):
            self.tool("kill", str(number))
        for number in range(1, 7):
            self.tool("start", str(number))
        type(self).proxy = self.start_proxy("proxy-again")
        type(self).address = self.proxy.addresses[0]

    def check(self, objects):
        link = self.link()
        keys = list(objects)
        for begin in range(0, len(keys), 500):
            part = keys[begin:begin + 500]
            link.send(b"".join(f"mg {key} v f t\r\n".encode()
                               for key in part))
            for key in part:
                self.check_one(link, key, *objects[key])

    def check_one(self, link, key, value, flags, ends):
        word, length, *got = link.line().split()
        self.assertEqual(word, b"VA", key)
        self.same(link.read(int(length)), value, key)
        self.assertEqual(link.read(2), b"\r\n")
        self.assertEqual(got[0], b"f%d" % flags, key)
        left = int(got[1][1:])
        wanted = -1 if ends is None else ends - time.time()
        self.assertLess(abs(left - wanted), 60, (key, left, wanted))

    def test_ten_thousand_objects_survive_the_loss_of_all_servers(self):
        objects = self.fill()
        self.ctl("transition", "large:1048577", "--to", "wide")
        report = self.ctl_json("backup", "all.ersback")
        self.assertEqual(list(report), REPORT)
        self.assertEqual(report["objects"], len(objects))
        self.assertEqual(report["bytes"],
                         sum(len(value) for value, _, _ in objects.values()))
        self.assertIn(b"all whole", self.ctl("restore", "--check",
                                             "all.ersback"))
        self.empty_all_servers()
        self.assertIsNone(self.link().get("small:1"))
        report = self.ctl_json("restore", "all.ersback")
        self.assertEqual(list(report), RESTORED)
        self.assertEqual(report["restored"], len(objects))
        self.check(objects)
        self.assertEqual(self.ctl_json("stat", "large:1048577")["width"],
                         "wide")


class BackupFileTest(ProxyCase):

    def setUp(self):
        super().setUp()
        self.objects = {f"f:{number}": random_bytes(2000, seed=number)
                        for number in range(20)}
        self.link().lines(b"flush_all", last=b"OK")
        link = self.link()
        for key, value in self.objects.items():
            self.assertEqual(link.set(key, value), b"STORED")

    def test_a_pipe_takes_and_gives_it_and_a_prefix_chooses(self):
        self.assertEqual(self.link().set("g:1", b"other"), b"STORED")
        result = self.run_ctl("backup", "-", "--prefix", "f:")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertIn(b"backed up 20 objects", result.stderr)
        self.link().lines(b"flush_all", last=b"OK")
        text = self.ctl("restore", "-", data=result.stdout)
        self.assertIn(b"restored 20 of 20 objects", text)
        self.assertEqual(
            {key: got[0] for key, got in
             self.link().get_many(*self.objects, "g:1").items()}, self.objects)

    def test_what_is_there_is_kept_where_it_is_asked(self):
        self.ctl("backup", "some")
        link = self.link()
        link.set("f:1", b"newer")
        link.ask(b"delete f:2")
        report = self.ctl_json("restore", "some", "--keep")
        self.assertEqual((report["restored"], report["kept"]), (1, 19))
        self.assertEqual(link.get("f:1"), b"newer")
        self.assertEqual(link.get("f:2"), self.objects["f:2"])
        report = self.ctl_json("restore", "some", "--scheme", "rep:2")
        self.assertEqual(report["restored"], 20)
        self.assertEqual(link.get("f:1"), self.objects["f:1"])
        self.assertEqual(self.ctl_json("stat", "f:1")["scheme"], "rep:2")

    def test_what_has_expired_meanwhile_is_left_out(self):
        link = self.link()

        def is_in_backup():
            self.assertEqual(link.set("f:3", b"short", exptime=2), b"STORED")
            return (self.ctl_json("backup", "some")["objects"]
                    == len(self.objects))
        self.until(is_in_backup, "it is there until it is in the backup")
        self.until(lambda: link.get("f:3") is None, "it expires")
        # The servers' clocks go by seconds: until they, too, say so.
        self.until(lambda: self.ctl_json("restore", "some")["expired"] == 1,
                   "it counts as expired")
        self.assertIsNone(link.get("f:3"))

    def test_a_damaged_file_is_refused_and_says_where(self):
        self.ctl("backup", "good")
        good = self.read("good")
        for name, data, why in (
                ("cut", good[:len(good) // 2], "it is cut off"),
                ("no end", good[:-25], "it is cut off"),
                ("longer", good + b"x", "something follows its end"),
                ("other", b"not a backup at all", "no backup of ersctl's"),
                ("newer", good[:8] + b"\x09" + good[9:], "has format 9")):
            with self.subTest(name):
                self.file("bad", data)
                result = self.run_ctl("restore", "--check", "bad")
                self.assertEqual(result.returncode, CLUSTER_ERROR)
                self.assertIn(why, result.stderr.decode())
        for at in range(8, len(good), 997):
            self.file("bad", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            self.assertEqual(self.run_ctl("restore", "--check",
                                          "bad").returncode, CLUSTER_ERROR, at)
        # A value that is damaged is not stored, and what came before stays.
        self.link().lines(b"flush_all", last=b"OK")
        self.file("bad", good[:-1000] + bytes([good[-1000] ^ 1]) + good[-999:])
        result = self.run_ctl("restore", "bad")
        self.assertEqual(result.returncode, CLUSTER_ERROR)
        self.assertIn("19 objects are restored, and stay",
                      result.stderr.decode())
        got = self.link().get_many(*self.objects)
        self.assertEqual(len(got), 19)
        for key, (value, _, _) in got.items():
            self.assertEqual(value, self.objects[key])

    def test_a_backup_appears_whole_or_not(self):
        self.file("kept", b"before")
        result = self.run_ctl("backup", os.path.join("nowhere", "file"))
        self.assertEqual(result.returncode, BAD_USAGE)
        result = self.run_ctl("backup", "kept", "--pattern", "(")
        self.assertEqual(result.returncode, BAD_USAGE)
        self.assertEqual(self.read("kept"), b"before")


if __name__ == "__main__":
    unittest.main()
