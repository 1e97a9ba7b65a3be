"""Reads the files of cases; README.md says how they are written."""

import glob
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "cases")
# What ends the wait for an answer.
FENCE, UNTIL, CLOSED, NOTHING = "fence", "until", "eof", "send-only"


class CaseError(Exception):
    """A line of a case file that is not understood: FILE:LINE: why."""


class Line:
    """A line to send or expect: its text, how often, and its line number."""

    def __init__(self, text, times, number):
        self.text = text
        self.times = times
        self.number = number


class Step:
    """Lines sent together and what is known of the answer.

    expected: lines (pattern or not, Line); empty: only compared.
    """

    def __init__(self, connection):
        self.connection = connection
        self.lines = []
        self.expected = []
        self.ends = FENCE
        self.until = None  # Line, where ends is UNTIL
        self.half_close = False
        self.names_only = False
        self.repeat = False


class Case:
    """One case: its steps run in order, on connections of their own.

    name: SECTION/NAME. split: whether its bytes may come in pieces.
    """

    def __init__(self, name, binary, split, place):
        self.name = name
        self.binary = binary
        self.split = split
        self.place = place
        self.drawn = False  # at random: it may name CAS values never answered
        self.steps = []


class Reader:
    """Of one file; `case` and blank lines end what stands before them."""

    LINE = re.compile(r"(?P<mark>[><]~?)(?:\*(?P<times>\d+))?(?: (?P<text>.*))?$")

    def __init__(self, path):
        self.path = path
        self.section, suffix = os.path.splitext(os.path.basename(path))
        self.binary = suffix == ".binary"
        self.cases = []
        self.step = None
        self.directed = False  # the step has a directive
        self.connection = "1"

    def error(self, number, why):
        return CaseError(f"{self.path}:{number}: {why}")

    def read(self):
        with open(self.path, encoding="ascii") as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip("\n")
                if not line:
                    self.step = None
                elif not line.startswith("#"):
                    self._line(line, number)
        for case in self.cases:
            if not case.steps:
                raise CaseError(f"{case.place}: {case.name} has no step")
            for step in case.steps:
                if step.repeat and not step.expected:
                    raise CaseError(
                        f"{case.place}: {case.name} repeats without an end")
        return self.cases

    def _line(self, line, number):
        words = line.split()
        if words[0] == "case":
            self._case(words[1:], number)
        elif not self.cases:
            raise self.error(number, "no case yet")
        elif line.startswith("! "):
            self._directive(words[1], line[2:].partition(" ")[2], number)
        else:
            self._send_or_expect(line, number)

    def _case(self, words, number):
        if not words or words[1:] not in ([], ["unsplit"]):
            raise self.error(number, "case NAME [unsplit]")
        name = f"{self.section}/{words[0]}"
        if name in [case.name for case in self.cases]:
            raise self.error(number, f"a second {name}")
        self.cases.append(Case(name, self.binary, len(words) == 1,
                               f"{self.path}:{number}"))
        self.step = None
        self.connection = "1"

    def _in_step(self):
        if self.step is None:
            self.step = Step(self.connection)
            self.directed = False
            self.cases[-1].steps.append(self.step)
        return self.step

    def _directive(self, word, rest, number):
        if word == "connection" and rest:
            self.connection = rest
            self.step = None
            return
        step = self._in_step()
        self.directed = True
        if word == UNTIL and rest:
            step.ends = UNTIL
            step.until = Line(rest, 1, number)
        elif word in (CLOSED, NOTHING) and not rest:
            step.ends = word
        elif word == "half-close" and not rest:
            step.ends = CLOSED
            step.half_close = True
        elif word == "names" and not rest:
            step.names_only = True
        elif word == "repeat" and not rest:
            step.repeat = True
        else:
            raise self.error(number, f"no such directive: {word} {rest}")

    def _send_or_expect(self, line, number):
        match = self.LINE.match(line)
        if not match or match["mark"] == ">~":
            raise self.error(number, f"not understood: {line}")
        # What is sent after a directive or an expectation is the next step.
        if match["mark"] == ">" and self.step and (
                self.step.expected or self.directed):
            self.step = None
        said = Line(match["text"] or "", int(match["times"] or 1), number)
        step = self._in_step()
        if match["mark"] == ">":
            step.lines.append(said)
        else:
            step.expected.append((match["mark"] == "<~", said))


def read_all(folder=FOLDER):
    """Every case of a folder, section by section in order of names."""
    cases = []
    for path in sorted(glob.glob(os.path.join(folder, "*.text"))
                       + glob.glob(os.path.join(folder, "*.binary"))):
        cases += Reader(path).read()
    names = [case.name for case in cases]
    for case in cases:
        if names.count(case.name) > 1:
            raise CaseError(f"{case.place}: a second {case.name}")
    return cases
