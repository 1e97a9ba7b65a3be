"""Draws the report's figures, each as PNG and SVG.

Bars and points are medians; bars of error are the least and the most of all
repetitions on times, as in the paper, and 95 % of resampled medians on
reductions. The paper's own values are drawn hollow. Nothing is shown by colour
alone: schemes have markers, dashes and hatches of their own. Axes begin at 0,
or say that they are logarithmic. """

import dataclasses
import os
import random
import statistics
from collections.abc import Callable

import matplotlib

from reporting import paper
from reporting.samples import (MIB, NAMES, Setting, label, links, reduction,
                               size)

matplotlib.use("Agg")
# Ids in the SVG are random otherwise.
matplotlib.rcParams["svg.hashsalt"] = "libers"
from matplotlib import pyplot, ticker  # noqa: E402, after the choice above

# Okabe and Ito's colours: distinct for every kind of colour vision.
COLOURS = {"rep": "#000000", "libmemcached-copies": "#CC79A7",
           "srs": "#999999", "ers1": "#E69F00", "ers2-paper": "#56B4E9",
           "ers2-no-order": "#D55E00", "ers2-optimal": "#0072B2",
           "reencode": "#D55E00", "rs": "#009E73"}
MARKERS = {"rep": "s", "libmemcached-copies": "D", "srs": "v", "ers1": "^",
           "ers2-paper": "o", "ers2-optimal": "P", "reencode": "X", "rs": "*"}
DASHES = {"rep": "-", "libmemcached-copies": (0, (1, 1)), "srs": "--",
          "ers1": "-.", "ers2-paper": (0, (5, 1)), "ers2-optimal": "-",
          "reencode": (0, (1, 2)), "rs": (0, (3, 1, 1, 1, 1, 1))}
HATCHES = {"srs": "", "ers1": "///", "ers2-paper": "...", "ers2-optimal": "",
           "reencode": "xxx", "rs": "---", "ers2-no-order": "|||"}
# On a logarithmic axis, so that what is equal is not hidden.
APART = 0.05
RESAMPLED = 400
LEAST_SHOWN = -30  # per cent


