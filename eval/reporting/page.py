"""Writes docs/evaluation/paper.md: from rows, claims and the analyser."""

import statistics

from paper.experiments import OWN
from reporting import catalogue, paper
from reporting.markdown import table
from reporting.samples import (BED_NAMES, COPIES, NAMES, PAPER_COPIES, label,
                               links, reduction, size)
from reporting.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_MEASURED
from testbed.namespaces import TCP

# TCP waits no shorter before it sends again.
TIMEOUT_S = 0.2
STALLED = 1.5
STALL_MBIT = 10  # slower ones take as long by themselves
# Of cells that miss a claim, so many are named.
MISSES = 6
TITLES = {
    "exp1": "Experiment 1: writing and reading, by size",
    "exp1-servers": "Experiment 1 where servers' links are the limit",
    "exp2": "Experiment 2: transitions, by size",
    "exp3": "Experiment 3: transitions, by parameters",
    "exp4": "Experiment 4: transitions, by bandwidth",
    "exp5": "Experiment 5: order selection",
    "exp6": "Experiment 6: transitions in a cloud, by size",
    "exp7": "Experiment 7: transitions in a cloud, by parameters",
}
HEAD = """# The ERS paper's experiments, and what they gave here

`eval/report` made this page from the rows of [eval/rows](../../eval/rows) and the block counts of `ers-analyze`; it is not
edited by hand. `eval/run` makes rows ([experiments.md](experiments.md) says how, on which schemes); rows
of `kv` are those of [coding against copies](ec-vs-replication.md). The paper is cited in [analysis.md](analysis.md).

"""
SAVING = "ers2-optimal"
DIFFERENCES = """## Where the paper and this differ

- *The paper's SRS re-encodes the old parity, too*, which is not needed. The SRS here does not, so there is less to save.
- *Plans.* The paper's plan always goes by the old parity; the library runs the one with the fewest reads.
- *Writes.* The paper's prototype sets one block after another, a round trip each. Here all blocks leave at once, so that coded
  objects of 64 KiB or more are not slower to write than copies.
- *10 Gbit/s*, where most of the paper's claims were made. On one machine its processors are the limit there, not the links: what all
  schemes do alike keeps its part of the time.
- *Small objects.* Here every change ends in a commit on m + 1 servers, which outweighs the blocks of a small object.

"""
SINGLE = (
    "Times are medians of all repetitions of a setting's newest revision and TCP (congestion control); what differs in TCP is not "
    "compared. Bars of error are the least and the most, "
    "as in the paper, and on reductions the middle 95 % of resampled medians, cut off at -30 %. Schemes are compared within one setting "
    "alone. Where the paper prints a figure it is drawn hollow beside ours; its times in milliseconds are lost with its "
    "pictures.\n\n")


def per_cent(value):
    return "" if value is None else f"{value:.1f}"


def rate_text(mbit):
    return f"{mbit:.0f}" if mbit >= 1000 else f"{mbit:.3g}"


def saves_part(measured, analyser):
    """What the page begins with: blocks and times beside SRS."""
    text = "## What ERS saves\n\n"
    found = measured.find("srs", SAVING, experiment="exp3",
                          operation=("forward", "backward"))
    rates = [s.link_mbit for s, *_ in found if s.link_mbit is not None]
    if not rates:
        return text + "Not measured.\n\n"
    slowest = min(rates)
    text += (f"A transition by ERS-2 beside one by plain Reed-Solomon codes "
             f"whose data stays in place (SRS), on links of "
             f"{links(None, slowest)}: blocks that are read, and time.\n\n")
    return text + table(
        ["", "set", "object", "fewer blocks, %", "SRS, ms", "ERS-2, ms",
         "less time, %"],
        [[s.operation, label(s.parameters()), size(s.object_bytes),
          per_cent(analyser.reduction(s, SAVING)),
          f"{1000 * srs.median:.1f}", f"{1000 * ers.median:.1f}",
          per_cent(reduction(srs, ers))]
         for s, srs, ers in sorted(found, key=lambda one: (
             one[0].operation != "forward", one[0].object_bytes,
             one[0].parameters()))
         if s.link_mbit == slowest])


