"""ersctl needs little memory, whatever the value's size."""

import hashlib
import os
import random
import subprocess
import unittest

from ctl_case import DONE, ERSCTL, SANITIZED, CtlCase

MEBIBYTE = 1 << 20
VALUE_MEBIBYTES = 256
LIMIT_KIB = 64 * 1024


def write_random(path, seed):
    """A file of the largest value, made and hashed piece by piece: the peak
    of this process counts in that of the ones it starts."""
    source = random.Random(seed)
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for _ in range(VALUE_MEBIBYTES):
            piece = source.randbytes(MEBIBYTE)
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def hash_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(MEBIBYTE):
            digest.update(piece)
    return digest.hexdigest()


@unittest.skipIf(SANITIZED, "a sanitizer's own memory is counted too")
class MemoryTest(CtlCase):
    up = ("-n", "17")

    def peak_kib(self, *words):
        process = subprocess.Popen([ERSCTL, *words], cwd=self.work,
                                   env=self.environment(),
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, DONE, words)
        return usage.ru_maxrss

    def test_put_and_get_of_the_largest_value(self):
        expected = write_random(self.path("in"), seed=1)
        # The first use fixes how many servers may die, for both schemes.
        self.ctl("put", "first", "-", "--max-failures", "3", data=b"x")
        for scheme in ("ers2:4,1,5", "ers2:12,3,14"):
            with self.subTest(scheme=scheme):
                self.assertLess(
                    self.peak_kib("put", "large", "in", "--scheme", scheme),
                    LIMIT_KIB)
                self.assertLess(self.peak_kib("get", "large", "-o", "out"),
                                LIMIT_KIB)
                self.assertEqual(hash_of(self.path("out")), expected)
                self.ctl("rm", "large")


if __name__ == "__main__":
    unittest.main()
