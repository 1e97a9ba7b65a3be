"""Holds links to what they should carry, by a transfer over each."""

import dataclasses
import os
import time

from testbed import bed

TRANSFER = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                        "transfer.py")
TOLERANCE = 0.1
# From here on processors may be what is too slow: rows say so.
FAST_MBIT = 10_000
# What one machine can carry over all of its links at once, to be on the safe
# side: transfers beyond it go one after the other.
TOGETHER_MBIT = 2000
BUSY = 0.8
# A transfer that others on the machine disturb says nothing of the link: the
# best of so many counts, with so long in between.
TRIES = 8
PAUSE_S = 0.5
QUEUED_S = 0.05  # of a link's rate, at the sender


@dataclasses.dataclass(frozen=True)
class Measured:
    mbit: list  # of each link
    busy: float  # share of the processors' time


def words_of(node, *words):
    with open(TRANSFER, encoding="utf-8") as file:
        return node.command("python3", "-c", file.read(), *words)


@dataclasses.dataclass(frozen=True)
class Way:
    """Where bytes go from and to. One of the two listens; `lead` says by which
    address and port the other one reaches it, from its own port."""

    source: object
    to: object
    lead: object = None  # None: its address and that port
    source_listens: bool = False


def transfer(ways, seconds, mbit):
    """Mbit/s of each, all at once."""
    last = [str(seconds),
            str(min(max(int(mbit * 1e6 / 8 * QUEUED_S), 32 << 10), 4 << 20))]
    running, receivers = [], []
    try:
        for way in ways:
            node, what = ((way.source, "send") if way.source_listens
                          else (way.to, "receive"))
            running.append(bed.Ending(words_of(node, "listen", what,
                                               node.address, *last)))
        for way, listening in zip(ways, list(running)):
            node, far, what = ((way.to, way.source, "receive")
                               if way.source_listens
                               else (way.source, way.to, "send"))
            port = listening.line()
            address, port = (far.address, port) if way.lead is None else (
                way.lead(port))
            running.append(bed.Ending(words_of(node, "connect", what, address,
                                               str(port), *last)))
            receivers.append(running[-1] if way.source_listens else listening)
        rates = []
        for receiver in receivers:
            count, taken = receiver.line().split()
            if float(taken) <= 0:
                raise bed.BedError("a link carried nothing")
            rates.append(int(count) * 8 / 1e6 / float(taken))
        return rates
    finally:
        for process in running:
            process.end()


def ring(nodes):
    """Each node sends to the next one, so that each link carries something each
    way."""
    return [Way(node, to)
            for node, to in zip(nodes, nodes[1:] + nodes[:1])]


def measure(ways, mbit):
    together = max(1, int(TOGETHER_MBIT / mbit))
    # Long enough for more than a burst, and to be no more than a moment.
    seconds = 0.4 if mbit >= 100 else 1 if mbit >= 10 else 4
    best = [0.0] * len(ways)
    spent = idle = 0
    for tried in range(TRIES):
        slow = [i for i, rate in enumerate(best)
                if rate < mbit * (1 - TOLERANCE)]
        if not slow:
            break
        if tried > 0:
            # For the others to be done: no event comes when they are.
            time.sleep(PAUSE_S)
        all_before, idle_before = bed.cpu_times()
        for begin in range(0, len(slow), together):
            some = slow[begin:begin + together]
            rates = transfer([ways[i] for i in some], seconds, mbit)
            for i, rate in zip(some, rates):
                best[i] = max(best[i], rate)
        all_after, idle_after = bed.cpu_times()
        spent += all_after - all_before
        idle += idle_after - idle_before
    return Measured(best, 1 - idle / max(spent, 1))


def hold(measured, mbit):
    """(Mbit/s of the link that is farthest off below, yes/no/None: limited by
    processors). A BedError names what is off."""
    slowest, fastest = min(measured.mbit), max(measured.mbit)
    if fastest > mbit * (1 + TOLERANCE):
        raise bed.BedError(f"a link of {mbit:g} Mbit/s carries {fastest:.4g}: "
                           "it is not shaped, so nothing was measured")
    short = slowest < mbit * (1 - TOLERANCE)
    if mbit >= FAST_MBIT:
        if short and measured.busy < BUSY:
            raise bed.BedError(
                f"a link of {mbit:g} Mbit/s carries {slowest:.4g}, though "
                f"processors are idle for {1 - measured.busy:.0%}")
        return slowest, "yes" if short else "no"
    if short:
        raise bed.BedError(
            f"a link of {mbit:g} Mbit/s carries {slowest:.4g} (processors busy "
            f"for {measured.busy:.0%}): too little to measure on; try again when "
            "the machine has less to do")
    return slowest, None
