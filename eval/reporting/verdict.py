"""What becomes of a claim: cells of it that were looked at, and those missed."""

import dataclasses

HOLDS, FAILS, NOT_MEASURED = "holds", "does not hold", "not measured"


@dataclasses.dataclass
class Verdict:
    state: str
    measured: str  # the figures behind it, in words
    misses: list  # [(where, what was found)]


class Tally:
    """Collects a claim's cells."""

    def __init__(self, low_is_worse=True):
        self.low_is_worse = low_is_worse
        self.values = []
        self.misses = []  # (value, where, found)
        self.by_link = {}  # link: [held, all]

    def add(self, setting, holds, value, found, scheme=None):
        """`value` is the number that `summary` ranges over, `found` its text."""
        self.values.append(value)
        held = self.by_link.setdefault(
            (setting.bed, setting.link_mbit or float("inf")),
            [0, 0, setting.links()])
        held[0] += bool(holds)
        held[1] += 1
        if not holds:
            where = f"{scheme}, {setting}" if scheme else str(setting)
            self.misses.append((value, where, found))

    def verdict(self, summary):
        """`summary` says what the values are, with {least} and {most} in it."""
        if not self.values:
            return Verdict(NOT_MEASURED, "", [])
        count = len(self.values)
        measured = summary.format(least=min(self.values), most=max(self.values))
        measured += f"; {count - len(self.misses)} of {count} cells"
        if self.misses and len(self.by_link) > 1:
            measured += " (" + ", ".join(
                f"{name}: {held} of {every}" for _, (held, every, name)
                in sorted(self.by_link.items())) + ")"
        # The worst ones first.
        self.misses.sort(key=lambda miss: miss[0],
                         reverse=not self.low_is_worse)
        return Verdict(FAILS if self.misses else HOLDS, measured,
                       [(where, found) for _, where, found in self.misses])
