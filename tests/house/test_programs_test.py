"""Only the programs that the chosen tests run are built."""

import os
import subprocess
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "test-programs")

# As CMake writes it; none of the programs is there.
TESTS = """
add_test([=[unit_a]=] "BUILD/bin/unit_a")
set_tests_properties([=[unit_a]=] PROPERTIES LABELS "small")
add_test([=[sim_a]=] "BUILD/bin/sim" "--seeds" "1-5")
add_test(plain_a "BUILD/bin/plain")
add_test([=[daemon_a]=] "/usr/bin/cmake" "-E" "env" "DAEMON=BUILD/bin/daemon" \
"CTL=BUILD/bin/ctl" "EMPTY=" "python3" "/tests/daemon_test.py")
add_test([=[script_a]=] "python3" "/tests/script_test.py")
add_test([=[loaded]=] "python3" "/tests/loaded.py" "BUILD/libers/libers.so.1" \
"BUILD/cmake_install.cmake" "BUILD/tests/loaded")
if(CTEST_CONFIGURATION_TYPE MATCHES "^([Ff][Uu][Ll][Ll])$")
  add_test([=[sim_full]=] "BUILD/bin/sim_long" "--seeds" "1-500")
endif()
subdirs("rest")
"""
REST = """
add_test([=[package]=] "python3" "/tests/package_test.py" "BUILD")
add_test([=[figures]=] "python3" "/tests/figures_test.py" "PROGRAMS=BUILD/bin")
"""


class TestProgramsTest(unittest.TestCase):

    def test_what_is_built(self):
        with tempfile.TemporaryDirectory() as folder:
            build = os.path.realpath(folder)
            for directory, text in (("", TESTS), ("rest", REST)):
                os.makedirs(os.path.join(build, directory), exist_ok=True)
                with open(os.path.join(build, directory, "CTestTestfile.cmake"),
                          "w", encoding="utf-8") as file:
                    file.write(text.replace("BUILD", build))
            for words, built in (
                    ("", "all"),
                    ("-R ^unit_", "bin/unit_a"),
                    ("-R ^(unit|plain)_", "bin/plain bin/unit_a"),
                    ("--tests-regex sim", "bin/sim"),
                    ("-C Full -R sim", "bin/sim bin/sim_long"),
                    ("-L small", "bin/unit_a"),
                    ("-R _a$ -LE small -E daemon", "bin/plain bin/sim"),
                    ("-R daemon -V", "bin/ctl bin/daemon"),
                    ("-I 2,3", "bin/plain bin/sim"),
                    ("-R script", ""),
                    ("-R none", ""),
                    ("-R loaded", "libers/libers.so.1"),
                    ("-R package", "all"),
                    ("-E package", "all"),  # figures run what they like
                    ("-E package|figures",
                     "bin/ctl bin/daemon bin/plain bin/sim bin/unit_a "
                     "libers/libers.so.1"),
                    ("-j 2", "all"),
                    ("-R (", "all")):
                with self.subTest(words=words):
                    said = subprocess.run(
                        [TOOL, folder, *words.split()], check=True,
                        stdin=subprocess.DEVNULL, capture_output=True,
                        text=True, timeout=60)
                    self.assertEqual(said.stdout.strip(), built)


if __name__ == "__main__":
    unittest.main()
