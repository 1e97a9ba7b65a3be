"""The manual page says what --help says."""

import os
import re
import subprocess
import unittest

from proxy_case import ERSPROXY, TOP


def output(*words):
    return subprocess.run([ERSPROXY, *words], check=True, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL).stdout


class ManualTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(TOP, "proxy", "man", "ersproxy.8"),
                  encoding="utf-8") as file:
            cls.page = file.read()

    def test_options_and_their_defaults(self):
        listed = {}
        pattern = (r"^  (?:-\w,)?(--[\w-]+)(?: ([A-Z]+))?(.*(?:\n {20}.*)*)")
        for name, value, text in re.findall(pattern, output("--help"), re.M):
            default = re.search(r"[Dd]efault: ([^)\n]+)", text)
            if name == "--log-level" or name == "--log-format":
                default = re.search(r"(\w+) \(default\)", text)
            listed[name] = (value, default and default[1])
        written = {}
        options = self.page.split(".SH OPTIONS\n")[1].split(".SH ")[0]
        for option in options.split(".TP\n")[1:]:
            first, _, text = option.replace("\\-", "-").partition("\n")
            name, value = re.search(
                r"\\fB(--[\w-]+)\\fR(?: \\fI(\w+)\\fR)?$", first).groups("")
            default = re.search(r"^Default: (.*)\.$", text, re.M)
            written[name] = (value, default and default[1])
        self.assertIn("--config", listed)
        self.assertEqual(written, listed)

    def test_version(self):
        version = output("--version").split()[1]
        self.assertIn(f'"libers {version}"', self.page.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
