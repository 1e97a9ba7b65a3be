"""What each operation should move, by the analyser's counts of blocks."""

import csv
import math
import subprocess

HEADER = 8  # bytes in front of each stored block (docs/reference/format.md)
PLANS = {"srs": ("srs", "optimal", "optimal"),
         "ers1": ("ers1", "paper", "paper"),
         "ers2-paper": ("ers2", "paper", "paper"),
         "ers2-no-order": ("ers2", "paper", "no-order"),
         "ers2-optimal": ("ers2", "optimal", "optimal")}


class Analyser:

    def __init__(self, program):
        self.program = program
        self.counted = {}

    def counts(self, k, m, k_to):
        """{(scheme, direction, variant): (reads, writes)}"""
        if (k, m, k_to) not in self.counted:
            output = subprocess.run(
                [self.program, "count", str(k), str(m), str(k_to), "--format",
                 "csv"], check=True, stdin=subprocess.DEVNULL,
                capture_output=True, text=True).stdout
            self.counted[k, m, k_to] = {
                (row["scheme"], row["direction"], row["variant"]):
                    (int(row["reads"]), int(row["writes"]))
                for row in csv.DictReader(output.splitlines())}
        return self.counted[k, m, k_to]

    def bytes(self, group, cell, operation):
        """(in, out) of blocks at the client's sockets; None: it has none, or
        none that are counted."""
        size = group.object_bytes
        if cell.scheme in ("rep", "libmemcached-copies"):
            return None, None
        if size < cell.threshold_bytes:
            return 0, 0
        if cell.scheme in ("rs", "reencode"):
            narrow = _Stripe(size, group.k, group.k, group.m)
            wide = _Stripe(size, group.k_to, group.k_to, group.m)
        else:
            blocks = math.lcm(group.k, group.k_to)
            narrow = _Stripe(size, blocks, group.k, group.m)
            wide = None
        if operation == "put":
            return 0, narrow.all
        if operation == "get":
            return narrow.data, 0
        if wide is not None:
            old, new = ((narrow, wide) if operation == "forward"
                        else (wide, narrow))
            return old.data, new.all
        scheme, *variants = PLANS[cell.scheme]
        variant = variants[operation == "backward"]
        reads, writes = self.counts(group.k, group.m, group.k_to)[
            scheme, operation, variant]
        return reads * narrow.block, writes * narrow.block


class _Stripe:
    """Bytes of a value in so many data blocks, coded k by k."""

    def __init__(self, size, blocks, k, m):
        payload = -(-size // blocks)
        self.block = payload + HEADER
        # Blocks of padding alone are not read.
        self.data = -(-size // payload) * self.block
        self.all = (blocks + m * blocks // k) * self.block
