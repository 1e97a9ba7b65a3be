"""One connection to a server: bytes out in pieces, answers in up to an end."""

import select
import socket
import time

import untaken

READ_BYTES = 1 << 18
# A server that does not read what was sent is not waited for longer.
TAKEN_S = 1.0
POLL_S = 0.00005
LONGEST_POLL_S = 0.02


class Link:
    """Sends and collects; what was read but not taken yet stays in `input`.

    timeout_s: how long one answer may take; running out of it is a result,
    not an exception.
    """

    def __init__(self, address, timeout_s):
        self._timeout_s = timeout_s
        self._socket = socket.create_connection(address, timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._untaken = untaken.Untaken(self._socket)
        self.input = b""
        self.closed = False

    def close(self):
        self._untaken.close()
        self._socket.close()

    def half_close(self):
        # What the server finds with its end, or before it, is the same each
        # time.
        self._wait_taken()
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.closed = True

    def send(self, pieces):
        """Each piece once the server has taken all before, so that what it
        finds in one read does not depend on chance.

        Reads meanwhile: a server that cannot send may stop reading.
        """
        for piece in pieces:
            self._wait_taken()
            self._send_one(memoryview(piece))

    def _send_one(self, piece):
        deadline = time.monotonic() + self._timeout_s
        while piece and time.monotonic() < deadline:
            readable, writable, _ = select.select(
                [] if self.closed else [self._socket], [self._socket], [],
                self._timeout_s)
            if readable:
                self._read()
            if writable:
                try:
                    piece = piece[self._socket.send(piece):]
                except BlockingIOError:
                    continue
                except OSError:
                    # It has closed; what it said before is still to be read.
                    return

    def _read(self):
        try:
            part = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self.input += part
        self.closed = not part

    def read_until(self, complete):
        """Until complete(input) is not None, which is how many bytes the
        answer has and how many to take; or until the server closes or the
        time is up. Returns (bytes, 'complete' | 'closed' | 'timeout')."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            found = complete(self.input)
            if found is not None:
                answer, taken = self.input[:found[0]], found[1]
                self.input = self.input[taken:]
                return answer, "complete"
            left = deadline - time.monotonic()
            # What came while this process was away is in time.
            ready = not self.closed and select.select(
                [self._socket], [], [], max(left, 0))[0]
            if ready:
                self._read()
            elif self.closed or left <= 0:
                answer, self.input = self.input, b""
                return answer, "closed" if self.closed else "timeout"

    def _wait_taken(self):
        """Until the server has read all that was sent: two pieces that lie in
        its socket at the same time would be one again."""
        left, last = TAKEN_S, time.monotonic()
        while self._untaken.any() and left > 0:
            # Where the machine stood still the server did, too.
            now = time.monotonic()
            left, last = left - min(now - last, LONGEST_POLL_S), now
            # The kernel shows how much lies there, but not when it changes.
            # Nor does a server read on whose answers are not taken.
            if select.select([] if self.closed else [self._socket], [], [],
                             POLL_S)[0]:
                self._read()
