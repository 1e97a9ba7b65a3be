#!/usr/bin/python3
"""pymemcache against a server; see clients_test.py for the contract."""

import sys

import pymemcache
from pymemcache.client.base import Client

PATTERN = bytes(range(251))


def value_of(size, version):
    """The same bytes in every client: no period of a power of two."""
    start = version % 251
    return (PATTERN * (size // 251 + 2))[start:start + size]


def need(condition, *what):
    if not condition:
        sys.exit(f"wrong: {what}")


def check(client, prefix, size, version):
    key = f"{prefix}{size}"
    first, second, third = (value_of(size, version + i) for i in range(3))
    need(client.set(key, first, noreply=False), "set", key)
    need(client.get(key) == first, "get", key)
    value, cas = client.gets(key)
    need(value == first, "gets", key)
    need(client.cas(key, second, cas, noreply=False) is True, "cas", key)
    need(client.cas(key, third, cas, noreply=False) is False, "old cas", key)
    need(client.get(key) == second, "get after cas", key)
    need(client.touch(key, 1000, noreply=False), "touch", key)
    need(client.get(key) == second, "get after touch", key)
    gone = f"{prefix}gone{size}"
    need(client.set(gone, third, noreply=False), "set", gone)
    need(client.delete(gone, noreply=False), "delete", gone)
    need(client.get(gone) is None, "get of a deleted key", gone)
    need(not client.delete(gone, noreply=False), "second delete", gone)
    return second


def main():
    address, prefix, *sizes = sys.argv[1:]
    host, port = address.rsplit(":", 1)
    client = Client((host, int(port)), timeout=60, connect_timeout=60)
    print("pymemcache", pymemcache.__version__, flush=True)
    version = 0
    while sys.stdin.readline():
        wanted = {f"{prefix}{size}": check(client, prefix, int(size), version)
                  for size in sizes}
        need(client.get_many([*wanted, prefix + "none"]) == wanted, "get_many")
        number = prefix + "n"
        need(client.set(number, b"40", noreply=False), "set", number)
        need(client.incr(number, 2) == 42, "incr")
        need(client.decr(number, 1) == 41, "decr")
        version += 1
        print("round", flush=True)


if __name__ == "__main__":
    main()
