"""check-definitions finds a definition that is not in the file of its header."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "check-definitions")

HEADER = """
namespace a {
class Engine {
 public:
  void Run();
};
net::Task<Result<int>> Count(int most);
}
"""
SOURCE = """#include "room/engine.h"
namespace a {
namespace {

int Hidden(int x) {
  return x;
}

}  // namespace

%s
}  // namespace a
"""


def check(files):
    with tempfile.TemporaryDirectory() as top:
        for name, text in files.items():
            path = os.path.join(top, "proxy/room", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return subprocess.run([sys.executable, TOOL, top], check=False,
                              capture_output=True, text=True)


class CheckDefinitionsTest(unittest.TestCase):

    def test_definitions_in_the_file_of_the_header_are_right(self):
        result = check({
            "engine.h": HEADER,
            "engine.cc": SOURCE % "void Engine::Run() {\n}\n\nnet::Task<"
                                  "Result<int>> Count(int most) {\n  return 1;"
                                  "\n}\n"})
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("2 definitions checked", result.stdout)

    def test_those_elsewhere_are_named_with_their_line(self):
        result = check({
            "engine.h": HEADER,
            "engine.cc": SOURCE % "void Engine::Run() {\n}\n",
            "other.cc": SOURCE % "net::Task<Result<int>> Count(int most) {\n"
                                 "  return 1;\n}\n"})
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("proxy/room/other.cc:11: Count: declared in "
                      "proxy/room/engine.h\n", result.stdout)
        result = check({"engine.h": HEADER,
                        "run.cc": SOURCE % "void Engine::Run() {\n}\n"})
        self.assertIn("proxy/room/run.cc:11: Engine::Run: declared in "
                      "proxy/room/engine.h\n", result.stdout)

    def test_this_tree_keeps_the_rule(self):
        result = subprocess.run([sys.executable, TOOL], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
