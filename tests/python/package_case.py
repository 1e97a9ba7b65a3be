"""What the tests of the Python package have in common: a cluster for each
class, and a client of it."""

import os
import sys
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "cli"))

# pylint: disable=wrong-import-position
import ers  # noqa: E402, after the path
from ctl_case import DEADLINE_S, CtlCase, random_bytes  # noqa: E402
from relay import Relay  # noqa: E402

__all__ = ["DEADLINE_S", "KiB", "MiB", "PackageCase", "RelayedCase", "TOP",
           "open_files", "random_bytes", "unittest"]

KiB, MiB = 1 << 10, 1 << 20


def open_files():
    """How many this process has open; connections are some."""
    return len(os.listdir("/proc/self/fd"))


# A server that a busy machine keeps silent is not dead.
PATIENT = {"connect_timeout": DEADLINE_S, "request_timeout": DEADLINE_S,
           "operation_timeout": 5 * DEADLINE_S}


class PackageCase(CtlCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = ers.Client(cls.servers, **PATIENT)
        cls.addClassCleanup(cls.client.close)

    def open(self, **options):
        """Another client, closed at the end of the test."""
        client = ers.Client(options.pop("servers", self.servers),
                            **{**PATIENT, **options})
        self.addCleanup(client.close)
        return client


class RelayedCase(PackageCase):
    """All that the library sends goes through a thread of this process, which
    the test can hold. Few servers, and time to show that nothing moves."""

    up = ("-n", "3")
    relayed = {"scheme": "rs:2,1", "request_timeout": DEADLINE_S,
               "operation_timeout": DEADLINE_S}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.relay = Relay(cls.servers)
        cls.addClassCleanup(cls.relay.stop)
        cls.relayed = {**cls.relayed, "servers": cls.relay.servers}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.relay.open_gate)
