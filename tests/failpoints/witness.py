"""The other end of send_watch.cc: sees every message before it is sent, and
holds a process at the one that a test waits for."""

import os
import socket
import struct
import threading

DEADLINE_S = 60


class Point:
    """The n-th message of a step; the process stands still before it."""

    def __init__(self, wanted, nth):
        self.wanted, self.left = wanted, nth
        self.message = None  # (step, verb, server, key)
        self.pid = None
        self.reached = threading.Event()
        self._go = threading.Event()

    def let_go(self):
        """Lets the process go on."""
        self._go.set()

    def wait_for_go(self):
        self._go.wait(DEADLINE_S)


class Witness:
    """Listens for processes whose environment has `variables`."""

    def __init__(self, path):
        self.variables = {"ERS_SEND_WATCH": path}
        self.names = []   # of all steps, in order
        self._lock = threading.Lock()
        self._seen = []
        self._point = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # A thread in accept() wakes up only so.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def trace(self):
        """What was sent since the last call: [(pid, step, verb, server, key)].
        """
        with self._lock:
            seen, self._seen = self._seen, []
        return seen

    def stop_at(self, step, nth, wanted=lambda pid: True):
        """A Point: the nth message of the step of a process whose pid is
        wanted. One at a time."""
        point = Point(lambda pid, of: of == step and wanted(pid), nth)
        with self._lock:
            self._point = point
        return point

    def forget(self, point):
        """False where it was reached meanwhile."""
        with self._lock:
            if self._point is point:
                self._point = None
                return True
            return False

    def _accept(self):
        while True:
            try:
                link = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._answer, args=(link,),
                             daemon=True).start()

    def _answer(self, link):
        pid = struct.unpack("3i", link.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        with link:
            names = link.recv(65536).decode().split()
            with self._lock:
                self.names = names
            try:
                link.send(b".")
                while line := link.recv(4096):
                    self._take(link, pid, line)
            except OSError:
                pass  # it was killed

    def _take(self, link, pid, line):
        message = tuple(os.fsdecode(line).split(" ", 3))
        with self._lock:
            self._seen.append((pid, *message))
            point = self._point
            if point and point.wanted(pid, message[0]):
                point.left -= 1
            if not point or point.left > 0:
                point = None
            else:
                self._point = None
        if point is None:
            link.send(b".")
            return
        link.send(b"h")
        link.recv(4096)  # "held"
        point.message, point.pid = message, pid
        point.reached.set()
        point.wait_for_go()
        link.send(b".")
