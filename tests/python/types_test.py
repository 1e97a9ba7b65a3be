"""The package's type hints: mypy finds nothing in it, nor in its examples, and
does find wrong use. Skips aloud without mypy."""

import os
import subprocess
import sys
import tempfile

from package_case import DEADLINE_S, TOP, unittest

GOOD = """
import numpy
import ers
from ers.aio import AsyncClient

def use(client: ers.Client) -> int:
    client.put("key", numpy.zeros(10))
    client.put(b"key", memoryview(b"x"), expiry=5)
    client.get_into("key", bytearray(3))
    value: bytes = client.get("key")
    client.put_from("key", open("file", "rb"))
    client.put_from("key", [b"a", bytearray(b"b")])
    client.get_to("key", open("file", "wb"))
    client.get_to("key", print, lambda info: print(info.length))
    return len(value) + client.get_range_into("key", 0, numpy.zeros(3))

async def wait(client: AsyncClient) -> bytes:
    await client.put_from("key", client.stream("other"))
    return await client.get("key")
"""
BAD = """
import ers

def use(client: ers.Client) -> str:
    client.put("key", 7)
    client.put("key", b"", colour="red")
    client.get("key").encode()
    return client.get("key")
"""


class TypesTest(unittest.TestCase):

    def check(self, *words, path=""):
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--python-executable",
             sys.executable, *words], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, cwd=TOP,
            env={**os.environ, "MYPYPATH": path, "MYPY_CACHE_DIR": os.devnull},
            timeout=2 * DEADLINE_S)

    def test_package_examples_and_right_use_are_typed(self):
        with tempfile.TemporaryDirectory() as folder:
            good = os.path.join(folder, "good.py")
            with open(good, "w", encoding="utf-8") as file:
                file.write(GOOD)
            done = self.check("python/ers", "python/examples", good,
                              path="python")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_wrong_use_of_what_is_installed_is_found(self):
        bad = self.check("-c", BAD)
        self.assertEqual(bad.stdout.count("error:"), 4, bad.stdout)


if __name__ == "__main__":
    if subprocess.run([sys.executable, "-c", "import mypy"], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        print("skipped: there is no mypy, which is in Debian's package mypy")
        sys.exit(77)
    unittest.main()