def interval(baseline, sample):
    """Bounds of 95 % of the reductions that resampled rows give."""
    chance = random.Random(len(baseline.seconds) * 1000 + len(sample.seconds))
    found = sorted(
        100 * (1 - statistics.median(chance.choices(
            sample.seconds, k=len(sample.seconds))) /
            statistics.median(chance.choices(
                baseline.seconds, k=len(baseline.seconds))))
        for _ in range(RESAMPLED))
    return found[RESAMPLED // 40], found[-1 - RESAMPLED // 40]


def finish(figure, directory, name):
    for ending in ("png", "svg"):
        # No date inside: the same rows give the same file.
        metadata = {"Date": None} if ending == "svg" else None
        figure.savefig(os.path.join(directory, f"{name}.{ending}"), dpi=90,
                       metadata=metadata, bbox_inches="tight")
    pyplot.close(figure)
    return name


def panels(rows, columns, width=4.6, height=3.4):
    return pyplot.subplots(
        len(rows), len(columns), squeeze=False, layout="constrained",
        figsize=(max(7, width * len(columns)), height * len(rows) + 0.6))


def quiet(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.grid(True, color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)


def logarithmic(axes):
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 100 * low:
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axes.set_ylabel("ms, logarithmic")


def from_nought(axes):
    """Reductions, beginning at 0, or below it where some are negative."""
    # One that noise decided would flatten all others.
    axes.set_ylim(bottom=min(0, max(axes.get_ylim()[0], LEAST_SHOWN)))
    axes.axhline(0, color="black", linewidth=0.7)


def legend(figure, grid):
    """One for all panels, below them."""
    entries = {}
    for axes in grid.flat:
        for handle, text in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    if entries:
        figure.legend(entries.values(), entries.keys(), frameon=False,
                      loc="upper center", bbox_to_anchor=(0.5, 0),
                      ncols=min(4, len(entries)))


def parts(values):
    return sorted(set(values), key=lambda v: (v is None, v))


def lines_by_size(measured, experiment, directory):
    """Time over the object's size: a row for each operation, a column for
    each bandwidth."""
    found = [setting for setting, in measured.find(experiment=experiment)]
    if not found:
        return None
    # As the paper has it, in blocks whatever the size, where that was run.
    coded = [s.threshold_bytes for s in found if s.k is not None]
    found = [s for s in found
             if s.k is None or s.threshold_bytes == min(coded)]
    rows = [o for o in ("put", "get", "forward", "backward")
            if any(s.operation == o for s in found)]
    columns = sorted({(s.bed, s.link_mbit) for s in found},
                     key=lambda c: (c[0], c[1] or float("inf")))
    figure, grid = panels(rows, columns)
    for row, operation in enumerate(rows):
        for column, (bed, mbit) in enumerate(columns):
            axes = grid[row][column]
            _lines(axes, measured,
                   [s for s in found if (s.operation, s.bed, s.link_mbit)
                    == (operation, bed, mbit)])
            axes.set_title(f"{operation}, {links(bed, mbit)}", fontsize=10,
                           loc="left")
    legend(figure, grid)
    return finish(figure, directory, f"{experiment}-times")


def _lines(axes, measured, settings):
    series = {}
    for setting in settings:
        for scheme, sample in measured.settings[setting].items():
            series.setdefault(scheme, {})[setting.object_bytes] = sample
    for scheme in (name for name in NAMES if name in series):
        sizes, samples = zip(*sorted(series[scheme].items()))
        beside = 2 ** (APART * (list(NAMES).index(scheme) - 3))
        axes.errorbar(
            [beside * s for s in sizes], [1000 * s.median for s in samples],
            label=NAMES[scheme], color=COLOURS[scheme],
            marker=MARKERS.get(scheme, "."), linestyle=DASHES[scheme],
            markersize=5, linewidth=1.3, elinewidth=0.8, capsize=2,
            yerr=_range(samples))
    axes.set_xscale("log", base=2)
    measured_sizes = parts(s.object_bytes for s in settings)
    axes.set_xticks(measured_sizes, [size(s) for s in measured_sizes],
                    rotation=25, ha="right", rotation_mode="anchor")
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    logarithmic(axes)
    quiet(axes)


def _range(samples):
    """From the median down to the least and up to the most."""
    return [[1000 * (s.median - s.least) for s in samples],
            [1000 * (s.most - s.median) for s in samples]]


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where a setting is drawn: which row and column of panels, and where on
    their axis, each by a key that sorts and its text."""
    row: Callable
    row_label: Callable
    column: Callable
    column_label: Callable
    place: Callable
    place_label: Callable


def bars(measured, experiment, directory, layout):
    """Times of transitions."""
    found = measured.find(experiment=experiment,
                          operation=("forward", "backward"))
    if not found:
        return None
    figure, grid, cells = layout_panels([s for s, in found], layout)
    for axes, here in cells:
        schemes = [n for n in NAMES
                   if any(n in measured.settings[s] for s in here)]
        width = 0.8 / max(1, len(schemes))
        for number, scheme in enumerate(schemes):
            places, samples = zip(*(
                (i, measured.settings[s][scheme])
                for i, s in enumerate(here)
                if scheme in measured.settings[s]))
            axes.bar([i + (number - (len(schemes) - 1) / 2) * width
                      for i in places],
                     [1000 * s.median for s in samples], width,
                     color=COLOURS[scheme], label=NAMES[scheme],
                     hatch=HATCHES[scheme], edgecolor="black", linewidth=0.5,
                     error_kw={"elinewidth": 0.8}, capsize=1.5,
                     yerr=_range(samples))
        axes.set_xticks(range(len(here)),
                        [layout.place_label(s) for s in here], rotation=25,
                        ha="right", rotation_mode="anchor")
        axes.set_ylabel("ms")
        quiet(axes)
        if len({s.link_mbit for s in here}) > 1:
            # Over bandwidths, the slowest would flatten all others.
            logarithmic(axes)
    legend(figure, grid)
    return finish(figure, directory, f"{experiment}-times")


def reductions(measured, analyser, experiment, directory, layout):
    """By how much each scheme reduces SRS's time: ours, the paper's, and what
    the blocks read come to."""
    schemes = ("ers1", "ers2-paper", "ers2-optimal")
    settings = [s for s, _ in measured.find("srs", experiment=experiment,
                                            operation=("forward", "backward"))
                if any(n in measured.settings[s] for n in schemes)]
    if not settings:
        return None
    figure, grid, cells = layout_panels(settings, layout)
    for axes, here in cells:
        for number, scheme in enumerate(schemes):
            for i, setting in enumerate(here):
                samples = measured.settings[setting]
                if scheme not in samples:
                    continue
                _reduction(axes, i + (number - 1) * 0.25, setting, scheme,
                           samples, analyser)
        axes.set_xticks(range(len(here)),
                        [layout.place_label(s) for s in here], rotation=25,
                        ha="right", rotation_mode="anchor")
        axes.set_xlim(-0.5, len(here) - 0.5)
        axes.set_ylabel("% less than SRS")
        from_nought(axes)
        quiet(axes)
    legend(figure, grid)
    return finish(figure, directory, f"{experiment}-reductions")


def _reduction(axes, place, setting, scheme, samples, analyser):
    srs, sample = samples["srs"], samples[scheme]
    low, high = interval(srs, sample)
    ours = reduction(srs, sample)
    axes.errorbar([place], [ours], color=COLOURS[scheme],
                  marker=MARKERS[scheme], linestyle="none", capsize=2, label=NAMES[scheme],
                  yerr=[[max(0, ours - low)], [max(0, high - ours)]])
    printed = paper.reduction(setting, scheme)
    if printed is not None and scheme != "ers2-optimal":
        axes.plot([place + 0.07], [printed], color=COLOURS[scheme],
                  marker=MARKERS[scheme], fillstyle="none", linestyle="none",
                  label=f"{NAMES[scheme]}: the paper's value")
    blocks = analyser.reduction(setting, scheme)
    if blocks is not None:
        axes.hlines([blocks], place - 0.11, place + 0.11, color="black",
                    linewidth=1.2, label="fewer blocks read")


def order_selection(measured, directory):
    found = measured.find("ers2-no-order", "ers2-paper", experiment="exp5",
                          operation="backward")
    if not found:
        return None
    sizes = parts(s.object_bytes for s, *_ in found)
    rates = sorted({(s.bed, _rate(s)) for s, *_ in found})
    figure, grid = panels(sizes, rates)
    for wanted, line in zip(sizes, grid):
        for rate, axes in zip(rates, line):
            _selected(axes, [f for f in found
                             if f[0].object_bytes == wanted
                             and (f[0].bed, _rate(f[0])) == rate])
    legend(figure, grid)
    return finish(figure, directory, "exp5-order-selection")


def _selected(axes, here):
    if not here:
        axes.set_axis_off()
        return
    for i, (setting, without, selected) in enumerate(here):
        ours = reduction(without, selected)
        low, high = interval(without, selected)
        axes.errorbar([i], [ours], color=COLOURS["ers2-paper"], marker="o",
                      linestyle="none", capsize=2, label="here",
                      yerr=[[max(0, ours - low)], [max(0, high - ours)]])
        printed = paper.order_selection(setting)
        if printed is not None:
            axes.plot([i + 0.2], [printed], color="black", marker="D",
                      fillstyle="none", linestyle="none",
                      label="the paper's value")
    axes.set_xticks(range(len(here)),
                    [label(s.parameters()) for s, *_ in here], rotation=25,
                    ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.5, len(here) - 0.5)
    first = here[0][0]
    axes.set_title(f"backward, {size(first.object_bytes)}, {first.links()}",
                   fontsize=10, loc="left")
    axes.set_ylabel("% less than without selection")
    from_nought(axes)
    quiet(axes)


def layout_panels(settings, layout):
    """(figure, its panels, [(panel, its settings in order)]), with titles."""
    rows = sorted({layout.row(s) for s in settings}, reverse=True)
    columns = sorted({layout.column(s) for s in settings})
    figure, grid = panels(rows, columns, width=5.4)
    cells = []
    for row, line in zip(rows, grid):
        for column, axes in zip(columns, line):
            here = sorted((s for s in settings if layout.row(s) == row
                           and layout.column(s) == column), key=layout.place)
            if not here:
                axes.set_axis_off()
                continue
            axes.set_title(f"{layout.row_label(here[0])}, "
                           f"{layout.column_label(here[0])}", fontsize=10,
                           loc="left")
            cells.append((axes, here))
    return figure, grid, cells


def _rate(setting):
    return setting.link_mbit or float("inf")


# Forward comes above backward, and small objects above large ones.
BY_SET = Layout(
    lambda s: (s.operation, -s.object_bytes),
    lambda s: f"{s.operation}, {size(s.object_bytes)}",
    lambda s: (s.bed, _rate(s)), lambda s: s.links(),
    Setting.parameters, lambda s: label(s.parameters()))
BY_LINK = Layout(
    lambda s: s.operation, lambda s: s.operation,
    Setting.parameters, lambda s: label(s.parameters()),
    lambda s: (_rate(s), s.object_bytes),
    lambda s: s.links() + (
        "" if s.object_bytes == MIB else f", {size(s.object_bytes)}"))


def draw_all(measured, analyser, directory):
    """Every figure that there are rows for: {experiment: [names]}."""
    os.makedirs(directory, exist_ok=True)
    drawn = {}
    for experiment in ("exp1", "exp1-servers", "exp2", "exp6"):
        drawn[experiment] = [lines_by_size(measured, experiment, directory)]
    for experiment, layout in (("exp3", BY_SET), ("exp4", BY_LINK),
                               ("exp7", BY_SET)):
        drawn[experiment] = [
            bars(measured, experiment, directory, layout),
            reductions(measured, analyser, experiment, directory, layout)]
    drawn["exp5"] = [order_selection(measured, directory)]
    return {experiment: [name for name in names if name]
            for experiment, names in drawn.items()}
