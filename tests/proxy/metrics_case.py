"""What the tests of /metrics have in common."""

import http.client
import struct

from daemon_case import DaemonCase
from proxy_case import DEADLINE_S
from metrics_text import Metrics

BINARY = struct.Struct(">BBHBBHIIQ")
NOOP = 0x0a


def frame(opcode, key=b"", extras=b"", value=b"", cas=0):
    """A request of the binary protocol."""
    return BINARY.pack(
        0x80, opcode, len(key), len(extras), 0, 0,
        len(key) + len(extras) + len(value), 0, cas) + extras + key + value


class MetricsCase(DaemonCase):

    def serve(self, *words, config=""):
        """A daemon with an admin port, which becomes self.admin.

        It collects no garbage beside what is counted."""
        config += "garbage: {every_s: 0}\n"
        daemon = self.start("--config", self.config(config),
                            "--admin", ":0", *words)
        self.admin = daemon.addresses[-1]
        return daemon

    def fetch(self, path):
        host, port = self.admin.rsplit(":", 1)
        link = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_S)
        try:
            link.request("GET", path)
            reply = link.getresponse()
            self.assertEqual(reply.status, 200)
            return reply.read().decode()
        finally:
            link.close()

    def metrics(self):
        return Metrics(self.fetch("/metrics"))

    def ask(self, client, request):
        """Until all of it is answered; returns the lines of the answer."""
        client.socket.sendall(request + b"mn\r\n")
        lines = []
        while (line := client.file.readline()) != b"MN\r\n":
            self.assertNotEqual(line, b"", lines)
            lines.append(line.rstrip(b"\r\n"))
        return lines

    def ask_binary(self, client, request):
        client.socket.sendall(request + frame(NOOP))
        opcode = None
        while opcode != NOOP:
            _, opcode, _, _, _, _, length, _, _ = BINARY.unpack(
                client.file.read(BINARY.size))
            client.file.read(length)
