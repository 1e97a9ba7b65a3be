"""The claims that rows are held against: each as data and one function.

A claim's function takes what was measured and the analyser, and answers with a
Tally of all settings; the claim is judged by those that it is about, `at`. `why`
is said where it holds, `why_not` where it does not: what rows cannot show.
"""

import dataclasses
import statistics
from collections.abc import Callable

import rows
from reporting import paper
from reporting.samples import (CODED, COPIES, KIB, MIB, NAMES, PAPER_COPIES,
                               reduction)
from reporting.verdict import Tally

PAPER_ERS = ("ers1", "ers2-paper")
TRANSITIONS = ("forward", "backward")
# How far apart medians of equal work may lie.
EQUAL = 0.05
SHAPED = ("namespaces",)
SERVER_LINKS = ("server-links",)
# With objects of 1 MiB and more; the second takes them small.
BY_PARAMETERS = ("exp3", "exp4")
# Experiment 1's ERS-2: both of its plans write alike.
HELD = ("srs", "ers1", "ers2-optimal")


@dataclasses.dataclass(frozen=True)
class Place:
    """Which settings a claim is about."""

    text: str
    has: Callable


def _of_the_paper(setting):
    # Copies have no set.
    return setting.k is None or setting.parameters() in paper.SETS


def _at(text, mbits):
    return Place(text, lambda setting: setting.bed in (*SHAPED, "hosts")
                 and setting.link_mbit in mbits and _of_the_paper(setting))


AT_PAPER = _at("10 Gbit/s", (paper.MBIT,))
# A step from one link to the next faster one is of the faster one's setting.
OVER_LINKS = _at("200 Mbit/s to 10 Gbit/s", paper.LINKS[1:])
IN_CLOUD = Place("links as in a cloud", lambda setting:
                 setting.bed == "cloud" and _of_the_paper(setting))


def as_named(text):
    """Of a check that reads no other cells than the claim is about."""
    return Place(text, lambda _setting: True)


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str
    source: str
    text: str
    at: Place
    check: Callable
    why: str
    why_not: str

    def judge(self, measured, analyser):
        return self.check(measured, analyser).verdict(self.at.has)


def _shaped(most_mbit):
    return lambda mbit: mbit is not None and mbit <= most_mbit


def _ladders(measured, scheme, **wanted):
    """Samples of one scheme that differ in the object's size alone, from the
    smallest to the largest."""
    ladders = {}
    for setting, sample in measured.find(scheme, **wanted):
        key = dataclasses.replace(setting, object_bytes=0)
        ladders.setdefault(key, []).append((setting, sample))
    return [steps for steps in ladders.values() if len(steps) > 1]


def grows_with_size(measured, _analyser):
    tally = Tally()
    for scheme in (PAPER_COPIES, *HELD):
        for steps in _ladders(measured, scheme, experiment="exp1",
                              operation=("put", "get"), threshold_bytes=0):
            for (_, less), (setting, more) in zip(steps, steps[1:]):
                ratio = more.median / less.median
                tally.add(setting, ratio >= 1 - EQUAL, ratio,
                          f"{ratio:.2f} of the time of the size before",
                          scheme=scheme)
    return tally.summed("from one size to the next {values} of the time",
                        "{least:.2f} to {most:.2f}")


def codes_write_alike(measured, _analyser):
    tally = Tally(low_is_worse=False)
    for setting, *samples in measured.find(
            *HELD, experiment="exp1", operation="put", threshold_bytes=0):
        medians = [sample.median for sample in samples]
        spread = max(medians) / min(medians) - 1
        tally.add(setting, spread <= 0.1, 100 * spread,
                  f"{100 * spread:.0f} % apart")
    return tally.summed("slowest over fastest {values}",
                        "{least:.0f} to {most:.0f} %")


def _against_copies(measured, tally, schemes, limit, counts=None, copies=COPIES,
                    **wanted):
    """Adds each coded scheme's time over that of copies; `limit` says whether
    a ratio is as claimed, `counts`, if given, of (setting, copies) whether the
    claim is about them."""
    left_out = []
    for scheme in schemes:
        for setting, sample in measured.find(scheme, **wanted):
            whole = measured.copies(setting, copies)
            if whole is None:
                continue
            ratio = sample.median / whole.median
            if counts and not counts(setting, whole):
                left_out.append(ratio)
                continue
            tally.add(setting, limit(ratio), ratio,
                      f"{ratio:.2f} of copies", scheme=scheme)
    summary = f"coding takes {{values}} of the time of {NAMES[copies]}"
    if left_out:
        summary += (f" (beside {min(left_out):.2f} to {max(left_out):.2f} in "
                    f"{len(left_out)} that do not count: copies came at twice "
                    "the link's rate, out of its burst)")
    return tally.summed(summary, "{least:.2f} to {most:.2f}")


