"""debian-packages is well formed and install-packages reads its groups."""

import os
import re
import subprocess
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
DEADLINE_S = 30
TOOL = os.path.join(TOP, "memcached-cluster", "install-packages")


def listed(*groups):
    return subprocess.run([TOOL, "--list", *groups], check=True,
                          capture_output=True, text=True).stdout.split()


class PackagesTest(unittest.TestCase):

    def test_a_group_brings_those_it_needs(self):
        build, run, test, ci = map(set, map(listed,
                                            ("build", "run", "test", "ci")))
        self.assertIn("libevent-dev", build)
        self.assertNotIn("memcached", build)
        self.assertTrue(build < run < test < ci)
        self.assertIn("clang-19", ci)
        self.assertIn("python3-matplotlib", ci)
        self.assertEqual(set(listed()), run)
        self.assertEqual(set(listed("run", "figures")),
                         run | {"python3-matplotlib", "python3-yaml",
                                "iproute2", "golang-go"})

    def test_names_are_bare(self):
        for name in listed("ci"):
            self.assertRegex(name, r"^[a-z0-9][a-z0-9+.-]+$")

    def test_bad_usage(self):
        for words in (["nope"], ["--nope"], ["run", "nope"]):
            result = subprocess.run([TOOL, "--list", *words], check=False,
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertTrue(result.stderr)


class ChecksTest(unittest.TestCase):

    def run_checks(self, *words):
        return subprocess.run([os.path.join(TOP, ".ci", "run"), *words],
                              check=False, capture_output=True, text=True,
                              timeout=DEADLINE_S)

    def test_help_and_bad_usage_check_nothing(self):
        helped = self.run_checks("--help")
        self.assertEqual((helped.returncode, helped.stderr), (0, ""))
        self.assertRegex(helped.stdout, r"\Ausage: ")
        self.assertNotIn("===", helped.stdout)
        refused = self.run_checks("--nope")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertRegex(refused.stderr, r"\Ausage: ")


class VersionTest(unittest.TestCase):

    def test_every_script_prints_the_projects_version(self):
        with open(os.path.join(TOP, "CMakeLists.txt"),
                  encoding="utf-8") as file:
            version = re.search(r"libers VERSION ([\d.]+)", file.read())[1]
        for name in ("memcached-cluster/cluster",
                     "memcached-cluster/install-packages",
                     "memcached-cluster/quickstart", "tests/run", ".ci/run",
                     "debian/build-packages", "deploy/container/build-image"):
            said = subprocess.run([os.path.join(TOP, name), "--version"],
                                  check=True, capture_output=True,
                                  text=True, timeout=DEADLINE_S).stdout
            self.assertTrue(said.endswith(f"(libers) {version}\n"), said)


if __name__ == "__main__":
    unittest.main()
