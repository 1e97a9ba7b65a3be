"""What becomes of a claim: cells of it that were checked, and those missed."""

import dataclasses

from testbed.namespaces import TCP

HOLDS, FAILS, NOT_MEASURED = "holds", "does not hold", "not measured"
# Measured, but under different congestion controls.
NOT_COMPARABLE = "not comparable"


@dataclasses.dataclass
class Verdict:
    state: str
    measured: str  # the figures behind it, in words
    misses: list  # [(where, what was found)]
    beside: str = ""  # the same figures where the claim is not about


@dataclasses.dataclass(frozen=True)
class _Cell:
    setting: object
    holds: bool
    value: float
    found: str
    scheme: str | None

    def where(self):
        return (f"{self.scheme}, {self.setting}" if self.scheme
                else str(self.setting))


class Tally:
    """Collects a claim's cells, of all settings."""

    def __init__(self, low_is_worse=True):
        self.low_is_worse = low_is_worse
        self.cells = []
        self.refused = []  # (setting, why it is compared with nothing)
        self.text = self.values = ""

    def add(self, setting, holds, value, found, scheme=None):
        """`value` is the number that `values` ranges over, `found` its text."""
        self.cells.append(_Cell(setting, bool(holds), value, found, scheme))

    def refuse(self, setting, why):
        self.refused.append((setting, why))

    def summed(self, text, values):
        """`values` says how the range is put, with {least} and {most} in it,
        `text` what it is of, with {values} in it."""
        self.text, self.values = text, values
        return self

    def verdict(self, at):
        """Judged by the cells that the claim is about: those in whose setting
        `at` is true."""
        judged = [cell for cell in self.cells if at(cell.setting)]
        beside = "; ".join(
            f"{name}: {self._range(cells)} ({_held(cells)})"
            for name, cells in _by_link(
                cell for cell in self.cells if not at(cell.setting)).items())
        refused = sorted({why for setting, why in self.refused if at(setting)})
        if not judged:
            return Verdict(NOT_COMPARABLE if refused else NOT_MEASURED,
                           "; ".join(refused), [], beside)
        measured = self.text.format(values=self._range(judged))
        measured += f"; {_held(judged)} cells"
        links = _by_link(judged)
        misses = [cell for cell in judged if not cell.holds]
        if misses and len(links) > 1:
            measured += " (" + ", ".join(
                f"{name}: {_held(cells)}" for name, cells in links.items()) + ")"
        tcps = {cell.setting.tcp or "a TCP not known" for cell in judged}
        if tcps != {TCP}:
            measured += f"; under {' and '.join(sorted(tcps))}"
        if refused:
            measured += f"; beside what is not compared: {'; '.join(refused)}"
        # The worst ones first.
        misses.sort(key=lambda cell: cell.value, reverse=not self.low_is_worse)
        return Verdict(FAILS if misses else HOLDS, measured,
                       [(cell.where(), cell.found) for cell in misses], beside)

    def _range(self, cells):
        values = [cell.value for cell in cells]
        return self.values.format(least=min(values), most=max(values))


def _held(cells):
    return f"{sum(cell.holds for cell in cells)} of {len(cells)}"


def _by_link(cells):
    """{links in words: its cells}, from the slowest on."""
    found = {}
    for cell in sorted(cells, key=lambda cell: (
            cell.setting.bed, cell.setting.link_mbit or float("inf"))):
        found.setdefault(cell.setting.links(), []).append(cell)
    return found
