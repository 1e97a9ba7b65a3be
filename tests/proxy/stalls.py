"""For how long the machine stood still, and tests that have to run anew then.
"""

import functools
import threading
import time
import unittest

TRIES = 6


class Stalls(threading.Thread):
    """Measures how long this machine let no process go on."""

    STEP_S = 0.05

    def __init__(self):
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.total = self.longest = 0.0

    def run(self):
        while not self.ended.is_set():
            before = time.monotonic()
            self.ended.wait(self.STEP_S)
            late = time.monotonic() - before - self.STEP_S
            self.total += late if late > self.STEP_S else 0
            self.longest = max(self.longest, late)

    def end(self):
        self.ended.set()
        self.join()


def again_if_still(seconds):
    """Of a class whose tests are about what may be late by `seconds` at most:
    one that fails while the machine stood still for longer is run again."""
    def decorate(case):
        for name in unittest.defaultTestLoader.getTestCaseNames(case):
            setattr(case, name, repeated(getattr(case, name), seconds))
        return case
    return decorate


def repeated(test, seconds):
    @functools.wraps(test)
    def run(case):
        for left in reversed(range(TRIES)):
            stalls = Stalls()
            stalls.start()
            try:
                return test(case)
            except (AssertionError, OSError) as failure:
                stalls.end()
                if not left or stalls.longest < seconds:
                    raise
                print(f"the machine stood still for {stalls.longest:.1f} s: "
                      f"once more: {failure}")
            finally:
                stalls.end()
    return run
