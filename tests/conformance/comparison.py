"""A case at two servers: do they answer the same, and as the file says?"""

import concurrent.futures

import player
import report
import split
from template import TemplateError

SAME, ALLOWED, DIFFERENT, BROKEN = RESULTS = (
    "agree", "differ as allowed", "differ", "not as the case says")


class Comparer:
    """Plays cases one after the other and prints what is not the same.

    entries: the differences allowed; those met are marked as seen.
    run_name: sets the keys of this process apart from those of others.
    """

    def __init__(self, reference, target, mode, run_name, entries, show):
        self._servers = (reference, target)
        self._mode = mode
        self._run_name = run_name
        self._entries = entries
        self._show = show
        self.runs = 0

    def compare(self, case):
        """The worst result of the case's runs; stops at the first bad one."""
        worst, sizes = self._compare_once(case, 0)
        if case.split:
            for variant in split.variants(self._mode, sizes)[1:]:
                if RESULTS.index(worst) >= RESULTS.index(DIFFERENT):
                    break
                result, _ = self._compare_once(case, variant)
                worst = max(worst, result, key=RESULTS.index)
        return worst

    def _compare_once(self, case, variant):
        """(result, how many bytes each step sent)"""
        prefix = f"{self._run_name}{self.runs:05x}.".encode()
        self.runs += 1
        players = [player.Player(server, case, prefix, self._mode, variant)
                   for server in self._servers]
        try:
            # At the same time, so that a wait for the clock is one wait.
            with concurrent.futures.ThreadPoolExecutor(2) as threads:
                reference, target = threads.map(
                    lambda one: list(one.play()), players)
        except TemplateError as error:
            raise TemplateError(f"{case.place}: {error}") from error
        unknown = players[0].scope.symbols.unknown
        if unknown and not case.drawn:
            raise TemplateError(
                f"{case.place}: never answered: {', '.join(sorted(unknown))}")
        if self._show:
            self._print_case(case, players[0], reference)
        worst = SAME
        for number, ((_, right, as_said), (_, got, _)) in enumerate(
                zip(reference, target), 1):
            result = self._judge(case, number, variant, right, got, as_said,
                                 players[0])
            worst = max(worst, result, key=RESULTS.index)
            if result in (DIFFERENT, BROKEN) or right.end != got.end:
                break  # what follows would differ because of this
        return worst, [len(data) for data in players[0].sent]

    def _judge(self, case, number, variant, right, got, as_said, sender):
        where = f"{case.name} step {number}"
        if self._mode == split.EVERY:
            where += f", cut {variant + 1}"
        if not as_said:
            print(f"{where}: the reference does not answer as the case says "
                  f"({case.place})\n{report.indented(right.text())}")
            return BROKEN
        if right.end == "timeout":
            print(f"{where}: the reference does not end its answer "
                  f"({case.place})\n{report.indented(right.text())}")
            return BROKEN
        if right.same(got):
            return SAME
        answer = got.text()
        for entry in self._entries:
            if entry.covers(case.name, number, answer):
                entry.seen = True
                return ALLOWED
        print(f"{where} differs (- reference, + target; {case.place})")
        print(report.difference(right, got))
        return DIFFERENT

    @staticmethod
    def _print_case(case, sender, steps):
        print(f"== {case.name}")
        for step, answer, _ in steps:
            print(f"  {len(step.lines)} lines sent, answer:")
            print(report.indented(answer.text()))
