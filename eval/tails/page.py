"""Writes docs/evaluation/tails.md: all figures of it from rows."""

import bed
import limits
from reporting.markdown import table
from reporting.samples import size
from scenarios import SCENARIOS

SYSTEMS = [system.name for system in bed.SYSTEMS]
REPETITIONS = 5  # as many as eval/tails/measure makes by default
BUSY = 2.0  # of load, from where on it is noted
COMMAND = "eval/tails/measure --out eval/tails/rows/tails.csv"
HEAD = """# Slow, dead and returning servers

`eval/tails/report` made this page from the rows of `eval/tails/measure` in [eval/tails/rows](../../eval/tails/rows); it is not edited by hand.
Six memcached servers on loopback (`-t 1`), `ers2:4,1,5`, one `ersproxy`, where a row does not say otherwise. One server is behind a relay in C++
(`tails-relay`) that makes its replies late, limits its link, cuts processes off and counts what passes; values are read and written by `proxy-load`.
GETs are of values that the daemon has read before. `copies` is an `ersproxy` with `rep:2`, `nutcracker` Debian's, with `timeout: 400` and
`auto_eject_hosts`; limits are the daemon's own, so those have no verdict. Round trips are counted as the longest chain of replies, each asked for
after the one before had come; of several operations the least, as what a daemon does by its clock only adds to that.

"""
# What a reader of a row should know, by its name.
REMARKS = {
    "thousand": """Each memcached takes and clears a MiB for each class of item sizes that it has not held before, four of them when a cluster is new. All
1,000 share two cores here. The starts of the table came right after one another, so the virtual machine's host had that memory ready: thirteen others of
new clusters on that day took 6.3 to 10.1 s. The second daemon starts once the first has stored what it keeps ready; while it does, that took 6 to 10 s,
too.

""",
}


def number(value):
    if value is None:
        return ""
    if value == 0 or value == int(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def spread(values, median):
    if len(values) == 1 or min(values) == max(values):
        return number(median)
    return (f"{number(median)} ({number(min(values))} to "
            f"{number(max(values))})")


def cells(line):
    unit = limits.unit_of(line.figure)
    return [line.system,
            size(line.value_bytes) if line.value_bytes else "",
            line.clients or "", line.figure + (f", {unit}" if unit else ""),
            spread(line.values, line.median), number(line.healthy),
            line.limit.words(unit) if line.limit else "", line.verdict()]


HEADER = ["system", "values", "clients", "figure", "measured", "healthy",
          "limit", ""]


def rows_part(found, row):
    """The system itself first."""
    lines = limits.lines([record for record in found if record.row == row])
    return table(HEADER, [cells(line) for line in sorted(
        lines, key=lambda line: SYSTEMS.index(line.system))])


def setting_part(found, skipped):
    of_rows = {}
    for record in found:
        of_rows.setdefault((record.row, record.system), set()).add(
            record.repetition)
    fewest, most = (choose(map(len, of_rows.values())) for choose in
                    (min, max))
    loads = [record.load for record in found]
    times = (f"{fewest} to " * (fewest != most) +
             f"{most} repetition{'s' * (most != 1)}")
    notes = [f"Medians (least to most) of {times}, which took turns over all "
             f"rows; {_one(found, 'host')}; revision "
             f"{_one(found, 'revision')} (+: with changes); load of the "
             f"machine {min(loads):g} to {max(loads):g}."]
    if fewest < REPETITIONS:
        notes.append(f"Of rows with {fewest} repetition"
                     f"{'s' * (fewest != 1)}, not {REPETITIONS}, medians say "
                     "little.")
    if any(record.quick for record in found):
        notes.append("Rows of `--quick`: their spans are short.")
    if min(loads) > BUSY:
        notes.append("The machine had other work to do: the longest requests "
                     "are that work's, too.")
    notes += [f"Not measured: {why}." for why in skipped]
    judged = [line.verdict() for line in limits.lines(found)]
    notes.append(f"{judged.count('kept')} limits were kept, "
                 f"{judged.count('missed')} were missed.")
    return "".join(f"- {note}\n" for note in notes) + "\n"


def _one(found, name):
    return ", ".join(sorted({str(getattr(record, name)) for record in found}))


def missing(found):
    """By system, the rows that it lacks."""
    measured = {(record.row, record.system) for record in found}
    for system in SYSTEMS:
        lacking = [f"`{scenario.name}`" for scenario in SCENARIOS
                   if system in {each.name for each in scenario.systems}
                   and (scenario.name, system) not in measured]
        if lacking:
            yield f"{', '.join(lacking)} of {system}"


def render(found):
    if not found:
        return HEAD + f"Nothing was measured yet; `{COMMAND}` does so.\n"
    text = HEAD + setting_part(found, list(missing(found)))
    for scenario in SCENARIOS:
        part = rows_part(found, scenario.name)
        if part:
            text += (f"## {scenario.what[0].upper() + scenario.what[1:]}\n\n"
                     f"`eval/tails/measure --row {scenario.name}`\n\n"
                     f"{REMARKS.get(scenario.name, '')}{part}")
    return text.rstrip("\n") + "\n"
