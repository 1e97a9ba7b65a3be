"""check-sizes finds a function and a class that are too large."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "check-sizes")


def function(name, lines):
    body = "\n".join("  Do();" for _ in range(lines - 2))
    return f"void {name}() {{\n{body}\n}}\n"


def check(text):
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "proxy/engine")
        os.makedirs(folder)
        with open(os.path.join(folder, "a.cc"), "w", encoding="utf-8") as file:
            file.write(text)
        return subprocess.run([sys.executable, TOOL, top], check=False,
                              capture_output=True, text=True)


class CheckSizesTest(unittest.TestCase):

    def test_a_function_has_seventy_lines_at_most(self):
        self.assertEqual(check(function("Run", 70)).returncode, 0)
        result = check("\n" + function("Run", 71))
        self.assertEqual(result.returncode, 1)
        self.assertIn("proxy/engine/a.cc:2: Run: 71 lines, more than 70",
                      result.stdout)

    def test_a_class_has_four_hundred_lines_at_most(self):
        parts = [function(f"Engine::Do{i}", 50) for i in range(8)]
        self.assertEqual(check("".join(parts)).returncode, 0)
        short = "int Engine::Size() const { return size_; }\n"
        result = check("".join(parts) + short)
        self.assertEqual(result.returncode, 1)
        self.assertIn("proxy/engine/: class Engine: 401 lines, more than 400",
                      result.stdout)

    def test_a_class_in_one_file_counts_with_its_body(self):
        body = "\n".join("  void Do();" for _ in range(400))
        result = check(f"class Pass {{\n{body}\n}};\n" + function("Run", 3))
        self.assertIn("class Pass: 402 lines", result.stdout)

    def test_a_tree_without_functions_is_a_fault(self):
        self.assertEqual(check("// nothing\n").returncode, 1)

    def test_this_tree_keeps_the_rules(self):
        result = subprocess.run([sys.executable, TOOL], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
