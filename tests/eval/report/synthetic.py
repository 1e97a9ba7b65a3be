"""Rows that no machine made, for tests of what is made of rows."""

import os
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..",
                                    ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))

import rows  # noqa: E402, after the path

MIB = 1 << 20
BLOCKS = {"reencode": 45, "srs": 24, "ers1": 13, "ers2-paper": 12,
          "ers2-no-order": 15, "ers2-optimal": 12}
REPETITIONS = 5
PAPER_MBIT = 10000.0


class FixedAnalyser:
    """Counts of (4,1,5), without the program."""

    READS = {"srs": 20, "ers1": 9, "ers2-paper": 8, "ers2-optimal": 8}

    def reduction(self, _setting, scheme):
        return 100 * (1 - self.READS[scheme] / self.READS["srs"])


def row(**values):
    # What is not named is empty.
    given = dict.fromkeys(rows.COLUMNS)
    given.update({
        "time": "2026-01-01T00:00:00Z", "revision": "r1", "host": "a host",
        "seed": 1, "experiment": "exp4", "bed": "namespaces",
        "link_mbit": 200.0, "measured_mbit": 190.0, "tcp": "cubic",
        "threshold_bytes": 0,
        "k": 4, "m": 1, "k_to": 5, "servers": 6, "scheme": "srs",
        "operation": "forward", "object_bytes": MIB, "repetition": 0,
        "seconds": 0.1, "blocks_written": 0, "block_bytes": MIB // 20,
        "payload_in": 1000, "expected_in": 1000})
    given.update(values)
    if given["blocks_read"] is None:
        given["blocks_read"] = BLOCKS.get(given["scheme"])
    return rows.Row(**given)


def sample(seconds, **values):
    """Repetitions whose median these seconds are."""
    middle = REPETITIONS // 2
    return [row(seconds=seconds * (1 + 0.01 * (i - middle)), repetition=i,
                **values) for i in range(REPETITIONS)]


def transitions(times, **values):
    """Samples of {scheme: seconds} for both directions."""
    return [r for direction in ("forward", "backward")
            for scheme, seconds in times.items()
            for r in sample(seconds, scheme=scheme, operation=direction,
                            **values)]


GOOD = {"reencode": 0.2, "srs": 0.1, "ers1": 0.05, "ers2-paper": 0.04,
        "ers2-optimal": 0.04}


def everything():
    """Rows of all experiments."""
    found = transitions(GOOD, socket_in=MIB, socket_out=0,
                        interface_in=MIB, interface_out=0)
    found += transitions(GOOD, link_mbit=500.0)
    found += transitions(GOOD, experiment="exp2", link_mbit=PAPER_MBIT)
    found += transitions(GOOD, experiment="exp6", bed="cloud", link_mbit=None)
    for experiment in ("exp3", "exp7"):
        where = ({"bed": "cloud", "link_mbit": None} if experiment == "exp7"
                 else {"link_mbit": PAPER_MBIT})
        for size in (MIB, 4 * MIB):
            found += transitions(
                {name: seconds * size / MIB for name, seconds in GOOD.items()},
                experiment=experiment, object_bytes=size, **where)
    for scheme, seconds in (("ers2-no-order", 0.05), ("ers2-paper", 0.04)):
        found += sample(seconds, experiment="exp5", operation="backward",
                        scheme=scheme, link_mbit=PAPER_MBIT)
    for size in (MIB // 16, MIB):
        for mbit in (200.0, PAPER_MBIT):
            for operation in ("put", "get"):
                for scheme, factor in (("libmemcached-copies", 2.6), ("rep", 2),
                                       ("srs", 1.3), ("ers1", 1.3),
                                       ("ers2-optimal", 1.3)):
                    found += sample(factor * size / 1e8, experiment="exp1",
                                    operation=operation, scheme=scheme,
                                    object_bytes=size, link_mbit=mbit)
        for scheme, factor in (("rep", 4), ("ers2-optimal", 1.1)):
            found += sample(factor * size / 1e8, experiment="exp1-servers",
                            bed="server-links", operation="get", scheme=scheme,
                            object_bytes=size)
    return found
