"""Rows of eval/rows.py, grouped into what may be compared.

A setting is all but the scheme: what was run over which links with which
parameters. Schemes are compared within one setting alone.
"""

import dataclasses
import statistics

CODED = ("srs", "ers1", "ers2-paper", "ers2-optimal", "rs")
COPIES = "rep"
PAPER_COPIES = "libmemcached-copies"  # the paper's: memcached's own clients
NAMES = {"rep": "copies by libers",
         "libmemcached-copies": "copies by libmemcached",
         "srs": "SRS", "ers1": "ERS-1", "ers2-paper": "ERS-2, paper's plan",
         "ers2-no-order": "ERS-2, no order selection",
         "ers2-optimal": "ERS-2, optimal plan", "reencode": "full re-encode",
         "rs": "plain RS"}
BED_NAMES = {"namespaces": "links of network namespaces",
             "server-links": "such links, of servers alone",
             "unshaped": "loopback, unshaped", "cloud": "links as in a cloud",
             "hosts": "separate machines"}
KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass(frozen=True)
class Setting:
    experiment: str
    bed: str
    link_mbit: float | None
    operation: str
    object_bytes: int
    m: int
    # None for copies, which have no width.
    k: int | None
    k_to: int | None
    threshold_bytes: int
    tcp: str | None  # None: not known

    def parameters(self):
        return (self.k, self.m, self.k_to)

    def sort_key(self):
        return (self.experiment, self.bed, self.operation,
                (self.k or 0, self.m, self.k_to or 0), self.object_bytes,
                self.link_mbit or float("inf"), self.threshold_bytes)

    def __str__(self):
        words = [self.operation, size(self.object_bytes)]
        if self.k is not None:
            words.append(label(self.parameters()))
        words.append(self.links())
        return ", ".join(words)

    def links(self):
        return links(self.bed, self.link_mbit)


class Sample:
    """What one scheme did in one setting."""

    def __init__(self, rows):
        self.rows = rows
        self.seconds = sorted(row.seconds for row in rows)
        self.median = statistics.median(self.seconds)
        self.least, self.most = self.seconds[0], self.seconds[-1]

    def middle(self, column):
        """The median of a column, None where it is empty."""
        values = [value for row in self.rows
                  if (value := getattr(row, column)) is not None]
        return statistics.median(values) if values else None

    def blocks(self):
        read, written = self.middle("blocks_read"), self.middle("blocks_written")
        return None if read is None or written is None else read + written


class Measured:
    """{setting: {scheme: Sample}}, of each setting's newest revision and TCP."""

    def __init__(self, rows):
        grouped = {}
        for row in rows:
            setting = _setting(row)
            by_run = grouped.setdefault(
                dataclasses.replace(setting, tcp=None), {})
            by_run.setdefault((row.revision, setting), []).append(row)
        self.settings = {}
        self.rows = []
        for by_run in grouped.values():
            # Those of two revisions say nothing when mixed.
            (_, setting), newest = max(
                by_run.items(),
                key=lambda run: max(row.time for row in run[1]))
            by_scheme = {}
            for row in newest:
                by_scheme.setdefault(row.scheme, []).append(row)
            self.settings[setting] = {scheme: Sample(part)
                                      for scheme, part in by_scheme.items()}
            self.rows += newest

    def find(self, *schemes, **wanted):
        """(setting, sample of each scheme) of every setting that has all of
        these schemes and these values (or one of them, if a set, or what a
        function says)."""
        found = []
        for setting in sorted(self.settings, key=Setting.sort_key):
            samples = self.settings[setting]
            if (all(_fits(getattr(setting, name), value)
                    for name, value in wanted.items())
                    and all(scheme in samples for scheme in schemes)):
                found.append((setting, *(samples[s] for s in schemes)))
        return found

    def copies(self, setting, scheme=COPIES):
        """What whole copies, that survive as many failures, did beside it."""
        key = dataclasses.replace(setting, k=None, k_to=None)
        for threshold in sorted({s.threshold_bytes for s in self.settings}):
            samples = self.settings.get(
                dataclasses.replace(key, threshold_bytes=threshold), {})
            if scheme in samples:
                return samples[scheme]
        return None


def _setting(row):
    copies = row.scheme in (COPIES, PAPER_COPIES)
    return Setting(
        experiment=row.experiment, bed=row.bed, link_mbit=row.link_mbit,
        operation=row.operation, object_bytes=row.object_bytes, m=row.m,
        k=None if copies else row.k, k_to=None if copies else row.k_to,
        threshold_bytes=row.threshold_bytes, tcp=row.tcp)


def _fits(value, wanted):
    if callable(wanted):
        return wanted(value)
    return value in wanted if isinstance(wanted, (set, tuple)) else value == wanted


def reduction(baseline, sample):
    """By how many per cent of the baseline's median a sample is shorter."""
    return 100 * (1 - sample.median / baseline.median)


def size(count):
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"


def link(mbit):
    if mbit is None:
        return "unshaped"
    if mbit >= 1000:
        return f"{mbit / 1000:g} Gbit/s"
    return f"{mbit:g} Mbit/s"


def links(bed, mbit):
    if bed == "cloud":
        return "as in a cloud"
    if bed == "server-links":
        return f"{link(mbit)} for each server"
    return f"{link(mbit)}, hosts" if bed == "hosts" else link(mbit)


def label(parameters):
    return "(" + ",".join(str(number) for number in parameters) + ")"
