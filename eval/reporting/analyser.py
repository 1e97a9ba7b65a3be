"""Blocks that a transition reads and writes, as ers-analyze counts them."""

import csv
import os
import subprocess

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAM = os.environ.get(
    "ERS_ANALYZE", os.path.join(TOP, "build", "release", "bin", "ers-analyze"))
SUBJECTS = {"srs": ("srs", "optimal"), "ers1": ("ers1", "paper"),
            "ers2-paper": ("ers2", "paper"),
            "ers2-no-order": ("ers2", "no-order"),
            "ers2-optimal": ("ers2", "optimal")}


class AnalyserError(Exception):
    """What is missing and how to have it, as one sentence for the user."""


class Analyser:

    def __init__(self, program=PROGRAM):
        self.program = program
        self.counted = {}

    def reads(self, parameters, scheme, direction):
        """Of one group; None for schemes that it does not count."""
        if scheme not in SUBJECTS:
            return None
        if parameters not in self.counted:
            self.counted[parameters] = self._count(parameters)
        return self.counted[parameters].get((*SUBJECTS[scheme], direction))

    def reduction(self, setting, scheme):
        """By how many per cent it reads fewer blocks than SRS."""
        def reads(name):
            return self.reads(setting.parameters(), name, setting.operation)
        if not reads("srs") or reads(scheme) is None:
            return None
        return 100 * (1 - reads(scheme) / reads("srs"))

    def _count(self, parameters):
        try:
            said = subprocess.run(
                [self.program, "count", *map(str, parameters), "--format",
                 "csv"], check=True, stdin=subprocess.DEVNULL,
                capture_output=True, text=True).stdout
        except OSError as error:
            raise AnalyserError(
                f"{error}: build the target ers-analyze, or name it in the "
                "variable ERS_ANALYZE") from None
        except subprocess.CalledProcessError as error:
            raise AnalyserError(error.stderr.strip()) from None
        return {(row["scheme"], row["variant"], row["direction"]):
                int(row["reads"])
                for row in csv.DictReader(said.splitlines())}
