"""More servers than the cluster survives are dead for good, and a person says
so."""

import subprocess
import unittest

from ctl_case import BAD_USAGE, DEADLINE_S, ERSCTL, CtlCase


class RecoverTest(CtlCase):
    up = ("-n", "9", "--no-evict")

    def run_here(self, *words, **options):
        return subprocess.run(
            [ERSCTL, *words], capture_output=True, timeout=DEADLINE_S,
            env=self.environment(self.six), check=False, **options)

    def recover(self, *words, typed=""):
        return self.run_here("recover", *words, input=typed, text=True)

    def test_what_others_kept_is_there_and_all_goes_on(self):
        servers = self.servers.split(",")
        self.six = ",".join(servers[:6])
        values = {f"k{i}": b"%d" % i * 5000 for i in range(30)}
        for key, value in values.items():
            self.ctl("put", key, "-", "--scheme", "ers2:2,1,3", data=value,
                     servers=self.six)
        dead, new = servers[:2], servers[6:8]
        for number in (1, 2):
            self.tool("kill", str(number))
        places = [f"{a}={b}" for a, b in zip(dead, new)]
        for words, typed, code, said in (
                ((*places,), "", BAD_USAGE, "--accept-loss"),
                (("--accept-loss", "nothing"), "", BAD_USAGE, "OLD=NEW"),
                (("--accept-loss", places[0]), "lose\n", BAD_USAGE, dead[1]),
                (("--accept-loss", *places, f"{servers[3]}={servers[8]}"),
                 "lose\n", BAD_USAGE, servers[3]),
                (("--accept-loss", *places), "yes\n", BAD_USAGE, "not typed")):
            with self.subTest(words):
                done = self.recover(*words, typed=typed)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(said, done.stderr)
        done = self.recover("--accept-loss", *places, typed="lose\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        for server in dead:
            self.assertIn(server, done.stderr)
        self.assertIn("4 kept what they had", done.stderr)
        # 6: some cannot be read any more.
        done = self.run_here("rebuild")
        self.assertIn(done.returncode, (0, 6), done.stderr)
        found = 0
        for key, value in values.items():
            got = self.run_here("get", key)
            # Whole, or lost.
            self.assertIn(got.returncode, (0, 1), got.stderr)
            if got.returncode == 0:
                self.assertEqual(got.stdout, value)
                found += 1
        self.assertGreater(found, 0)
        self.ctl("put", "more", "-", servers=self.six, data=b"x" * 5000)
        # The old ones come back, empty: no process asks them.
        for number in (1, 2):
            self.tool("start", str(number))
        about = self.ctl_json("servers", servers=self.six)["servers"]
        self.assertEqual({server["name"] for server in about},
                         set(servers[2:8]))
        self.assertEqual({server["state"] for server in about}, {"in_sync"})


if __name__ == "__main__":
    unittest.main()
