"""ersproxy --import: what twemproxy has stored is read, then managed as it is
set, and is handed back."""

import os
import subprocess
import unittest

from daemon_case import BAD_USAGE, DaemonCase
from old_proxies import Nutcracker, nutcracker_program, pool
from proxy_case import DEADLINE_S, ERSPROXY, Link, random_bytes
# pylint: disable=wrong-import-order
from ctl_case import DONE

VALUES = 500
SETTINGS = {
    "ketama": {"hash": "fnv1a_64", "distribution": "ketama",
               "hash_tag": '"{}"', "timeout": 5000,
               "auto_eject_hosts": "false", "server_retry_timeout": 2000},
    "modula": {"hash": "fnv1a_64", "distribution": "modula",
               "timeout": 5000, "client_connections": 64},
}


def key_of(number):
    return f"user:{{{number % 83}}}:{number}"


def value_of(number):
    return random_bytes(number * 37 % 20000, seed=number)


@unittest.skipUnless(nutcracker_program(), "nutcracker is not installed")
class ImportTest(DaemonCase):

    def settings(self, old):
        """What --import prints, as a file."""
        done = self.run_proxy("--import", old.config)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stdout
        return self.write(done.stdout)

    def check_all(self, address, version=0):
        with Link(address) as link:
            for number in range(VALUES):
                got = link.get_many(key_of(number))
                self.assertEqual(
                    got.get(key_of(number)),
                    (value_of(number + version), number % 100, None),
                    key_of(number))

    def set_all(self, address, version=0):
        with Link(address) as link:
            for number in range(VALUES):
                self.assertEqual(
                    link.set(key_of(number), value_of(number + version),
                             flags=number % 100), b"STORED")

    def move_in_and_back(self, name):
        listener = os.path.join(self.work, "listener")
        servers = [f"{server}:1" for server in self.servers.split(",")]
        text = pool(name, listener, servers, **SETTINGS[name])
        old = Nutcracker(os.path.join(self.work, "old"), text)
        self.addCleanup(old.stop)
        old.wait_for(listener)
        self.set_all(listener)
        old.stop()

        daemon = self.start("--config", self.settings(old))
        self.assertEqual(daemon.addresses[0], listener)
        self.check_all(listener)
        self.assertIn("not one of this library",
                      self.run_ctl("stat", key_of(1)).stderr.decode())
        # Managed as they are set.
        self.set_all(listener, version=1)
        self.check_all(listener, version=1)
        self.assertEqual(len(self.ctl("ls").splitlines()), VALUES)
        self.assertEqual(self.ctl_json("stat", key_of(1))["length"],
                         len(value_of(2)))
        # And back: the old proxy finds all of it where it looks.
        # (Where a busy machine kept a server silent, it is in sync again soon.)
        self.until(lambda: self.run_ctl("export", "--all").returncode == DONE,
                   "all objects are plain items")
        self.assertEqual(self.ctl("ls"), b"")
        self.check_all(listener, version=1)
        daemon.stop()
        again = Nutcracker(os.path.join(self.work, "again"), text)
        self.addCleanup(again.stop)
        again.wait_for(listener)
        self.check_all(listener, version=1)


class KetamaTest(ImportTest):

    def test_a_pool_of_ketama_with_fnv1a_64_moves_in_and_back(self):
        self.move_in_and_back("ketama")
        self.assertIn("server_retry_timeout: ", self.said)
        self.assertIn("request_ms: 5000", self.said)


class ModulaTest(ImportTest):

    def test_a_pool_of_modula_moves_in_and_back(self):
        self.move_in_and_back("modula")
        self.assertIn("max_connections: 64", self.said)


class RefusalTest(unittest.TestCase):

    def test_what_cannot_be_imported_says_why(self):
        for words, why in ((["--import", "/nowhere"], "cannot be read"),
                           (["--import", os.devnull], "cannot be read"),
                           (["--import", __file__], __file__)):
            done = subprocess.run(
                [ERSPROXY, *words], capture_output=True, text=True,
                stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, BAD_USAGE)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.stdout, "")


del ImportTest

if __name__ == "__main__":
    unittest.main()
