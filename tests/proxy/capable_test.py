"""libmemcached's own list of what a memcached must do."""

import re
import subprocess
import unittest

from proxy_case import DEADLINE_S, ProxyCase, split_address


def passed(address):
    """The names of memccapable's tests that the server passes."""
    host, port = split_address(address)
    output = subprocess.run(
        ["memccapable", "-h", host, "-p", str(port), "-v",
         "-t", str(DEADLINE_S // 2)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=DEADLINE_S, check=False).stdout
    return set(re.findall(r"((?:ascii|binary) [a-z ]*?) *\[pass\]", output)), \
        output


class CapableTest(ProxyCase):
    up = ("-n", "7")  # one of them stays outside, as the measure

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = cls.servers.split(",")[6]

    @classmethod
    def start_proxy(cls, name, *options, **more):
        servers = cls.servers
        cls.servers = ",".join(servers.split(",")[:6])
        try:
            return super().start_proxy(name, *options, **more)
        finally:
            cls.servers = servers

    def test_all_that_a_plain_memcached_passes(self):
        wanted, _ = passed(self.plain)
        self.assertGreater(len(wanted), 50)
        got, output = passed(self.address)
        self.assertEqual(wanted - got, set(), output)


if __name__ == "__main__":
    unittest.main()
