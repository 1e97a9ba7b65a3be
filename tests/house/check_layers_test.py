"""check-layers finds each kind of include that is against the arrows."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "check-layers")
ORDER = {
    "libers/src/store/": ("support", "format", "membership", "replicas",
                          "blocks", "commit", "repair", "objects"),
    "proxy/": ("shared", "protocol", "config", "metrics", "engine", "server",
               "jobs", "admin", "daemon"),
    "libers/src/": ("base", "code", "layout", "plan", "store/support",
                    "store/upkeep", "client"),
}


def rooms():
    """The table of check-layers."""
    return tool().ROOMS


def tool():
    loader = importlib.machinery.SourceFileLoader("check_layers", TOOL)
    spec = importlib.util.spec_from_loader("check_layers", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def as_included(folder):
    """What a file of another room writes for a.h of this one."""
    for root in ("libers/src/", "proxy/"):
        folder = folder.removeprefix(root)
    return folder + "/a.h"


ALLOWED = (
    ("libers/src/code/a.cc", "base/crc32c.h"),
    ("libers/src/store/objects/a.cc", "net/task.h"),
    ("libers/src/store/objects/a.cc", "plan/plan.h"),
    ("libers/src/client/a.cc", "store/format/manifest.h"),
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
    ("proxy/daemon/a.cc", "cli/usage.h"),
    ("proxy/server/a.cc", "sys/socket.h"),
    ("proxy/engine/a.cc", "ers/client.h"),
    ("ctl/a.cc", "shared/token.h"),
    ("ctl/a.cc", "ctl/commands/commands.h"),
    ("ctl/commands/a.cc", "ctl/support/session.h"),
    ("ctl/a.cc", "ers/client.h"),
    ("eval/bench/a.cc", "bench/b.h"),
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
    ("libers/src/plan/a.cc", "store/format/manifest.h"),
    ("libers/src/net/a.cc", "code/kernel.h"),
    ("libers/src/net/a.cc", "layout/geometry.h"),
    ("libers/src/net/a.cc", "store/format/manifest.h"),
    ("libers/src/net/a.cc", "jerasure.h"),
    ("libers/src/store/objects/a.cc", "client/a.h"),
    ("libers/src/store/objects/a.cc", "ers/ers.h"),
    ("libers/src/store/objects/a.cc", "event2/event.h"),
    ("libers/src/store/objects/a.cc", "isa-l/erasure_code.h"),
    ("libers/src/client/a.cc", "server/worker.h"),
    ("libers/src/drawer/a.cc", "string"),
    ("libers/include/ers/a.h", "base/crc32c.h"),
    ("libers/include/ers/a.h", "fmt/format.h"),
    ("libers/include/ers/a.h", "sys/socket.h"),
    ("proxy/engine/a.cc", "analysis/counts.h"),
    ("proxy/a.cc", "string"),
    ("libers/src/store/a.cc", "string"),
    ("ctl/a.cc", "protocol/request.h"),
    ("ctl/support/a.cc", "ctl/commands/commands.h"),
    ("ctl/support/a.cc", "ctl/global_options.h"),
    ("ctl/commands/a.cc", "ctl/global_options.h"),
    ("ctl/a.cc", "net/task.h"),
    ("ctl/a.cc", "store/objects/store.h"),
    ("proxy/shared/a.cc", "net/task.h"),
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

    def test_every_arrow_that_the_table_does_not_have_is_named(self):
        table = rooms()
        pairs = [(room.folder, other) for room in table.values()
                 for other in table
                 if other != room.folder and other not in room.may]
        result = check([(f"{folder}/a{i}.cc", f'#include "{as_included(other)}"')
                        for i, (folder, other) in enumerate(pairs)])
        for i, (folder, other) in enumerate(pairs):
            self.assertIn(f"{folder}/a{i}.cc:2: {as_included(other)}: {folder}/ "
                          f"may not include {other}/\n", result.stdout)
        self.assertGreater(len(pairs), 300)

    def test_rooms_of_one_row_know_those_before_them_only(self):
        for prefix, names in ORDER.items():
            for i, name in enumerate(names):
                may = rooms()[prefix + name].may
                for later in names[i + 1:]:
                    self.assertNotIn(prefix + later, may)
        table = rooms()
        self.assertNotIn("libers/src/store/objects",
                         table["libers/src/store/upkeep"].may)
        self.assertNotIn("libers/src/store/upkeep",
                         table["libers/src/store/objects"].may)

    def test_files_of_membership_call_those_before_them_only(self):
        order = tool().MEMBERSHIP_ORDER
        pairs = [(one, later) for i, one in enumerate(order)
                 for later in order[i + 1:]]
        folder = "libers/src/store/membership"
        for one, later in pairs:
            result = check([(f"{folder}/{one}.cc",
                             f'#include "store/membership/{later}.h"')])
            self.assertIn(f"{one} may not call {later}", result.stdout)
        page = os.path.join(os.path.dirname(TOOL), "../..",
                            "docs/internals/view.md")
        with open(page, encoding="utf-8") as file:
            rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", file.read(), re.M)
        printed = [name.strip("` ") for row in rows for name in row.split(",")]
        self.assertEqual(printed, list(order))

    def test_a_room_is_no_heap(self):
        for room in "proxy/engine", "tests/sim/objects":
            result = check([(f"{room}/a{i}.cc", "") for i in range(31)])
            self.assertIn(f"{room}/: 31 .cc files, more than 30",
                          result.stdout)

    def test_a_tree_without_sources_is_a_fault(self):
        with tempfile.TemporaryDirectory() as top:
            result = subprocess.run([sys.executable, TOOL, top], check=False,
                                    capture_output=True)
            self.assertEqual(result.returncode, 1)

    def test_the_architecture_page_prints_the_table(self):
        table = subprocess.run([sys.executable, TOOL, "--table"], check=True,
                               capture_output=True, text=True).stdout
        page = os.path.join(os.path.dirname(TOOL), "../..",
                            "docs/internals/ARCHITECTURE.md")
        with open(page, encoding="utf-8") as file:
            printed = file.read().split("<!-- rooms -->\n\n")[1]
        self.assertEqual(printed.split("\n<!-- /rooms -->")[0], table)

    def test_this_tree_keeps_the_rules(self):
        result = subprocess.run([sys.executable, TOOL], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
