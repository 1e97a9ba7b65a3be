"""What the tests of the daemon have in common: for each class a cluster of
real memcached processes and an ersproxy before it, and sockets to both.

The build's program is named by the environment, ERSPROXY; ERS_SANITIZE is set
where sanitizers are built in.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "cli"))
# pylint: disable=wrong-import-position
from ctl_case import (CtlCase, DEADLINE_S, SANITIZED, TOP, block_keys,
                      random_bytes)

ERSPROXY = os.environ.get(
    "ERSPROXY", os.path.join(TOP, "build", "release", "bin", "ersproxy"))

KIB, MIB = 1 << 10, 1 << 20
# A server that a busy machine keeps silent is not dead: it counts as dead after
# a tenth of this, twice, where its usual replies are known.
PATIENT = "timeouts: {connect_ms: 25000, request_ms: 25000}\n"
# Whatever the scheme, so that tests can say what is in blocks.
USUAL = PATIENT + "inline_below: 4096\n"
# Around the inline limit, the length of a streamed value and a group.
SIZES = sorted({0, 1, 2, 100, 8 * MIB} | {
    edge + by for edge in (4096, 65536, MIB, 8 * MIB) for by in (-1, 0, 1)
    if edge + by <= 8 * MIB})


def split_address(address):
    host, port = address.rsplit(":", 1)
    return host.strip("[]"), int(port)


class Link:
    """One client's connection; every wait has a deadline."""

    def __init__(self, address, receive_bytes=None):
        """address: host:port, [IPv6]:port or a path.

        receive_bytes: the kernel's buffer for what is not read yet."""
        if address.startswith("/"):
            self.socket, to = socket.socket(socket.AF_UNIX), address
        else:
            to = split_address(address)
            family = socket.AF_INET6 if ":" in to[0] else socket.AF_INET
            self.socket = socket.socket(family)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                   receive_bytes)
        self.socket.settimeout(DEADLINE_S)
        self.rest = bytearray()
        try:
            self.socket.connect(to)
        except OSError:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def wait_for_answer(self):
        """Until its first byte is here, and without taking it."""
        self.socket.recv(1, socket.MSG_PEEK)

    def _more(self):
        part = self.socket.recv(MIB)
        self.rest += part
        return bool(part)

    def read(self, count):
        """count bytes, fewer where the connection ends before."""
        while len(self.rest) < count and self._more():
            pass
        data = bytes(self.rest[:count])
        del self.rest[:count]
        return data

    def line(self):
        """A line without its CRLF; None at the end of the connection."""
        while (end := self.rest.find(b"\r\n")) < 0:
            if not self._more():
                return None
        data = bytes(self.rest[:end])
        del self.rest[:end + 2]
        return data

    def until(self, end):
        """What comes up to `end`, with it."""
        while (at := self.rest.find(end)) < 0 and self._more():
            pass
        return self.read(len(self.rest) if at < 0 else at + len(end))

    def read_all(self):
        """Whatever comes until the connection ends, also by a reset."""
        try:
            while self._more():
                pass
        except ConnectionResetError:
            pass
        data, self.rest = bytes(self.rest), bytearray()
        return data

    def ask(self, request):
        self.send(request + b"\r\n")
        return self.line()

    def lines(self, request, last=b"END"):
        """The lines of the answer up to `last`."""
        self.send(request + b"\r\n")
        got = []
        while (line := self.line()) not in (last, None):
            got.append(line)
        return got

    def store(self, verb, key, value, flags=0, exptime=0, more=""):
        self.send(f"{verb} {key} {flags} {exptime} {len(value)}{more}\r\n"
                  .encode() + value + b"\r\n")
        return self.line()

    def set(self, key, value, **options):
        return self.store("set", key, value, **options)

    def values(self):
        """Reads the answer of a get: {key: (value, flags, cas or None)}."""
        got = {}
        while (line := self.line()) != b"END":
            if line is None or not line.startswith(b"VALUE "):
                raise AssertionError(f"no answer of a get: {line}")
            _, key, flags, count, *cas = line.split()
            value = self.read(int(count))
            if self.read(2) != b"\r\n":
                raise AssertionError("a value without its end")
            got[key.decode()] = (value, int(flags),
                                 int(cas[0]) if cas else None)
        return got

    def get_many(self, *keys, verb="get"):
        self.send(f"{verb} {' '.join(keys)}\r\n".encode())
        return self.values()

    def get(self, key):
        """The value; None if there is none."""
        return self.get_many(key).get(key, (None,))[0]

    def stats(self, words=""):
        lines = self.lines(b"stats " + words.encode() if words else b"stats")
        return dict(line.decode().split(" ", 2)[1:] for line in lines)


