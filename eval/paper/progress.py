"""How far a run is, and how long it will take."""

import sys
import time

WIDTH = 24
# What an operation takes beside its bytes, and a group beside its operations.
OPERATION_S = 0.01
GROUP_S = 3
# No machine carries more between processes of its own.
MOST_MBIT = 4000
# An object is put and moved there and back for each cell, and read back at
# times; about so many times its size goes over the slowest link.
MOVED = 3.5


def seconds_of(group, repetitions, cell_seconds):
    """A guess, before anything of the kind was run."""
    mbit = min(group.link_mbit or MOST_MBIT, MOST_MBIT)
    each = MOVED * group.object_bytes * 8 / 1e6 / mbit
    total = GROUP_S
    for cell in group.cells:
        count = len(cell.operations)
        total += min((repetitions + 2) * (each + count * OPERATION_S),
                     cell_seconds * count)
    return total


def clock(seconds):
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (f"{hours}:{minutes:02}:{rest:02}" if hours
            else f"{minutes}:{rest:02}")


class Progress:
    """A bar on a terminal, a line for each group elsewhere."""

    def __init__(self, guesses, out=sys.stderr):
        self.guesses = guesses  # seconds of each group that is to be run
        self.out = out
        self.begun = time.monotonic()
        self.done = 0
        self.bar = out.isatty()

    def elapsed(self):
        return time.monotonic() - self.begun

    def left(self):
        """Guesses are right but for a factor, which shows as groups end."""
        guessed = sum(self.guesses[:self.done])
        factor = self.elapsed() / guessed if guessed else 1
        return factor * sum(self.guesses[self.done:])

    def show(self, what):
        total = len(self.guesses)
        filled = WIDTH * self.done // max(total, 1)
        text = (f"[{'#' * filled}{'.' * (WIDTH - filled)}] {self.done}/{total} "
                f"{clock(self.elapsed())} gone, about {clock(self.left())} "
                f"left: {what}")
        if self.bar:
            self.out.write(f"\r\033[K{text}")
        else:
            self.out.write(f"{text}\n")
        self.out.flush()

    def end(self):
        if self.bar:
            self.out.write("\n")
