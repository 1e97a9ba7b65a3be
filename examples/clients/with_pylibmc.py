"""pylibmc with an ersproxy: python3 with_pylibmc.py [HOST:PORT]"""
import sys

import pylibmc

address = (sys.argv[1:] or ["127.0.0.1:11311"])[0]
client = pylibmc.Client([address], binary=False, behaviors={
    "tcp_nodelay": True,
    "connect_timeout": 2000,  # milliseconds
    "send_timeout": 10_000_000,  # microseconds
    "receive_timeout": 10_000_000})

client.set("photo", b"x" * 3_000_000, time=3600)
print(len(client.get("photo")), "bytes")