class Proxy:
    """A running ersproxy: with USUAL settings, unless it has its own."""

    def __init__(self, folder, servers, *options, listen=("127.0.0.1:0",),
                 env=None):
        os.makedirs(folder)
        if "--config" not in options:
            settings = os.path.join(folder, "ersproxy.yaml")
            with open(settings, "w", encoding="ascii") as file:
                file.write(USUAL)
            options += ("--config", settings)
        port_file = os.path.join(folder, "port")
        notify = os.path.join(folder, "notify")
        self.log = os.path.join(folder, "log")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, \
                open(self.log, "wb") as log:
            ready.bind(notify)
            words = [word for address in listen
                     for word in ("--listen", address)]
            self.process = subprocess.Popen(
                [ERSPROXY, *words, "--servers", servers,
                 "--port-file", port_file, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **(env or {}), "NOTIFY_SOCKET": notify})
            pidfd = os.pidfd_open(self.process.pid)
            found = select.select([ready, pidfd], [], [], DEADLINE_S)[0]
            os.close(pidfd)
        if pidfd in found or not found:
            self.kill()
            raise RuntimeError(f"ersproxy has not started: {self.said()}")
        with open(port_file, encoding="ascii") as file:
            self.addresses = file.read().split()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def memory(self, name="VmRSS"):
        """Of /proc/PID/status, in bytes."""
        with open(f"/proc/{self.process.pid}/status",
                  encoding="ascii") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * KIB
        raise KeyError(name)

    def forget_peak(self):
        """VmHWM begins anew at what is used now."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w",
                  encoding="ascii") as file:
            file.write("5")

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        return self.process.wait(DEADLINE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Polls:
    """For test cases."""

    def until(self, condition, what):
        """Polls what another process will bring about."""
        end = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), end, f"never: {what}")
            # Between two checks of what sends no event: the condition decides.
            time.sleep(0.01)


class ProxyCase(Polls, CtlCase):
    """A cluster and a proxy for the class; a test that kills needs its own
    class."""

    options = ()      # further words for ersproxy
    listen = ("127.0.0.1:0",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = cls.start_proxy("proxy", *cls.options, listen=cls.listen)
        cls.address = cls.proxy.addresses[0]

    @classmethod
    def start_proxy(cls, name, *options, **more):
        proxy = Proxy(os.path.join(cls.folder, name), cls.servers, *options,
                      **more)
        cls.addClassCleanup(proxy.kill)
        return proxy

    def link(self, address=None, **options):
        link = Link(address or self.address, **options)
        self.addCleanup(link.socket.close)
        return link

    def server_link(self, number):
        """A connection to memcached `number`, from 1."""
        return self.link(self.servers.split(",")[number - 1])

    def blocks(self):
        """{(server, key)} of the blocks that can be read: memcached counts
        what has ended until a request comes across it, but does not list
        it."""
        return {(server, key) for server in self.servers.split(",")
                for key in block_keys(server)}

    def same(self, got, wanted, about=""):
        """As assertEqual, without printing megabytes."""
        if got != wanted:
            self.fail(f"{about}: {short(got)} in place of {short(wanted)}")


def short(value):
    return value if value is None or len(value) < 60 else (
        f"{len(value)} bytes {value[:20]}...{value[-20:]}")