def setting_part(measured):
    """Where the rows come from."""
    text = "## What was run\n\n"
    if not measured.rows:
        return text + "No rows yet.\n\n"
    text += SINGLE
    groups = {}
    for row in measured.rows:
        groups.setdefault((row.experiment, row.bed, row.link_mbit),
                          []).append(row)
    lines = []
    for (experiment, bed, mbit), rows in sorted(
            groups.items(), key=lambda item: (
                item[0][0], item[0][1], item[0][2] or float("inf"))):
        rates = [r.measured_mbit for r in rows if r.measured_mbit is not None]
        limited = {r.cpu_limited for r in rows} & {"yes"}
        times = sorted(r.time for r in rows)
        lines.append([
            experiment, BED_NAMES[bed], links(bed, mbit),
            rate_text(statistics.median(rates)) if rates else "",
            "processors" if limited else "",
            ", ".join(sorted({r.tcp or "not known" for r in rows})), len(rows),
            _spread([len(sample.rows) for setting, samples in
                     measured.settings.items()
                     if (setting.experiment, setting.bed, setting.link_mbit)
                     == (experiment, bed, mbit)
                     for sample in samples.values()]),
            ", ".join(sorted({r.revision[:12] for r in rows})),
            times[0][:10]])
    text += table(["experiment", "bed", "links", "measured, Mbit/s",
                   "limited by", "TCP", "rows", "repetitions", "revision", "day"],
                  lines)
    return (text + "Hosts: " + hosts(measured.rows) + ".\n\n" +
            stalls(measured))


def stalls(measured):
    """Repetitions that waited for TCP to send again what was dropped."""
    samples = [sample for setting, by_scheme in measured.settings.items()
               if (setting.link_mbit or 0) >= STALL_MBIT
               for sample in by_scheme.values()]
    stalled = [s for s in samples if s.most - s.least >= TIMEOUT_S
               and s.most >= STALLED * s.least]
    return (f"On links of {STALL_MBIT:g} Mbit/s or more the slowest repetition "
            f"took {TIMEOUT_S:g} s more than the fastest, and {STALLED:g} times "
            f"as long, in {len(stalled)} of {len(samples)} cells (a scheme and "
            "an operation in one setting): as much as TCP waits before it sends "
            "again what was dropped.\n\n")


def hosts(rows):
    """Each machine once, with the range of its load."""
    loads = {}
    for row in rows:
        machine, _, load = row.host.partition(", load ")
        loads.setdefault(machine, set()).update([float(load)] if load else [])
    return "; ".join(
        machine + (f", load {min(found):g} to {max(found):g}" if found else "")
        for machine, found in sorted(loads.items()))


def _spread(counts):
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least} to {most}"


def claims_part(measured, analyser):
    judged = [(claim, claim.judge(measured, analyser))
              for claim in catalogue.ALL]
    count = {state: sum(v.state == state for _, v in judged)
             for state in (HOLDS, FAILS, NOT_COMPARABLE, NOT_MEASURED)}
    text = (f"## Claims\n\nOf {len(judged)} claims: " + ", ".join(
        f"{state}: {number}"
        for state, number in count.items()) +
        f". The last {len(catalogue.ASKED)} are not the "
        "paper's but were asked of libers. A claim is judged where it was made, "
        "those of the paper at its bandwidth and its sets; what other links gave "
        "stands beside, and decides nothing.\n\n")
    lines = []
    for claim, verdict in judged:
        reason = {HOLDS: claim.why, FAILS: claim.why_not}.get(verdict.state, "")
        state = verdict.state
        lines.append([claim.source, claim.text, claim.at.text, verdict.measured,
                      f"**{state}**" if state == FAILS else state, reason,
                      verdict.beside])
    text += table(["from", "claim", "judged at", "measured there", "", "why",
                   "on other links"], lines)
    missed = [(c, v) for c, v in judged if v.misses]
    if missed:
        text += "### Where claims do not hold\n\n"
    for claim, verdict in missed:
        shown = "; ".join(f"{where}: {found}"
                          for where, found in verdict.misses[:MISSES])
        more = len(verdict.misses) - MISSES
        if more > 0:
            shown += f"; and {more} more"
        text += f"- {claim.text} Not so: {shown}.\n"
    return text + ("\n" if missed else "")


def reductions_table(measured, analyser, experiment):
    """Ours beside the paper's, for each setting with SRS in it."""
    schemes = ("ers1", "ers2-paper", "ers2-optimal")
    columns = ["", "set", "object", "links", "SRS, ms"]
    for scheme in schemes:
        columns.append(f"{NAMES[scheme]}, %")
        if scheme != "ers2-optimal":
            columns.append("the paper, %")
        columns.append("blocks, %")
    lines = []
    for setting, srs in measured.find("srs", experiment=experiment,
                                      operation=("forward", "backward")):
        samples = measured.settings[setting]
        if not any(scheme in samples for scheme in schemes):
            continue
        line = [setting.operation, label(setting.parameters()),
                size(setting.object_bytes), setting.links(),
                f"{1000 * srs.median:.2f}"]
        for scheme in schemes:
            there = scheme in samples
            line.append(per_cent(reduction(srs, samples[scheme])
                                 if there else None))
            if scheme != "ers2-optimal":
                line.append(per_cent(paper.reduction(setting, scheme)))
            line.append(per_cent(analyser.reduction(setting, scheme)))
        lines.append(line)
    return table(columns, lines)


