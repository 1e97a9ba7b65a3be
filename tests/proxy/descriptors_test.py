"""As few file descriptors as there may be: clients beyond are turned away at
once, and servers and the admin port are reached."""

import json
import os
import resource
import unittest
import urllib.request

from proxy_case import DEADLINE_S, ProxyCase, random_bytes

ALLOWED = 200
CLIENTS = 300
TURNED_AWAY = b"ERROR Too many open connections"


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class FewDescriptorsTest(ProxyCase):
    options = ("--threads", "4", "--admin", "127.0.0.1:0")

    def ask(self):
        """Of a new client: is it served? If not, it is answered so at once."""
        link = self.link()
        try:
            answer = link.ask(b"mn")
        except (BrokenPipeError, ConnectionResetError):
            answer = None  # the words were lost with the connection
        if answer == b"MN":
            return True
        self.assertIn(answer, (TURNED_AWAY, None))
        link.socket.close()
        return False

    def states(self):
        with urllib.request.urlopen(
                f"http://{self.proxy.addresses[1]}/status",
                timeout=DEADLINE_S) as answer:
            servers = json.loads(answer.read())["servers"]
        return [server["state"] for server in servers]

    def test_clients_beyond_are_turned_away_and_servers_are_reached(self):
        value = random_bytes(300_000, seed=1)
        first = self.link()
        self.assertEqual(first.set("k", value), b"STORED")
        # Also root's process may not have more.
        resource.prlimit(self.proxy.process.pid, resource.RLIMIT_NOFILE,
                         (ALLOWED, ALLOWED))
        served = sum(self.ask() for _ in range(CLIENTS))
        self.assertGreater(served, ALLOWED // 5)
        self.assertLess(served, ALLOWED)
        self.assertEqual(int(first.stats()["rejected_connections"]),
                         CLIENTS - served)
        # Each thread has to connect anew, and jobs to find what is lost.
        self.tool("kill", "1")
        self.assertEqual(first.set("other", value), b"STORED")
        self.until(lambda: "down" in self.states(), "it is missed")
        self.tool("start", "1")
        self.until(lambda: set(self.states()) == {"in_sync"}, "all are in sync")
        self.same(first.get("k"), value)
        # No request comes, and next to nothing is done.
        before = processor_seconds(self.proxy.process.pid)
        first.socket.settimeout(1)
        with self.assertRaises(TimeoutError):
            first.socket.recv(1)
        self.assertLess(
            processor_seconds(self.proxy.process.pid) - before, 0.5)


if __name__ == "__main__":
    unittest.main()
