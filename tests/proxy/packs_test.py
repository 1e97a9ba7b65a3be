"""Cold small values in packs: a job, and the policy."""

import json
import subprocess
import unittest

from jobs_case import JobsCase
from proxy_case import DEADLINE_S, Link, USUAL
# pylint: disable=wrong-import-order
from ctl_case import DONE, ERSCTL

COUNT = 300
SCHEME = "ers2:4,1,5"


def value_of(number):
    return f"{number:04d}".encode() * 256


class PacksTest(JobsCase):

    options = (*JobsCase.options, "--scheme", SCHEME)

    def fill(self, prefix, link=None):
        link = link or self.link()
        for number in range(COUNT):
            self.assertEqual(link.set(f"{prefix}{number}", value_of(number),
                                      flags=number), b"STORED")

    def expect(self, prefix, link=None):
        link = link or self.link()
        for number in range(COUNT):
            link.send(f"get {prefix}{number}\r\n".encode())
            self.assertEqual(
                link.line(),
                f"VALUE {prefix}{number} {number} 1024".encode())
            self.assertEqual(link.read(1026), value_of(number) + b"\r\n")
            self.assertEqual(link.line(), b"END")

    def ctl(self, *words, code=DONE):
        result = subprocess.run(
            [ERSCTL, "--proxy", self.proxy.addresses[-1], *words, "--json"],
            capture_output=True, stdin=subprocess.DEVNULL,
            env=self.environment(""), timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, code, (words, result.stderr))
        return json.loads(result.stdout or result.stderr)

    def stat(self, key):
        with Link(self.address) as link:
            return dict(line.decode().split(" ", 2)[1:] for line in
                        link.lines(f"ers stat {key}".encode()))

    def test_a_job_packs_small_values_and_reads_go_on(self):
        self.fill("one:")
        before = self.api.metrics()
        job = self.ctl("job", "start", "--to", "pack", "--prefix", "one:",
                       "--watch")
        self.assertEqual(job["state"], "done")
        self.assertEqual(job["to"], "pack")
        changed = job["objects"]["changed"]
        # What would not fill half a pack stays whole.
        self.assertGreater(changed, COUNT // 2)
        self.assertEqual(job["objects"], {
            "selected": COUNT, "changed": changed, "already": 0, "gone": 0,
            "failed": 0, "left": 0, "kept": COUNT - changed})
        # With parity, of which there is a block to each four.
        self.assertGreaterEqual(job["bytes_written"], changed * 1024 * 5 // 4)
        self.assertEqual(job["bytes_read"], 0)
        self.expect("one:")
        self.assertTrue(self.link().lines(b"ers list narrow one:"))
        after = self.api.metrics()
        grown = {name: after[name] - before.get(name, 0) for name in after}
        self.assertEqual(grown["ersproxy_packed_values_total"], changed)
        self.assertEqual(grown["ersproxy_packed_bytes_total"], changed * 1024)
        self.assertGreaterEqual(grown["ersproxy_packs_made_total"], 1)
        packed = [key for key in (f"one:{i}" for i in range(COUNT))
                  if "pack" in self.stat(key)]
        self.assertEqual(len(packed), changed)
        packs = {self.stat(key)["pack"] for key in packed}
        self.assertEqual(after["ersproxy_packed_objects"], changed)
        self.assertEqual(after["ersproxy_packs"], len(packs))
        # A client's CAS goes on, and what it stores is whole again.
        key = packed[0]
        link = self.link()
        link.send(f"gets {key}\r\n".encode())
        cas = link.line().split()[-1].decode()
        link.read(1026)
        link.line()
        self.assertEqual(link.store("cas", key, b"new", more=f" {cas}"),
                         b"STORED")
        self.assertNotIn("pack", self.stat(key))
        again = self.ctl("job", "start", "--to", "pack", "--prefix", "one:",
                         "--watch")
        self.assertEqual(again["objects"]["changed"], 0)
        # Packs are no objects to clients, and change their width as others do.
        for line in self.link().lines(b"ers list narrow"):
            self.assertNotIn(b"ers!pack", line)
        wide = self.ctl("job", "start", "--to", "wide", "--prefix",
                        "ers!pack.", "--watch")
        self.assertGreaterEqual(wide["objects"]["changed"], 1)
        # So they do by ersctl alone.
        subprocess.run([ERSCTL, "--servers", self.servers, "--state", "-",
                        "transition", "--all", "--to", "narrow"],
                       stdin=subprocess.DEVNULL, check=True,
                       timeout=DEADLINE_S)
        self.assertEqual({self.stat(pack)["width"] for pack in packs},
                         {"narrow"})
        for number in range(COUNT):
            if f"one:{number}" == key:
                self.assertEqual(link.set(key, value_of(number),
                                          flags=number), b"STORED")
        self.expect("one:")

    def test_a_dry_run_of_gc_counts_packs_as_gc_drops_them(self):
        self.fill("three:")
        job = self.ctl("job", "start", "--to", "pack", "--prefix", "three:",
                       "--watch")
        self.assertGreater(job["objects"]["changed"], COUNT // 2)
        packs = {found["pack"] for found in
                 (self.stat(f"three:{i}") for i in range(COUNT))
                 if "pack" in found}
        collect = ("gc", "--grace", "0")
        self.assertEqual(self.ctl(*collect, "--dry-run")["packs"], 0)
        for number in range(COUNT):
            self.assertEqual(self.link().set(f"three:{number}", b"new"),
                             b"STORED")
        alone = json.loads(subprocess.run(
            [ERSCTL, "--servers", self.servers, "--state", "-", *collect,
             "--dry-run", "--json"], capture_output=True, check=True,
            stdin=subprocess.DEVNULL, timeout=DEADLINE_S).stdout)
        dry = self.ctl(*collect, "--dry-run")
        real = self.ctl(*collect)
        self.assertEqual(alone["packs"], len(packs))
        self.assertGreater(alone["dropped_bytes"], COUNT // 2 * 1024)
        self.assertEqual(alone, dry)
        self.assertEqual({**dry, "dry_run": False}, real)
        self.assertEqual(self.ctl(*collect, "--dry-run")["packs"], 0)

    def test_the_policy_packs_what_nobody_touches(self):
        settings = self.path("packing.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(USUAL + "policies: {pack: {idle_s: 1, every_s: 1, "
                       'prefix: "two:"}, leave_alone_s: 0}\n')
        proxy, api = self.start_with("--scheme", SCHEME, "--config", settings)
        link = self.link(proxy.addresses[0])
        self.fill("two:", link)
        name = ('ersproxy_policy_objects_total'
                '{policy="pack",policy_outcome="changed"}')
        self.until(lambda: api.metrics().get(name, 0) > COUNT // 2,
                   "most are packed")
        self.expect("two:", link)
        code, status = api.ask("GET", "/status")
        self.assertEqual(code, 200)
        self.assertIn("pack", status["policies"])


if __name__ == "__main__":
    unittest.main()
