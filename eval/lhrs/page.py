"""Writes docs/evaluation/lhrs.md: all figures of it from rows."""

import statistics

from reporting.markdown import table
from reporting.samples import BED_NAMES, link, size
from testbed.namespaces import TCP

REPETITIONS = 10  # as many as eval/lhrs/measure makes by default
BUSY = 2.0  # of load, from where on it is noted
# Both settings of the network, (bed, Mbit/s).
SETTINGS = (("unshaped", None), ("namespaces", 1000.0))
COMMAND = "eval/lhrs/measure --out eval/lhrs/rows/new.csv"
PIPELINED = 32
HEAD = """# The scenarios of LH*RS

`eval/lhrs/report` made this page from the rows of `eval/lhrs/measure` in [eval/lhrs/rows](../../eval/lhrs/rows) and those of `ers-bench codes` in
[codes.csv](../../eval/write-cost/rows/codes.csv); it is not edited by hand. `measure` runs on this library what Moussa measured of LH\\*RS, a scalable
distributed data structure whose buckets are grouped by Reed-Solomon codes (2003): file creation, search, creation of parity, recovery of buckets and of
records. Nine memcached servers (`-t 1`), one client, records in blocks (`rs:4,m`; nothing rides in manifests). LH\\*RS keeps each record of 100 bytes
whole in one bucket and codes over four; libers cuts each into four blocks. So a search of LH\\*RS asks one server, a GET here four.
Its buckets were on five machines at 1.8 GHz and 1 Gbit/s (its second configuration): compare shapes, not times.

| LH*RS | here | in `measure` |
| --- | --- | --- |
| file creation, k = 0, 1, 2 | puts, m = 1, 2, 3, one after the other and 32 at a time; without parity one libmemcached set each | `creation` |
| search, synchronised and parallel | gets, one after the other and 32 at a time | `search` |
| parity bucket creation | transitions of all records from m to m + 1 | `parity creation` |
| recovery of 1, 2, 3 data buckets by slice | 1, 2, 3 servers started empty, filled with 1, 8, 32, 128 records at a time | `recovery` |
| record recovery | gets with one server out: those that decode beside those that need not | `record recovery` |
| GF(2^8) against GF(2^16) | Jerasure on gf-complete, words of 8 and 16 bits | `ers-bench codes` |

"""


class Runs:
    """Rows of one setting of the network."""

    def __init__(self, found):
        self.found = found
        self.cells = {}
        for record in found:
            self.cells.setdefault(
                (record.scenario, record.case, record.records,
                 record.in_flight), []).append(record)
        self.most = max((record.records for record in found), default=0)

    def repetitions(self):
        counts = {len(cell) for cell in self.cells.values()}
        return min(counts), max(counts)

    def of(self, scenario, case, in_flight, field="seconds", count=None):
        """{repetition: figure}"""
        cell = self.cells.get((scenario, case, count or self.most, in_flight),
                              ())
        return {record.repetition: getattr(record, field) for record in cell}

    def paired(self, over, under, figure):
        """A figure of two, of each repetition that has both."""
        return [figure(over[number], under[number])
                for number in sorted(over.keys() & under.keys())]


def spread(values, form="{:.0f}", unit=""):
    """Median and range, in words; nothing of nothing."""
    if not values:
        return ""
    median, least, most = (form.format(value) for value in (
        statistics.median(values), min(values), max(values)))
    return f"{median}{unit} ({least} to {most})"


def where(setting):
    bed, mbit = setting
    return BED_NAMES[bed] if mbit is None else f"links of {link(mbit)}"


def _one(values):
    return ", ".join(sorted({str(value or "not recorded")
                             for value in values}))


