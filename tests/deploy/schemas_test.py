"""Kubernetes' own schemas take the manifests. They are in a package of PyPI,
which this fetches into a folder of its own."""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
MANIFESTS = sorted(glob.glob(os.path.join(TOP, "deploy", "kubernetes",
                                          "*.yaml")))
DEADLINE_S = 300


def run(*command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False, timeout=DEADLINE_S)
    return result.returncode, result.stdout


class SchemasTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ers-schemas-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        venv = os.path.join(cls.folder, "venv")
        for command in ((sys.executable, "-m", "venv", venv),
                        (os.path.join(venv, "bin", "pip"), "install",
                         "--quiet", "kubernetes-validate")):
            code, said = run(*command)
            if code != 0:
                raise AssertionError(said)
        cls.validate = os.path.join(venv, "bin", "kubernetes-validate")

    def test_manifests_are_taken(self):
        self.assertGreater(len(MANIFESTS), 1)
        code, said = run(self.validate, "--strict", *MANIFESTS)
        self.assertEqual(code, 0, said)

    def test_a_name_that_there_is_not_is_found(self):
        path = os.path.join(self.folder, "bad.yaml")
        with open(MANIFESTS[-1], encoding="utf-8") as file:
            text = file.read()
        self.assertIn("containers:", text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("containers:", "containerz:"))
        code, said = run(self.validate, "--strict", path)
        self.assertNotEqual(code, 0, said)


if __name__ == "__main__":
    unittest.main()
