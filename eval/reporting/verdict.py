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

    def __init__(self):
        self.values = []
        self.misses = []

    def add(self, where, holds, value, found):
        """`value` is the number that `summary` ranges over, `found` its text."""
        self.values.append(value)
        if not holds:
            self.misses.append((str(where), found))

    def verdict(self, summary):
        """`summary` says what the values are, with {least} and {most} in it."""
        if not self.values:
            return Verdict(NOT_MEASURED, "", [])
        count = len(self.values)
        measured = summary.format(least=min(self.values), most=max(self.values))
        measured += f"; {count - len(self.misses)} of {count} cells"
        return Verdict(FAILS if self.misses else HOLDS, measured, self.misses)
