"""A relay in front of a memcached that alters what the server answers."""

import select
import socket
import threading


class LyingRelay:
    """Listens at `address` until it is closed.

    lie: bytes of an answer, as they came in one piece with the fence's answer
    behind -> bytes to pass on; None closes the connection instead.
    ends: what an answer ends with, until which it is held back.
    """

    def __init__(self, server, lie, ends=b"MN\r\n"):
        self._server = server
        self._lie = lie
        self._ends = ends
        self.pieces = []  # of the requests, as they came
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "%s:%d" % self._listener.getsockname()
        self._closing, self._closed = socket.socketpair()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self):
        self._closing.close()
        for thread in self._threads:
            thread.join()
        self._listener.close()
        self._closed.close()

    def _accept(self):
        while True:
            ready = select.select([self._listener, self._closed], [], [])[0]
            if self._closed in ready:
                return
            client = self._listener.accept()[0]
            thread = threading.Thread(target=self._relay, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _relay(self, client):
        answer = b""
        with client, socket.create_connection(self._server) as server:
            while True:
                ready = select.select([client, server, self._closed], [],
                                      [])[0]
                if self._closed in ready:
                    return
                if client in ready:
                    request = client.recv(65536)
                    if not request:
                        return
                    self.pieces.append(request)
                    server.sendall(request)
                if server in ready:
                    part = server.recv(65536)
                    answer += part
                    if not part or answer.endswith(self._ends):
                        altered = self._lie(answer)
                        if altered is None:
                            return
                        client.sendall(altered)
                        answer = b""
                    if not part:
                        return