def _link_is_limit(setting, copies):
    """Not where copies came out of what the link lets through at once: in less
    than half of the time that it takes at its rate."""
    at_rate = setting.object_bytes * 8 / (setting.link_mbit * 1e6)
    return copies.median >= at_rate / 2


def copies_write_faster(measured, _analyser):
    return _against_copies(measured, Tally(), HELD, lambda ratio: ratio > 1,
                           copies=PAPER_COPIES, experiment="exp1",
                           operation="put", threshold_bytes=0)


def copies_read_faster(measured, _analyser):
    return _against_copies(measured, Tally(), HELD, lambda ratio: ratio > 1,
                           copies=PAPER_COPIES, experiment="exp1",
                           operation="get", object_bytes=lambda b: b >= MIB)


def coding_writes_faster(measured, _analyser):
    return _against_copies(
        measured, Tally(low_is_worse=False), CODED, lambda ratio: ratio < 1,
        operation="put", bed=SHAPED, link_mbit=_shaped(1000),
        object_bytes=lambda b: b >= 64 * KIB)


def coding_reads_as_fast(measured, _analyser):
    return _against_copies(
        measured, Tally(low_is_worse=False), CODED, lambda ratio: ratio <= 1.1,
        counts=_link_is_limit, operation="get", bed=SHAPED,
        link_mbit=_shaped(1000), object_bytes=lambda b: b >= 64 * KIB)


def coding_reads_faster_over_servers(measured, _analyser):
    return _against_copies(
        measured, Tally(low_is_worse=False), CODED, lambda ratio: ratio < 1,
        counts=_link_is_limit, operation="get", bed=SERVER_LINKS,
        object_bytes=lambda b: b >= 64 * KIB)


def ers_beats_srs(experiment):
    def check(measured, _analyser):
        tally = Tally()
        for scheme in PAPER_ERS:
            for setting, srs, sample in measured.find(
                    "srs", scheme, experiment=experiment,
                    operation=TRANSITIONS):
                saved = reduction(srs, sample)
                tally.add(setting, saved > 0, saved,
                          f"{saved:.1f} %", scheme=scheme)
        return tally.summed("{values} less than SRS",
                            "{least:.1f} to {most:.1f} %")
    return check


def ers2_beats_ers1(measured, _analyser):
    tally = Tally()
    for setting, first, second in measured.find(
            *PAPER_ERS, experiment=("exp2", "exp3"), operation=TRANSITIONS):
        saved = reduction(first, second)
        tally.add(setting, saved > -100 * EQUAL, saved, f"{saved:.1f} %")
    return tally.summed("{values} less than ERS-1", "{least:.1f} to {most:.1f} %")


def gains_grow_with_size(measured, _analyser):
    tally = Tally()
    for scheme in PAPER_ERS:
        for steps in _ladders(measured, scheme, experiment=("exp2", "exp3"),
                              operation=TRANSITIONS):
            gains = [(setting, reduction(measured.settings[setting]["srs"],
                                         sample))
                     for setting, sample in steps
                     if "srs" in measured.settings[setting]]
            if len(gains) > 1:
                change = gains[-1][1] - gains[0][1]
                tally.add(gains[-1][0], change > 0, change,
                          f"{change:+.1f} points over the smallest object",
                          scheme=scheme)
    return tally.summed("{values} from the smallest object to the largest",
                        "{least:+.1f} to {most:+.1f} points")


def as_far_as(direction, most):
    def check(measured, _analyser):
        best = {}
        for setting, srs, sample in measured.find(
                "srs", "ers2-paper", experiment="exp3", operation=direction):
            # The paper's best is of its sets, on one kind of links.
            key = (setting.bed, setting.link_mbit, setting.tcp,
                   _of_the_paper(setting))
            saved = reduction(srs, sample)
            if key not in best or saved > best[key][0]:
                best[key] = (saved, setting)
        tally = Tally()
        for saved, setting in best.values():
            tally.add(setting, saved >= most, saved, f"{saved:.1f} %")
        return tally.summed("{values}", "at most {most:.1f} %")
    return check


def gains_near_theory(measured, analyser):
    tally = Tally()
    for scheme in PAPER_ERS:
        for setting, srs, sample in measured.find(
                "srs", scheme, experiment="exp3", operation="forward",
                object_bytes=4 * MIB):
            gap = reduction(srs, sample) - analyser.reduction(setting, scheme)
            tally.add(setting, abs(gap) <= 10, gap,
                      f"{gap:+.1f} points", scheme=scheme)
    return tally.summed("{values} beside the blocks read",
                        "{least:+.1f} to {most:+.1f} points")


