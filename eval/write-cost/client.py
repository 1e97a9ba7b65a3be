"""Writes values through ersproxy, each with its time and the daemon's trace.

Run as a program: ADDRESS PORT; each line of standard input, "BYTES COUNT",
writes so many values of so many bytes, and answers with one line of JSON: a
list of the seconds of each step of each write, with "seconds", those that the
client saw. That text is also what other nodes run, so it needs nothing but
Python.
"""

import json
import os
import socket
import sys
import time


def write(connection, replies, key, value):
    request = b"ers trace set %s 0 0 %d\r\n" % (key, len(value))
    begin = time.monotonic()
    connection.sendall(request + value + b"\r\n")
    first = replies.readline()
    taken = time.monotonic() - begin
    if first != b"STORED\r\n":
        raise SystemExit(f"a write was answered by {first!r}")
    steps = {"seconds": taken}
    while (line := replies.readline()) != b"TRACED\r\n":
        if not line:
            raise SystemExit("ersproxy ended")
        _, name, text = line.decode().split()
        steps[name] = int(text.removesuffix("us")) / 1e6
    return steps


def main():
    connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    replies = connection.makefile("rb")
    for line in sys.stdin:
        size, count = map(int, line.split())
        # One value: what is written is no part of what is timed.
        value = os.urandom(size)
        print(json.dumps([write(connection, replies, b"key-%d" % (i % 8), value)
                          for i in range(count)]), flush=True)


if __name__ == "__main__":
    main()