def setting_part(by_setting):
    text = "## What was run\n\n"
    lines, notes = [], []
    for setting in dict.fromkeys((*SETTINGS, *by_setting)):
        runs = by_setting.get(setting)
        if runs is None:
            notes.append(f"On {where(setting)}: not measured; `{COMMAND}` does "
                         "so.")
            continue
        found = runs.found
        loads = [record.load for record in found]
        least, most = runs.repetitions()
        count = str(least) if least == most else f"{least} to {most}"
        rates = {record.measured_mbit for record in found} - {None}
        tcps = {record.tcp for record in found}
        lines.append([
            where(setting), ", ".join(f"{rate:g}" for rate in sorted(rates)),
            _one(tcps), len(found), count, f"{min(loads):g} to {max(loads):g}",
            _one(record.host for record in found),
            _one(record.revision for record in found)])
        if least < REPETITIONS:
            notes.append(f"On {where(setting)}: {count} repetitions, not "
                         f"{REPETITIONS}: their medians say little.")
        if min(loads) > BUSY:
            notes.append(f"On {where(setting)}: the machine had other work to "
                         f"do (load never under {min(loads):g}).")
        if tcps != {TCP}:
            notes.append(f"On {where(setting)}: TCP is {_one(tcps)} and not "
                         f"{TCP}: not comparable with other pages.")
    text += table(["network", "measured, Mbit/s", "TCP", "rows", "repetitions",
                   "load", "host", "revision"], lines)
    if len({record.tcp for runs in by_setting.values()
            for record in runs.found}) > 1:
        notes.append("The settings differ in TCP, too: they are not "
                     "comparable with each other.")
    return text + "".join(f"- {note}\n" for note in notes) + (
        "\n" if notes else "")


def times_part(setting, runs):
    """Medians, and the least and the most."""
    lines = []
    for (scenario, case, count, in_flight), cell in sorted(runs.cells.items()):
        seconds = [r.seconds for r in cell if r.seconds is not None]
        each = ([1e6 * s / count for s in seconds] or
                [r.microseconds for r in cell if r.microseconds is not None])
        processing = [r.process_s for r in cell if r.process_s is not None]
        lines.append([scenario, case, count, in_flight,
                      spread(seconds, "{:.3f}"), spread(each),
                      spread(processing, "{:.3f}")])
    return (f"## Measured on {where(setting)}\n\nMedians (least to most) of "
            f"records of {size(runs.found[0].record_bytes)}. Processing is "
            "parity, decoding and checksums.\n\n" + table(
                ["scenario", "case", "records", "at a time", "time, s",
                 "microseconds a record", "processing, s"], lines))


def _saved(less, more):
    return 100 * (1 - less / more)


def _added(more, less):
    return 100 * (more / less - 1)


def _share(runs, scenario):
    shares = [100 * r.process_s / r.seconds for r in runs.found
              if r.scenario == scenario and r.seconds]
    return spread(shares, "{:.1f}", " %")


def _slices(runs, lost):
    """(records at a time of the best slice, how much longer the worst takes)"""
    medians = {in_flight: statistics.median(r.seconds for r in cell)
               for (scenario, case, _, in_flight), cell in runs.cells.items()
               if (scenario, case) == ("recovery", f"{lost} lost")}
    if not medians:
        return ""
    best, worst = min(medians.values()), max(medians.values())
    at = next(i for i, median in medians.items() if median == best)
    return f"{at} records; the worst takes {worst / best:.1f} times as long"


def _by_count(runs, case):
    return ", ".join(
        f"{statistics.median(1e6 * r.seconds / count for r in cell):.0f} of "
        f"{count}" for (scenario, had, count, _), cell
        in sorted(runs.cells.items())
        if (scenario, had) == ("parity creation", case))


def _lost_over_one(runs, lost):
    return spread(runs.paired(
        runs.of("recovery", f"{lost} lost", PIPELINED),
        runs.of("recovery", "1 lost", PIPELINED),
        lambda more, one: more / one), "{:.2f}")


