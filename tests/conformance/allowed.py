"""The list of differences that are meant to be: allowed-differences.

Rows of a table, so that the same rows can stand in a document:

    | CASE | STEP | ANSWER | WHY |

CASE is SECTION/NAME, STEP counts from 1, ANSWER is what the target answers
there, as the run prints it; * in it stands for anything, \\| for |.
"""

import fnmatch
import os
import re

PATH = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    "allowed-differences")


BAR = r"\|"


class AllowedError(Exception):
    """A row that is not understood: FILE:LINE: why."""


class Entry:

    def __init__(self, case, step, answer, why):
        self.case = case
        self.step = step
        self.answer = answer
        self.why = why
        # Whether it differs depends on what memcached read or sent before.
        self.sometimes = why.startswith("sometimes: ")
        self.seen = self.sometimes  # set once the difference has been met

    def covers(self, case, step, answer):
        # Brackets are no wildcards here: answers may hold them.
        pattern = self.answer.replace("[", "[[]").replace("?", "[?]")
        return (self.case == case and self.step == step
                and fnmatch.fnmatchcase(answer, pattern))

    def __str__(self):
        """The row itself."""
        cells = [self.case, str(self.step), self.answer, self.why]
        return f"| {' | '.join(c.replace('|', BAR) for c in cells)} |"


def read(path=PATH):
    """The entries in order; lines that do not begin with | are comment."""
    entries = []
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("|"):
                continue
            cells = [cell.strip().replace(BAR, "|") for cell in
                     re.split(r"(?<!\\)\|", line.strip())[1:-1]]
            if len(cells) != 4 or not all(cells) or not cells[1].isdigit():
                raise AllowedError(
                    f"{path}:{number}: | CASE | STEP | ANSWER | WHY |")
            entries.append(Entry(cells[0], int(cells[1]), *cells[2:]))
    return entries
