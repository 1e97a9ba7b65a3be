"""The systemd unit: systemd understands every line of it, and finds little
that it leaves open.

  service_unit_test.py UNIT.in BIN_FOLDER

Exits with 77 where systemd is not installed."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TEMPLATE, BIN = sys.argv[1:3]
# As systemd-analyze rates it, of 100; a unit without any of this has 96.
EXPOSURE = 12
DEADLINE_S = 60


class UnitTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="ersproxy-unit-")
        self.addCleanup(shutil.rmtree, folder)
        with open(TEMPLATE, encoding="utf-8") as file:
            text = file.read().replace("@ERSPROXY_BINDIR@", BIN)
        self.unit = os.path.join(folder, "ersproxy.service")
        with open(self.unit, "w", encoding="utf-8") as file:
            file.write(text)

    def analyze(self, *words):
        """What it says, or None where this version has no such option."""
        result = subprocess.run(
            ["systemd-analyze", *words, self.unit], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=DEADLINE_S, check=False)
        if "unrecognized option" in result.stdout:
            print(f"not run: {result.stdout.strip()}")
            return None
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def test_every_line_is_understood(self):
        # A line that is not is passed over with a word, and no error.
        self.assertIn(self.analyze("verify", "--man=no"), ("", None))

    def test_little_is_left_open(self):
        said = self.analyze("security", "--offline=true", "--no-pager",
                            f"--threshold={EXPOSURE}")
        self.assertTrue(said is None or "Overall exposure level" in said)


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("skipped: there is no systemd-analyze, which is in Debian's "
              "package systemd")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
