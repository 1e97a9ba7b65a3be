"""What came of the runs, for people."""

import collections

BROKEN = "BROKEN"


class Table:
    def __init__(self):
        self.runs = []  # (step, fault, operation, outcome)

    def add(self, *run):
        self.runs.append(run)

    def show(self, steps, operations):
        print("\nEach step with each fault, what became of it, and of which "
              "operations:")
        for step in steps:
            self._show_step(step)
        self._show_operations(operations)

    def _show_step(self, step):
        cells = collections.defaultdict(
            lambda: collections.defaultdict(collections.Counter))
        for of, fault, operation, outcome in self.runs:
            if of == step:
                cells[fault][outcome][operation] += 1
        for fault, outcomes in sorted(cells.items()):
            print(f"{step:<16}{fault:<22}" + "; ".join(
                f"{outcome}: " + ", ".join(
                    operation + f" x {count}" * (count > 1)
                    for operation, count in sorted(found.items()))
                for outcome, found in sorted(outcomes.items())))

    def _show_operations(self, operations):
        faults = sorted({run[1] for run in self.runs})
        cells = collections.defaultdict(set)
        for _, fault, operation, outcome in self.runs:
            cells[operation, fault].add("!" if outcome == BROKEN
                                        else outcome[0])
        print("\nEach operation with each fault, at whatever step: "
              "a(cknowledged), r(efused), u(nknown), c(ut off), ! broken, "
              "- no run:")
        for number, fault in enumerate(faults):
            print(" " * 18 + "|     " * number + fault)
        for operation in operations:
            print(f"{operation:<18}" + "".join(
                f"{''.join(sorted(cells[operation, fault])) or '-':<6}"
                for fault in faults))
        met = sum(bool(cells[operation, fault]) for operation in operations
                  for fault in faults)
        print(f"{met} of {len(operations) * len(faults)} such pairs\n")
