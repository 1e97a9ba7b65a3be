"""A server dies, and returns, while all are full and evict nothing."""

import unittest

from jobs_case import Api
from proxy_case import ProxyCase

MEMORY_MB = 12
REFUSED = 200
# Of about the size of the view's record, and of that of the processes.
LENGTHS = (1000, 200)


class FullTest(ProxyCase):
    up = ("-n", "6", "--memory", str(MEMORY_MB), "--item-max", "1",
          "--no-evict")
    options = ("--admin", ":0")

    def fill(self, length):
        """Sets until none has found room for long; the keys that were set."""
        link, stored, refused, number = self.link(), [], 0, 0
        while refused < REFUSED:
            batch = [f"f{length}.{number + i}" for i in range(100)]
            number += len(batch)
            link.send(b"".join(
                f"set {key} 0 0 {length}\r\n{'x' * length}\r\n".encode()
                for key in batch))
            said = [link.line() for _ in batch]
            stored += [k for k, one in zip(batch, said) if one == b"STORED"]
            refused += sum(one != b"STORED" for one in said)
        return stored

    def states(self):
        status = Api(self.proxy.addresses[-1]).ask("GET", "/status")[1]
        return {server["state"] for server in status["servers"]}

    def test_a_death_and_a_return(self):
        stored = {length: self.fill(length) for length in LENGTHS}
        self.tool("kill", "3")
        link = self.link()
        for length, keys in stored.items():
            for key in keys[::max(1, len(keys) // 100)]:
                self.same(link.get(key), b"x" * length, key)
        self.assertEqual(link.ask(f"delete {stored[1000][0]}".encode()),
                         b"DELETED")
        self.tool("start", "3")
        self.until(lambda: "down" not in self.states(), "it is back")
        self.assertEqual(self.link().ask(
            f"delete {stored[1000][1]}".encode()), b"DELETED")
        for key in stored[200][:100]:
            self.same(self.link().get(key), b"x" * 200, key)


if __name__ == "__main__":
    unittest.main()
