"""Stores plain items anew through an ersproxy, so that they are objects again:
python3 store_again.py [HOST:PORT] < KEYS

KEYS has a key at the start of each line, as `ersctl ls` prints them. Flags and
the time of the end stay. No client may write meanwhile: a plain item has no CAS
by which the proxy could tell."""
import collections
import socket
import sys
import time

MONTH_S = 30 * 86400  # more is a time, not a life


def ask(link, answers, line, body=None):
    link.sendall(line + b"\r\n" + (b"" if body is None else body + b"\r\n"))
    words = answers.readline().split()
    if not words:
        sys.exit("store_again: the connection was closed")
    return words


def store_again(link, answers, key):
    """What became of it."""
    words = ask(link, answers, b"mg %s v f t" % key)
    if words[0] == b"EN":
        return "gone"
    if words[0] != b"VA":
        return "refused: " + b" ".join(words).decode()
    value = answers.read(int(words[1]) + 2)[:-2]
    known = {word[:1]: word[1:] for word in words[2:]}
    end = int(known[b"t"])
    end = 0 if end < 0 else max(end, 1)  # -1 and 0: never
    if end > MONTH_S:
        end += int(time.time())
    words = ask(link, answers, b"ms %s %d F%s T%d" % (
        key, len(value), known[b"f"], end), value)
    return ("stored" if words[0] == b"HD" else
            "refused: " + b" ".join(words).decode())


def main():
    host, port = (sys.argv[1:] or ["127.0.0.1:11311"])[0].rsplit(":", 1)
    counts = collections.Counter()
    with socket.create_connection((host, int(port))) as link:
        answers = link.makefile("rb")
        for line in sys.stdin.buffer:
            if not line.strip():
                continue
            key = line.split()[0]
            what = store_again(link, answers, key)
            counts[what.split(":")[0]] += 1
            if what.startswith("refused"):
                print(f"{key.decode()}: {what}", file=sys.stderr)
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    sys.exit(1 if counts["refused"] else 0)


main()
