"""The cases against an ersproxy, and the list of differences in its document.

ERSPROXY names the program. A cluster of real memcached processes is started
for the proxy, another memcached is the reference.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import allowed  # pylint: disable=wrong-import-position
import case_file  # pylint: disable=wrong-import-position

CLUSTER = os.path.join(TOP, "memcached-cluster", "cluster")
ERSPROXY = os.environ.get(
    "ERSPROXY", os.path.join(TOP, "build", "release", "bin", "ersproxy"))
# The longest value that memcached takes under keys as long as the cases' is
# this much shorter than its limit for items.
ITEM_MAX = 1 << 20
ITEM_OVERHEAD = 69
DEADLINE_S = 300


class ProxyTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="conformance-proxy-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        cluster = os.path.join(folder, "cluster")
        self.addCleanup(self.tool, cluster, "down")
        self.tool(cluster, "up", "-n", "6")
        servers = self.tool(cluster, "env").strip().partition("=")[2]
        port_file = os.path.join(folder, "port")
        # A server that a busy machine keeps silent for a while is not dead.
        settings = os.path.join(folder, "settings.yaml")
        with open(settings, "w", encoding="ascii") as file:
            file.write("timeouts: {connect_ms: 25000, request_ms: 25000}\n")
        proxy = subprocess.Popen(  # pylint: disable=consider-using-with
            [ERSPROXY, "--listen", "127.0.0.1:0", "--servers", servers,
             "--max-value", str(ITEM_MAX - ITEM_OVERHEAD),
             "--port-file", port_file, "--config", settings],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(proxy.stderr.close)
        self.addCleanup(proxy.wait, 60)
        self.addCleanup(proxy.terminate)
        deadline = time.monotonic() + 60
        while not os.path.exists(port_file):
            self.assertIsNone(proxy.poll(), "ersproxy ended")
            self.assertLess(time.monotonic(), deadline)
            # A file that appears causes no event: try again soon.
            time.sleep(0.02)
        with open(port_file, encoding="ascii") as file:
            self.address = file.read().strip()

    def tool(self, cluster, *words):
        result = subprocess.run(
            [sys.executable, CLUSTER, "--dir", cluster, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_answers_as_memcached_but_for_what_is_listed(self):
        result = subprocess.run(
            [os.path.join(HERE, "run"), "--reference", "memcached",
             "--target", self.address, "--timeout", "30"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, 0,
                         result.stdout[-4000:] + result.stderr)


    def test_answers_pipelines_drawn_at_random_as_memcached(self):
        result = subprocess.run(
            [os.path.join(HERE, "run"), "--reference", "memcached",
             "--target", self.address, "--timeout", "30", "--random", "900"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, 0,
                         result.stdout[-4000:] + result.stderr)


class DocumentTest(unittest.TestCase):

    def text(self):
        with open(os.path.join(TOP, "docs", "reference", "protocol.md"),
                  encoding="utf-8") as file:
            return file.read()

    def test_the_number_of_cases_is_in_the_document(self):
        count = len(case_file.read_all())
        self.assertIn(f" the same {count} things", self.text())

    def test_the_list_is_in_the_document(self):
        text = self.text()
        listed = [str(entry) for entry in allowed.read()]
        documented = [line for line in text.splitlines()
                      if line.startswith("| ") and "/" in line.split(" ")[1]
                      and "| * |" in line]
        self.assertEqual(documented, listed)


if __name__ == "__main__":
    unittest.main()
