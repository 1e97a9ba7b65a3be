"""ersctl restore beside clients, and for long; a backup's way to the disk."""

import os
import shutil
import subprocess
import time
import unittest

from ctl_case import (BAD_USAGE, DEADLINE_S, ERSCTL, SANITIZED, CtlCase,
                      random_bytes)

MIB = 1 << 20
# So much is read ahead of an object; what is behind has to wait for it.
AHEAD = MIB
LONG = random_bytes(3 * MIB, seed=1)


class SlowFileTest(CtlCase):

    def begin(self, backup, *words):
        """A restore that is amid the first, long object of a backup."""
        process = subprocess.Popen(
            [ERSCTL, "restore", "-", *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment(), cwd=self.work)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        # More than the pipe holds beside: so it has asked for the second part.
        process.stdin.write(backup[:AHEAD + AHEAD // 2])
        process.stdin.flush()
        return process

    def end(self, process, backup):
        out, err = process.communicate(backup[AHEAD + AHEAD // 2:],
                                       timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0, err)
        return out.decode()

    def test_what_a_client_stores_meanwhile_is_kept(self):
        self.put("raced", LONG)
        self.ctl("backup", "raced", "--prefix", "raced")
        backup = self.read("raced")
        self.ctl("rm", "raced")
        process = self.begin(backup, "--keep")
        self.put("raced", b"newer")
        self.assertIn("restored 0 of 1 object; 1 were there",
                      self.end(process, backup))
        self.check("raced", b"newer")

    def test_what_expires_meanwhile_replaces_nothing(self):
        backup = self.long_one_first("z", "--expire", "4")
        ends = time.time() + 5
        self.put("z", b"newer")
        process = self.begin(backup)
        # What is tested: that time passes.
        time.sleep(max(0, ends - time.time()))
        self.assertIn("1 had expired", self.end(process, backup))
        self.check("z", b"newer")

    def long_one_first(self, key, *options):
        """A backup in which `key` is behind a long object: the order is that
        of the list."""
        for number in range(50):
            self.put(key, b"older", *options)
            self.put(f"first{number}", LONG)
            report = self.ctl_json("backup", "two", "--pattern",
                                   f"first{number}|{key}")
            backup = self.read("two")
            # One that expires may do so before it is in the backup.
            if (report["objects"] == 2
                    and backup.index(f"first{number}".encode()) < AHEAD):
                return backup
        raise AssertionError(f"{key} always comes first, or expires before")


FAILING = """
#include <errno.h>
int fsync(int file) { (void)file; errno = EIO; return -1; }
"""


@unittest.skipIf(SANITIZED or not shutil.which("cc"),
                 "no compiler, or a program that takes no other library first")
class DiskTest(CtlCase):

    def test_what_does_not_reach_the_disk_replaces_nothing(self):
        self.put("k", b"value")
        source = self.file("failing.c", FAILING.encode())
        library = self.path("failing.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source],
                       check=True)
        self.file("out", b"older")
        for words in (("backup", "out"), ("get", "k", "-o", "out")):
            self.refused(BAD_USAGE, "out: cannot write to the disk: Input",
                         *words, env={"LD_PRELOAD": library})
            self.assertEqual(self.read("out"), b"older")
        self.assertEqual(set(os.listdir(self.work)),
                         {"failing.c", "failing.so", "out"})


if __name__ == "__main__":
    unittest.main()
