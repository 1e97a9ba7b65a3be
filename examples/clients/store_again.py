"""Stores plain items anew through an ersproxy, so that they are objects again:
python3 store_again.py [--gone N] [HOST:PORT] < KEYS

KEYS has a key at the start of each line, as `ersctl ls` prints them. Flags and
the time of the end stay. No client may write meanwhile: a plain item has no CAS
by which the proxy could tell.

All keys are looked for first. Where more than N (0) are gone, nothing is
stored: a proxy with other servers, names, weights or placement than before
does not find them, and must not make objects of the others."""
import argparse
import base64
import collections
import socket
import sys
import time

ENCODED = b"base64:"
MONTH_S = 30 * 86400  # more is a time, not a life


def in_line(listed):
    """A key of KEYS as a line of the protocol has it, and flag b if that is
    base64. A word is sent as it is, for 250 bytes hold no long one encoded."""
    if not listed.startswith(ENCODED):
        return listed, b""
    encoded = listed[len(ENCODED):]
    key = base64.b64decode(encoded, validate=True)
    word = all(byte > 0x20 and byte != 0x7f for byte in key)
    return (key, b"") if word else (encoded, b" b")


def ask(link, answers, line, body=None):
    link.sendall(line + b"\r\n" + (b"" if body is None else body + b"\r\n"))
    words = answers.readline().split()
    if not words:
        sys.exit("store_again: the connection was closed")
    return words


def is_gone(link, answers, listed):
    return ask(link, answers, b"mg %s%s" % in_line(listed))[0] == b"EN"


def store_again(link, answers, listed):
    """What became of it."""
    key, flag = in_line(listed)
    words = ask(link, answers, b"mg %s%s v f t" % (key, flag))
    if words[0] == b"EN":
        return "gone"
    if words[0] != b"VA":
        return "refused: " + b" ".join(words).decode()
    value = answers.read(int(words[1]) + 2)[:-2]
    if len(value) != int(words[1]):
        sys.exit("store_again: the connection was closed amid a value")
    known = {word[:1]: word[1:] for word in words[2:]}
    end = int(known[b"t"])
    end = 0 if end < 0 else max(end, 1)  # -1 and 0: never
    if end > MONTH_S:
        end += int(time.time())
    words = ask(link, answers, b"ms %s %d%s F%s T%d" % (
        key, len(value), flag, known[b"f"], end), value)
    return ("stored" if words[0] == b"HD" else
            "refused: " + b" ".join(words).decode())


def tell(listed, what):
    print(f"{listed.decode(errors='replace')}: {what}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gone", type=int, default=0, metavar="N",
                        help="how many of the keys may be gone")
    parser.add_argument("address", nargs="?", default="127.0.0.1:11311")
    options = parser.parse_args()
    host, port = options.address.rsplit(":", 1)
    keys = [line.split()[0] for line in sys.stdin.buffer if line.strip()]
    counts = collections.Counter()
    with socket.create_connection((host, int(port))) as link:
        answers = link.makefile("rb")
        gone = [key for key in keys if is_gone(link, answers, key)]
        if len(gone) > options.gone:
            for key in gone:
                tell(key, "gone")
            sys.exit(f"store_again: {len(gone)} of {len(keys)} keys are gone, "
                     f"and --gone is {options.gone}: nothing was stored")
        for key in keys:
            what = store_again(link, answers, key)
            counts[what.split(":")[0]] += 1
            if what != "stored":
                tell(key, what)
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    sys.exit(1 if counts["refused"] or counts["gone"] > options.gone else 0)


main()
