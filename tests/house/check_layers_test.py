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
    ("eval/a.cc", "cli/usage.h"),
    ("proxy/a.cc", "cli/usage.h"),
    ("proxy/a.cc", "sys/socket.h"),
    ("proxy/a.cc", "ers/client.h"),
    ("proxy/protocol/a.cc", "protocol/request.h"),
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
    ("libers/src/store/a.cc", "ers/ers.h"),
    ("libers/src/store/a.cc", "event2/event.h"),
    ("libers/src/store/a.cc", "isa-l/erasure_code.h"),
    ("libers/src/client/a.cc", "proxy/a.h"),
    ("libers/src/drawer/a.cc", "string"),
    ("libers/include/ers/a.h", "base/crc32c.h"),
    ("libers/include/ers/a.h", "fmt/format.h"),
    ("libers/include/ers/a.h", "sys/socket.h"),
    ("proxy/a.cc", "analysis/counts.h"),
    ("proxy/protocol/a.cc", "sys/socket.h"),
    ("proxy/protocol/a.h", "ers/client.h"),
    ("analysis/a.cc", "eval/a.h"),
    ("cli/a.cc", "analysis/counts.h"),
    ("libers/src/base/a.cc", "cli/usage.h"),
)


def check(cases):
    """What check-layers says of a tree with one file per (path, line)."""
    with tempfile.TemporaryDirectory() as top:
        for path, line in cases:
            path = os.path.join(top, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"// first\n{line}\n")
        return subprocess.run([sys.executable, TOOL, top], check=False,
                              capture_output=True, text=True)


def numbered(path, number):
    stem, suffix = os.path.splitext(path)
    return f"{stem}{number}{suffix}"


class CheckLayersTest(unittest.TestCase):

    def test_allowed_includes_pass(self):
        result = check([(numbered(path, i), f'#include "{included}"')
                        for i, (path, included) in enumerate(ALLOWED)])
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn(f"{len(ALLOWED)} files checked", result.stdout)

    def test_forbidden_includes_are_named_with_their_line(self):
        for form in ('#include "%s"', "#  include <%s>"):
            result = check([(numbered(path, i), form % included)
                            for i, (path, included) in enumerate(FORBIDDEN)])
            self.assertEqual(result.returncode, 1, result.stdout)
            for i, (path, included) in enumerate(FORBIDDEN):
                self.assertIn(f"{numbered(path, i)}:2: {included}: ",
                              result.stdout)

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
