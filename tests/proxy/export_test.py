"""ersctl export: objects become items that any memcached client finds."""

import json
import unittest

from proxy_case import MIB, ProxyCase, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, CLUSTER_ERROR, NOT_FOUND, item_expiries

VALUES = {"e:empty": b"", "e:one": b"1", "e:inline": b"x" * 4000,
          "e:blocks": random_bytes(9000, seed=1),
          "e:streamed": random_bytes(300_000, seed=2)}
REPORT = ["dry_run", "selected", "exported", "bytes", "already", "gone",
          "too_large", "failed", "errors"]


class ExportTest(ProxyCase):
    up = ("-n", "6", "--item-max", "1")

    def plain(self, key):
        """What is where libmemcached's clients ask: (value, flags)."""
        first = self.ctl_json("stat", key)["replicas"][0]
        return lambda: self.link(first).get_many(key).get(key)

    def test_a_pool_is_handed_back(self):
        link = self.link()
        for key, value in VALUES.items():
            self.assertEqual(link.set(key, value, flags=7, exptime=5000),
                             b"STORED")
            self.same(link.get(key), value)
        link.set("other", b"stays")
        plain = {key: self.plain(key) for key in VALUES}

        dry = self.ctl_json("export", "--prefix", "e:", "--dry-run")
        self.assertEqual(list(dry), REPORT)
        self.assertIs(dry["dry_run"], True)
        self.assertEqual(dry["exported"], len(VALUES))
        for key, value in VALUES.items():
            self.assertEqual(self.ctl_json("stat", key)["length"], len(value))

        report = self.ctl_json("export", "--prefix", "e:")
        self.assertEqual(report, {
            **dict.fromkeys(REPORT, 0), "dry_run": False, "errors": [],
            "selected": len(VALUES), "exported": len(VALUES),
            "bytes": sum(map(len, VALUES.values()))})
        for key, value in VALUES.items():
            with self.subTest(key=key):
                self.same(plain[key]()[0], value)
                self.assertEqual(plain[key]()[1], 7)
                # Also where the proxy remembers the object that was there.
                self.same(link.get(key), value)
                seconds = int(link.ask(f"mg {key} t".encode()).split()[1][1:])
                self.assertTrue(4900 < seconds <= 5000, seconds)
                self.refused(CLUSTER_ERROR, "not one of this library", "stat", key)
        self.check("other", b"stays")
        self.assertEqual(self.ctl("ls").decode().split()[0], "other")

        # Managed again at the next set, as any plain item is.
        self.assertEqual(link.set("e:one", b"again"), b"STORED")
        self.check("e:one", b"again")
        again = self.ctl_json("export", "--pattern", "e:.*")
        self.assertEqual((again["selected"], again["exported"]), (1, 1))
        self.assertEqual(plain["e:one"]()[0], b"again")

    def test_nothing_of_the_object_is_left(self):
        link = self.link()
        earlier = self.blocks()
        link.set("whole", random_bytes(100_000, seed=4))
        its = self.blocks() - earlier
        self.assertTrue(its)
        self.ctl("export", "whole")
        # The item alone.
        self.until(lambda: not its & self.blocks(), "blocks are dropped")
        self.assertEqual(1, sum(b"whole" in item_expiries(server)
                                for server in self.servers.split(",")))

    def test_no_get_misses_an_item_that_becomes_an_object(self):
        reader, writer = self.link(), self.link()
        keys = [f"turn:{number}" for number in range(100)]
        for key in keys:
            reader.set(key, b"item")
        report = self.ctl_json("export", "--prefix", "turn:")
        self.assertEqual(report["exported"], len(keys))
        for key in keys:
            writer.send(f"set {key} 0 0 6\r\nobject\r\n".encode())
            reader.send(f"get {key}\r\n".encode() * 6)
            seen = [reader.values().get(key, (None,))[0] for _ in range(6)]
            self.assertEqual(writer.line(), b"STORED")
            with self.subTest(key=key):
                self.assertEqual(seen, [b"item"] * seen.count(b"item")
                                 + [b"object"] * seen.count(b"object"))

    def test_single_keys(self):
        link = self.link()
        link.set("s1", b"1")
        link.set("s2", b"2")
        text = self.ctl("export", "s1", "s2").decode()
        self.assertEqual(text, "exported 2 of 2 objects (2 bytes); 0 were "
                         "plain items already, 0 gone, 0 too large, 0 failed\n")
        self.assertEqual(self.ctl_json("export", "s1")["already"], 1)
        result = self.run_ctl("export", "nothing", "s1", "--json")
        self.assertEqual(result.returncode, NOT_FOUND)
        self.assertEqual(json.loads(result.stdout)["gone"], 1)
        self.assertEqual(json.loads(result.stderr)["error"]["code"],
                         "not-found")

    def test_what_no_item_can_hold_stays_an_object(self):
        link = self.link()
        big = random_bytes(2 * MIB, seed=3)
        link.set("big", big)
        link.set("like-ours", b"eRSm\x01 and more")
        link.set("fine", b"fine")
        for words in (["--dry-run"], []):
            result = self.run_ctl("export", "--pattern", "big|like-ours|fine",
                                  "--json", *words)
            self.assertEqual(result.returncode, BAD_USAGE, result.stderr)
            report = json.loads(result.stdout)
            self.assertEqual([report[name] for name in REPORT[1:-1]],
                             [3, 1, 4, 0, 0, 1, 1])
            self.assertEqual({e["key"]: e["code"] for e in report["errors"]},
                             {"big": "too-large",
                              "like-ours": "invalid-argument"})
        self.check("big", big)
        self.check("like-ours", b"eRSm\x01 and more")

    def test_bad_usage(self):
        for words, text in ((["export"], "--prefix"),
                            (["export", "k", "--all"], "--prefix"),
                            (["export", "--prefix", ""], "empty"),
                            (["export", "--pattern", "("], "--pattern")):
            with self.subTest(words=words):
                self.refused(BAD_USAGE, text, *words)


class ServerOutTest(ProxyCase):

    def test_where_the_item_would_be_is_out(self):
        link = self.link()
        keys = [f"k{number}" for number in range(30)]
        for key in keys:
            self.assertEqual(link.set(key, key.encode() * 3000), b"STORED")
        first = {key: self.ctl_json("stat", key)["replicas"][0] for key in keys}
        dead = self.servers.split(",")[2]
        self.tool("kill", "3")
        reports = []
        for words in (["--dry-run"], []):
            result = self.run_ctl("export", "--all", "--json", *words)
            self.assertEqual(result.returncode, CLUSTER_ERROR, result.stderr)
            reports.append(json.loads(result.stdout))
        dry, report = reports
        self.assertEqual({**dry, "dry_run": False}, report)
        there = [key for key in keys if first[key] == dead]
        self.assertTrue(there)
        self.assertEqual(sorted(e["key"] for e in report["errors"]),
                         sorted(there))
        self.assertEqual(report["exported"], len(keys) - len(there))
        for error in report["errors"]:
            self.assertIn(dead, error["message"])
        for key in keys:
            self.same(link.get(key), key.encode() * 3000, key)


if __name__ == "__main__":
    unittest.main()
