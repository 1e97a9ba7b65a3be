"""A thread that takes connections at a port of its own."""

import socket
import threading


class Accepting(threading.Thread):

    def __init__(self):
        super().__init__(daemon=True)
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = "%s:%d" % self.listening.getsockname()

    def serve(self, link):
        """A connection, on a thread of its own."""
        raise NotImplementedError

    def run(self):
        while True:
            try:
                link = self.listening.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(link,),
                             daemon=True).start()

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.join()
