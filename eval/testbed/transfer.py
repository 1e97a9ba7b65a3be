"""What a link carries, by sending bytes over it.

Run as a program, it is one end of a connection:

    listen send|receive ADDRESS SECONDS BUFFER        prints its port first
    connect send|receive ADDRESS PORT SECONDS BUFFER

The receiver prints bytes and seconds. This very text is what remote machines
run, so it needs nothing but Python.
"""

import socket
import sys
import time

CHUNK = 1 << 18


def receive(peer):
    buffer = bytearray(CHUNK)
    got = 0
    first = last = None
    while count := peer.recv_into(buffer):
        last = time.monotonic()
        if first is None:
            # What had come by then took its time before.
            first = last
        else:
            got += count
    print(got, last - first if got else 0, flush=True)


def send(peer, seconds, buffer):
    """No more than the buffer is on its way when the time is over."""
    chunk = bytes(CHUNK)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        peer.send(chunk)


def main(how, what, address, *numbers):
    *port, seconds, buffer = numbers
    if how == "listen":
        with socket.create_server((address, 0)) as listening:
            print(listening.getsockname()[1], flush=True)
            peer, _ = listening.accept()
    else:
        peer = socket.create_connection((address, int(port[0])))
    with peer:
        if what == "send":
            send(peer, float(seconds), int(buffer))
        else:
            receive(peer)


if __name__ == "__main__":
    main(*sys.argv[1:])
