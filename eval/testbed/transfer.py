"""What a link carries, by sending bytes over it.

Run as a program, it is one end: `receive ADDRESS PORT` (0: any) prints its port, then bytes and
seconds; `send ADDRESS PORT SECONDS BUFFER` sends. That text is also what remote
machines run, so it needs nothing but Python.
"""

import socket
import sys
import time

CHUNK = 1 << 18


def receive(address, port):
    with socket.create_server((address, port)) as listening:
        print(listening.getsockname()[1], flush=True)
        peer, _ = listening.accept()
    buffer = bytearray(CHUNK)
    got = 0
    with peer:
        first = last = None
        while count := peer.recv_into(buffer):
            last = time.monotonic()
            if first is None:
                # What had come by then took its time before.
                first = last
            else:
                got += count
    print(got, last - first if got else 0, flush=True)


def send(address, port, seconds, buffer):
    """No more than the buffer is on its way when the time is over."""
    chunk = bytes(CHUNK)
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        peer.connect((address, port))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            peer.send(chunk)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2], int(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]),
             int(sys.argv[5]))
