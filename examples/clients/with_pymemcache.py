"""pymemcache with an ersproxy: python3 with_pymemcache.py [HOST:PORT]"""
import sys

from pymemcache.client.base import PooledClient

host, port = (sys.argv[1:] or ["127.0.0.1:11311"])[0].rsplit(":", 1)
client = PooledClient(
    (host, int(port)),
    connect_timeout=2,  # seconds
    timeout=10,  # longer than the death of a server takes
    no_delay=True,
    max_pool_size=16)

client.set("photo", b"x" * 3_000_000, expire=3600, noreply=False)
print(len(client.get("photo")), "bytes")
