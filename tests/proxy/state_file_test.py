"""A disk that takes no state file any more."""

import os
import subprocess
import time
import unittest

from daemon_case import DaemonCase
from proxy_case import random_bytes

KEYS = [b"k%d" % i for i in range(24)]


class NoRoomCase(DaemonCase):

    def check(self, folder, take, give):
        """take(): the folder has no room from then on; give(): it has."""
        file = os.path.join(folder, "view")
        daemon = self.start("--config",
                            self.config(f"state_file: {file}\n"))
        client = daemon.client()
        values = {key: random_bytes((100, 70_000)[i % 2], seed=i)
                  for i, key in enumerate(KEYS)}
        for key, value in values.items():
            self.assertEqual(client.set(key, value), b"STORED")
        take()
        self.serves(client, values)

        # The next change of the view.
        self.tool("kill", "2")
        refused = []
        for key, value in values.items():
            value = value[::-1]
            said = client.set(key, value)
            if said == b"STORED":
                values[key] = value
                continue
            self.assertRegex(said, b"^SERVER_ERROR ")
            refused.append(said)
        self.assertIn(file.encode(), b"".join(refused))
        # What needs no change is read, for longer than any lease lasts.
        readable = [key for key in values if self.reads(client, key, values)]
        self.assertTrue(readable)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for key in readable:
                self.assertTrue(self.reads(client, key, values), daemon.log())
        self.assertGreater(len(refused), 1)  # each was a try
        self.assertNotIn("is down", daemon.log())
        cannot = f"the state file {file} cannot be written"
        again = f"the state file {file} is written again"
        self.assertEqual(daemon.log().count(cannot), 1, daemon.log())
        self.assertNotIn(again, daemon.log())
        give()
        for key in values:
            values[key] = random_bytes(5000, seed=key)
            self.until(lambda k=key: client.set(k, values[k]) == b"STORED",
                       "it is tried again")
        self.serves(client, values)
        self.assertIn("is down", daemon.log())
        self.assertEqual(daemon.log().count(again), 1, daemon.log())
        self.assertEqual(daemon.log().count(cannot), 1, daemon.log())

    def reads(self, client, key, values):
        """False: it is refused."""
        value = values[key]
        client.socket.sendall(b"get %s\r\n" % key)
        said = client.file.readline()
        if said.startswith(b"SERVER_ERROR "):
            return False
        self.assertEqual(said, b"VALUE %s 0 %d\r\n" % (key, len(value)))
        self.assertEqual(client.file.read(len(value) + 7),
                         value + b"\r\nEND\r\n")
        return True

    def serves(self, client, values):
        for key, value in values.items():
            self.assertTrue(self.reads(client, key, values))
            self.assertEqual(client.set(key, value), b"STORED")


class FolderGoneTest(NoRoomCase):

    def test_all_goes_on_but_a_change_of_the_view(self):
        folder = self.path("state")
        os.mkdir(folder)

        def take():
            # Root may write into every folder, but not into a file.
            os.rename(folder, folder + ".away")
            self.write_file(folder)

        def give():
            os.remove(folder)
            os.rename(folder + ".away", folder)

        self.check(folder, take, give)

    @staticmethod
    def write_file(path):
        with open(path, "wb"):
            pass


class DiskFullTest(NoRoomCase):

    def test_all_goes_on_but_a_change_of_the_view(self):
        folder = self.path("disk")
        os.mkdir(folder)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        if mounted.returncode != 0:
            print(f"not run: no disk to backfill: {mounted.stderr.strip()}")
            self.skipTest("no tmpfs")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        backfiller = os.path.join(folder, "backfiller")

        def take():
            with open(backfiller, "wb", buffering=0) as file:
                with self.assertRaisesRegex(OSError, "No space"):
                    while True:
                        file.write(bytes(4096))

        self.check(folder, take, lambda: os.remove(backfiller))


if __name__ == "__main__":
    unittest.main()