# (what, what LH*RS has, what rows give)
BESIDE = (
    ("parallel search saves", "77 % (table 62)",
     lambda runs: spread(runs.paired(
         runs.of("search", "", PIPELINED), runs.of("search", "", 1), _saved),
         unit=" %")),
    ("the second parity adds to creation, one record after the other",
     "9 % (table 67, GF(2^8))",
     lambda runs: spread(runs.paired(
         runs.of("creation", "2 parity", 1), runs.of("creation", "1 parity", 1),
         _added), unit=" %")),
    ("the same, 32 at a time", "",
     lambda runs: spread(runs.paired(
         runs.of("creation", "2 parity", PIPELINED),
         runs.of("creation", "1 parity", PIPELINED), _added), unit=" %")),
    ("the first parity adds", "21 % (table 67)",
     lambda runs: "not comparable: a libmemcached set is one message, a put 5 "
     "blocks and a commit on m + 1 servers"),
    ("first further parity by the number of records, microseconds each",
     "linear (tables 7 to 10)", lambda runs: _by_count(runs, "1 to 2")),
    ("second further parity", "linear",
     lambda runs: _by_count(runs, "2 to 3")),
    ("processing in parity creation", "69 to 79 % of the time (tables 7 to 10)",
     lambda runs: _share(runs, "parity creation")),
    ("processing in recovery", "35 to 42 % of the time (tables 21 and 22)",
     lambda runs: _share(runs, "recovery")),
    ("best slice, one lost", "a tenth to a fifth of a bucket; the worst takes "
     "12 to 20 % longer (tables 21 and 22)", lambda runs: _slices(runs, 1)),
    ("best slice, three lost", "", lambda runs: _slices(runs, 3)),
    ("two lost over one, 32 at a time", "processing 4.5; communication 1.31 "
     "(tables 49 and 51, GF(2^8), slices of 6,250)",
     lambda runs: _lost_over_one(runs, 2)),
    ("three lost over one, 32 at a time", "processing 6.7; communication 1.31",
     lambda runs: _lost_over_one(runs, 3)),
    ("record recovery, microseconds", "1,300 (table 59)",
     lambda runs: spread(list(runs.of("record recovery", "degraded", 1,
                                      "microseconds").values()))),
    ("of these over a get that decodes nothing", "",
     lambda runs: spread(runs.paired(
         runs.of("record recovery", "degraded", 1, "microseconds"),
         runs.of("record recovery", "normal", 1, "microseconds"),
         lambda degraded, normal: degraded - normal))),
)


def beside_part(by_setting):
    text = ("## Beside LH\\*RS\n\nMedians (least to most) of what each repetition "
            "gave.\n\n")
    lines = [[what, theirs, *(figure(runs) for runs in by_setting.values())]
             for what, theirs, figure in BESIDE]
    return text + table(["", "LH*RS", *map(where, by_setting)], lines)


def codes_part(codes):
    """Words of 8 and of 16 bits."""
    lines, better = [], 0
    for object_bytes, found in sorted(codes.items()):
        if not {"rs", "rs-16", "isal"} <= found.keys():
            continue
        short, long, ours = (found[name].gb_per_s(object_bytes)
                             for name in ("rs", "rs-16", "isal"))
        better += long[0] > short[0]
        lines.append([size(object_bytes), *(
            f"{rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})"
            for rate in (short, long, ours)), f"{long[0] / short[0]:.2f}"])
    if not lines:
        return ""
    code = next(iter(codes.values()))["rs"]
    return ("## GF(2^16) against GF(2^8)\n\nParity of one object, k = "
            f"{code.k}, m = {code.m}, in GB/s: medians (least to most). LH\\*RS "
            "found GF(2^16) better in most cases; here it is in "
            f"{better} of {len(lines)} sizes. ISA-L, which libers uses, has "
            "nothing for GF(2^16).\n\n" + table(
                ["object", "GF(2^8), Jerasure", "GF(2^16), Jerasure",
                 "GF(2^8), ISA-L", "GF(2^16) over GF(2^8), Jerasure"], lines))


def newest(found):
    """Rows of the newest run alone: those of two say nothing when mixed."""
    runs = {}
    for record in found:
        runs.setdefault((record.revision, record.tcp), []).append(record)
    return max(runs.values(),
               key=lambda run: max(record.time or "" for record in run))


def render(found, codes):
    by_setting = {}
    for record in found:
        by_setting.setdefault((record.bed, record.link_mbit),
                              []).append(record)
    by_setting = {setting: Runs(newest(rows)) for setting, rows in sorted(
        by_setting.items(), key=lambda item: item[0][1] or 0)}
    text = HEAD + setting_part(by_setting)
    for setting, runs in by_setting.items():
        text += times_part(setting, runs)
    if by_setting:
        text += beside_part(by_setting)
    return (text + codes_part(codes)).rstrip("\n") + "\n"