def gains_grow_on_slow_links(measured, _analyser):
    chains = {}
    for scheme in PAPER_ERS:
        for setting, srs, sample in measured.find(
                "srs", scheme, experiment="exp4", operation=TRANSITIONS):
            key = (scheme, dataclasses.replace(setting, link_mbit=None))
            chains.setdefault(key, []).append((setting, reduction(srs, sample)))
    tally = Tally()
    for (scheme, _), chain in chains.items():
        for (_, slow), (setting, fast) in zip(chain, chain[1:]):
            tally.add(setting, slow >= fast, slow - fast,
                      f"{fast - slow:+.1f} points over the slower link",
                      scheme=scheme)
    return tally.summed("from each link to the next faster one the gain falls "
                        "by {values}", "{least:.1f} to {most:.1f} points")


def order_selection_saves(measured, _analyser):
    tally = Tally()
    for setting, without, selected in measured.find(
            "ers2-no-order", "ers2-paper", experiment="exp5",
            operation="backward"):
        saved = reduction(without, selected)
        tally.add(setting, saved > 0, saved, f"{saved:.1f} %")
    return tally.summed("{values} less than without", "{least:.1f} to {most:.1f} %")


def cloud_gains_more_when_small(measured, _analyser):
    tally = Tally()
    for setting, srs, sample in measured.find(
            "srs", "ers2-paper", experiment="exp7", operation=TRANSITIONS):
        small = setting.parameters() in paper.SETS[:2]
        for other, local_srs, local in measured.find(
                "srs", "ers2-paper", experiment="exp3", k=setting.k,
                m=setting.m, k_to=setting.k_to, operation=setting.operation,
                object_bytes=setting.object_bytes, link_mbit=paper.MBIT):
            if other.tcp != setting.tcp:
                tally.refuse(setting, f"the cloud's rows are under "
                             f"{setting.tcp}, the local ones under {other.tcp}")
                continue
            change = reduction(srs, sample) - reduction(local_srs, local)
            tally.add(setting, (change > 0) == small, change,
                      f"{change:+.1f} points")
    return tally.summed("{values} beside the local ones",
                        "{least:+.1f} to {most:+.1f} points")


def time_follows_blocks(measured, analyser):
    allowed = {4 * MIB: 5, MIB: 8}
    tally = Tally()
    for scheme in ("ers2-paper", "ers2-optimal"):
        for setting, srs, sample in measured.find(
                "srs", scheme, bed=SHAPED, operation=TRANSITIONS,
                link_mbit=(200, 500), object_bytes=tuple(allowed)):
            saved = reduction(srs, sample)
            blocks = analyser.reduction(setting, scheme)
            spare = saved - blocks + allowed[setting.object_bytes]
            tally.add(setting, spare >= 0, saved - blocks,
                      f"time {saved:.1f} %, blocks {blocks:.1f} %",
                      scheme=scheme)
    return tally.summed("{values} beside the blocks read",
                        "{least:+.1f} to {most:+.1f} points")


def order_of_schemes(measured, _analyser):
    order = ("reencode", "srs", "ers1", "ers2-paper", "ers2-optimal")
    tally = Tally(low_is_worse=False)
    for slow, fast in zip(order, order[1:]):
        for setting, slower, faster in measured.find(
                slow, fast, bed=SHAPED, operation=TRANSITIONS, link_mbit=200,
                experiment=BY_PARAMETERS):
            ratio = faster.median / slower.median
            # Equal work takes equal time, less work takes less.
            equal = slower.blocks() == faster.blocks()
            holds = abs(ratio - 1) <= EQUAL if equal else ratio < 1
            tally.add(setting, holds, ratio, f"{ratio:.2f}" + (
                ", as many blocks" if equal else ""),
                scheme=f"{fast} over {slow}")
    return tally.summed("each takes {values} of the time of the one before it",
                        "{least:.2f} to {most:.2f}")


def bytes_as_counted(measured, _analyser):
    tally = Tally()
    for setting, samples in sorted(measured.settings.items(),
                                   key=lambda item: item[0].sort_key()):
        if setting.operation not in TRANSITIONS:
            continue
        for scheme, sample in samples.items():
            for way in ("in", "out"):
                moved = sample.middle(f"payload_{way}")
                expected = sample.middle(f"expected_{way}")
                if moved is not None and expected:
                    over = 100 * (moved / expected - 1)
                    tally.add(setting, abs(over) <= 1, over,
                              f"{over:+.2f} % {way}", scheme=scheme)
    return tally.summed("{values} beside the count",
                        "{least:+.2f} to {most:+.2f} %")


def interfaces_agree(measured, _analyser):
    tally = Tally(low_is_worse=False)
    for setting, samples in sorted(measured.settings.items(),
                                   key=lambda item: item[0].sort_key()):
        for scheme, sample in samples.items():
            ratios = [ratio for row in sample.rows
                      if (ratio := rows.interface_ratio(row)) is not None]
            if ratios:
                over = 100 * (statistics.median(ratios) - 1)
                tally.add(setting, abs(over) <= 100 * rows.INTERFACE_TOLERANCE,
                          over, f"{over:+.1f} %", scheme=scheme)
    return tally.summed("{values} beside the sockets",
                        "{least:+.1f} to {most:+.1f} %")
