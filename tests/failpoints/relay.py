"""A relay before a memcached, which strikes at one message."""

import re
import select
import socket
import threading
import time

# Behind a message, to learn that the server has applied it.
MARK = b"version\r\n"
MARKED = re.compile(rb"VERSION [^\r]*\r\n$")
# A listing has its connection for itself.
LISTING = b"lru_crawler"
LISTED = re.compile(rb"(END|BUSY[^\n]*|ERROR[^\n]*)\r\n$")
DEADLINE_S = 30


def apply(server, message):
    """Has a server do what a message says; what it answers, without the
    answer to the mark. Ends early where the server does."""
    listing = message.startswith(LISTING)
    ends = LISTED if listing else MARKED
    server.settimeout(DEADLINE_S)
    answer = b""
    try:
        server.sendall(message if listing else message + MARK)
        while not ends.search(answer):
            part = server.recv(1 << 18)
            if not part:
                break
            answer += part
    except OSError:
        pass  # it was killed
    server.settimeout(None)
    return answer if listing else MARKED.sub(b"", answer)


class Strike:
    """What becomes of a message and of its reply."""

    # "lose": applied; the connection breaks in place of the reply.
    # "delay": the reply comes later.
    # "late": the reply is held back until the process has given it up.
    # "again": the connection breaks before the message gets there; it is
    #          applied only when deliver() is called, over the old connection.
    def __init__(self, kind, verb, key, applied=lambda: None, seconds=0.0):
        """applied: called once the server has done it, before it is answered.
        """
        self.kind, self.applied, self.seconds = kind, applied, seconds
        self.begins = verb.encode() + (b"" if key == "-" else
                                       b" " + key.encode("utf-8",
                                                         "surrogateescape"))
        self.struck = threading.Event()  # as far as deliver() may be called
        self._late = None

    def keep(self, server, message):
        self._late = server, message

    def deliver(self):
        """Of "again"."""
        server, message = self._late
        with server:
            apply(server, message)

    def drop(self):
        """Of "again": it is lost for good."""
        self._late[0].close()

    def find(self, data):
        """Where the message begins in data; -1."""
        at = -1
        while (at := data.find(self.begins, at + 1)) >= 0:
            ends = data[at + len(self.begins):at + len(self.begins) + 1]
            if (at == 0 or data[at - 1:at] == b"\n") and ends in (b" ", b"\r"):
                return at
        return -1


def length_of(message):
    """How long the message is that these bytes begin with; None: not all of
    its line is here."""
    end = message.find(b"\r\n")
    if end < 0:
        return None
    words = message[:end].split()
    body = {b"ms": 2, b"cas": 4}.get(words[0])
    return end + 2 + (int(words[body]) + 2 if body else 0)


class Relay:
    """Listens at `address` until it is closed."""

    def __init__(self, server):
        self._server = server  # (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "%s:%d" % self._listener.getsockname()
        self._strike = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def lead_to(self, server):
        """New connections, to another (host, port)."""
        self._server = server

    def strike(self, strike):
        """At the next such message; None: not any more."""
        self._strike = strike

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,),
                             daemon=True).start()

    def _relay(self, client):
        with client:
            try:
                server = socket.create_connection(self._server)
            except OSError:
                return  # it is dead
            for link in (client, server):
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            kept = False
            try:
                kept = self._pass(client, server)
            except OSError:
                pass
            finally:
                if not kept:
                    server.close()

    def _pass(self, client, server):
        """True where the connection to the server is to stay."""
        while True:
            ready = select.select([client, server], [], [])[0]
            if server in ready:
                data = server.recv(1 << 18)
                if not data:
                    return False
                client.sendall(data)
            if client in ready:
                data = client.recv(1 << 18)
                if not data:
                    return False
                strike = self._strike
                at = strike.find(data) if strike else -1
                if at < 0:
                    server.sendall(data)
                    continue
                self._strike = None
                server.sendall(data[:at])
                if not self._struck(strike, client, server, data[at:]):
                    return strike.kind == "again"

    def _struck(self, strike, client, server, data):
        """True where the connections go on."""
        while (length := length_of(data)) is None or len(data) < length:
            more = client.recv(1 << 18)
            if not more:
                return False
            data += more
        message, rest = data[:length], data[length:]
        if strike.kind == "again":
            strike.keep(server, message)
            client.close()
            strike.struck.set()
            return False
        answer = apply(server, message)
        strike.applied()
        strike.struck.set()
        if strike.kind == "lose":
            return False
        if strike.kind == "late":
            while client.recv(1 << 18):
                pass
            return False
        time.sleep(strike.seconds)  # this is the fault
        client.sendall(answer)
        server.sendall(rest)
        return True