def times_table(measured, experiment):
    """Of writing and reading: what copies take, and coding beside it."""
    schemes = ("srs", "ers1", "ers2-optimal")
    kinds = (PAPER_COPIES, COPIES)
    lines = []
    for setting, in measured.find(experiment=experiment,
                                  operation=("put", "get")):
        samples = measured.settings[setting]
        copies = [measured.copies(setting, kind) for kind in kinds]
        if not any(copies) or not any(s in samples for s in schemes):
            continue
        line = [setting.operation, label(setting.parameters()),
                size(setting.object_bytes), setting.links(),
                size(setting.threshold_bytes)]
        for whole in copies:
            line.append(f"{1000 * whole.median:.2f}" if whole else "")
            line += [f"{samples[s].median / whole.median:.2f}"
                     if whole and s in samples else "" for s in schemes]
        lines.append(line)
    columns = ["", "set", "object", "links", "coded from"]
    for kind in kinds:
        columns += [f"{NAMES[kind]}, ms", *(NAMES[s] for s in schemes)]
    text = table(columns, lines)
    return text and ("Times of coded objects are given as parts of that of the "
                     "copies to their left, m + 1 of them: first those of "
                     "libmemcached, one set after the other, which are the "
                     "paper's replication, then those of libers.\n\n" + text)


def order_table(measured):
    lines = []
    for setting, without, selected in measured.find(
            "ers2-no-order", "ers2-paper", experiment="exp5",
            operation="backward"):
        lines.append([label(setting.parameters()), size(setting.object_bytes),
                      setting.links(), f"{1000 * without.median:.2f}",
                      f"{1000 * selected.median:.2f}",
                      per_cent(reduction(without, selected)),
                      per_cent(paper.order_selection(setting))])
    return table(["set", "object", "links", "without, ms", "with, ms",
                  "less, %", "the paper, %"], lines)


def own_part(measured):
    """Of chosen parameters there is nothing to compare: times alone."""
    lines = [[setting.operation, f"m = {setting.m}" if setting.k is None
              else label(setting.parameters()),
              size(setting.object_bytes), setting.links(), NAMES[scheme],
              *(f"{1000 * seconds:.2f}"
                for seconds in (sample.median, sample.least, sample.most)),
              len(sample.rows)]
             for setting, in measured.find(experiment=OWN)
             for scheme, sample in sorted(measured.settings[setting].items())]
    text = table(["", "set", "object", "links", "scheme", "median, ms",
                  "least, ms", "most, ms", "repetitions"], lines)
    return text and "## An experiment of one's own\n\n" + tcp_note(
        measured, OWN) + text


def ranges_table(experiment):
    lines = [[direction, *(f"{least} to {most}" for least, most in ranges)]
             for (name, direction), ranges in paper.RANGES.items()
             if name == experiment]
    return lines and ("The paper gives ranges over all sizes:\n\n" + table(
        ["", "ERS-1, %", "ERS-2, %"], lines))


def tcp_note(measured, experiment):
    """What was measured under another congestion control than the scripts'
    own is compared with nothing else, and says so."""
    others = sorted({row.tcp or "one not known" for row in measured.rows
                     if row.experiment == experiment} - {TCP})
    if not others:
        return ""
    return (f"Measured under {' and '.join(others)}, where other experiments "
            f"have {TCP}: schemes are compared with each other, and nothing here "
            "with another experiment.\n\n")


def experiment_part(measured, analyser, experiment, figures, folder):
    text = f"## {TITLES[experiment]}\n\n"
    if not measured.find(experiment=experiment):
        return text + "Not measured.\n\n"
    text += tcp_note(measured, experiment)
    for name in figures.get(experiment, []):
        text += (f"![{name}]({folder}/{name}.png)\n\n"
                 f"[As SVG]({folder}/{name}.svg).\n\n")
    if experiment in ("exp1", "exp1-servers"):
        return text + times_table(measured, experiment)
    if experiment == "exp5":
        return text + order_table(measured)
    if experiment in ("exp2", "exp6"):
        text += ranges_table(experiment)
    return text + reductions_table(measured, analyser, experiment)


def render(measured, analyser, figures, folder):
    """The page. `figures` is {experiment: [names]}, in `folder` as seen from
    the page."""
    text = (HEAD + saves_part(measured, analyser) + DIFFERENCES +
            setting_part(measured) + claims_part(measured, analyser))
    for experiment in TITLES:
        text += experiment_part(measured, analyser, experiment, figures,
                                folder)
    text += own_part(measured)
    return text.rstrip("\n") + "\n"
