"""check-layers finds each kind of include that is against the arrows."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "check-layers")

ALLOWED = (
    ("libers/src/code/a.cc", "base/crc32c.h"),
    ("libers/src/store/a.cc", "net/task.h"),
    ("libers/src/store/a.cc", "plan/plan.h"),
    ("libers/src/client/a.cc", "store/manifest.h"),
    ("libers/src/client/a.cc", "ers/client.h"),
    ("libers/src/net/a.cc", "event2/event.h"),
    ("libers/src/code/a.cc", "jerasure.h"),
    ("libers/src/base/a.cc", "isa-l/crc.h"),
    ("libers/src/plan/a.cc", "ers/scheme.h"),
    ("libers/include/ers/a.h", "tl/expected.hpp"),
    ("libers/include/ers/a.h", "string_view"),
    ("libers/include/ers/a.h", "stdint.h"),
    ("eval/a.cc", "analysis/counts.h"),
    ("proxy/a.cc", "sys/socket.h"),
)

FORBIDDEN = (
    ("libers/src/base/a.h", "net/task.h"),
    ("libers/src/base/a.h", "sys/socket.h"),
    ("libers/src/code/a.h", "layout/geometry.h"),
    ("libers/src/layout/a.h", "plan/plan.h"),
    ("libers/src/layout/a.cc", "net/task.h"),
    ("libers/src/layout/a.cc", "netinet/in.h"),
    ("libers/src/plan/a.cc", "net/task.h"),
    ("libers/src/plan/a.cc", "sys/socket.h"),
    ("libers/src/plan/a.cc", "store/manifest.h"),
    ("libers/src/net/a.cc", "code/kernel.h"),
    ("libers/src/net/a.cc", "layout/geometry.h"),
    ("libers/src/net/a.cc", "store/manifest.h"),
    ("libers/src/net/a.cc", "jerasure.h"),
    ("libers/src/store/a.cc", "client/a.h"),
    ("libers/src/store/a.cc", "ers/client.h"),
    ("libers/src/store/a.cc", "event2/event.h"),
    ("libers/src/store/a.cc", "isa-l/erasure_code.h"),
    ("libers/src/client/a.cc", "proxy/a.h"),
    ("libers/src/drawer/a.cc", "string"),
    ("libers/include/ers/a.h", "base/crc32c.h"),
    ("libers/include/ers/a.h", "fmt/format.h"),
    ("libers/include/ers/a.h", "sys/socket.h"),
    ("proxy/a.cc", "analysis/counts.h"),
    ("analysis/a.cc", "eval/a.h"),
)


def check(path, line):
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(os.path.join(top, os.path.dirname(path)))
        with open(os.path.join(top, path), "w", encoding="utf-8") as file:
            file.write(f"// first\n{line}\n")
        return subprocess.run([sys.executable, TOOL, top], check=False,
                              capture_output=True, text=True)


class CheckLayersTest(unittest.TestCase):

    def test_allowed_includes_pass(self):
        for path, included in ALLOWED:
            with self.subTest(path=path, included=included):
                result = check(path, f'#include "{included}"')
                self.assertEqual(result.returncode, 0, result.stdout)

    def test_forbidden_includes_are_named_with_their_line(self):
        for path, included in FORBIDDEN:
            for line in (f'#include "{included}"', f"#  include <{included}>"):
                with self.subTest(path=path, line=line):
                    result = check(path, line)
                    self.assertEqual(result.returncode, 1, result.stdout)
                    self.assertIn(f"{path}:2: {included}: ", result.stdout)

    def test_a_tree_without_sources_is_a_fault(self):
        with tempfile.TemporaryDirectory() as top:
            result = subprocess.run([sys.executable, TOOL, top], check=False,
                                    capture_output=True)
            self.assertEqual(result.returncode, 1)

    def test_this_tree_keeps_the_rules(self):
        result = subprocess.run([sys.executable, TOOL], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
