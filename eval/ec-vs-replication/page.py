"""Writes docs/evaluation/ec-vs-replication.md and its heat maps."""

import math
import os

import model
from reporting.markdown import table
from reporting.samples import BED_NAMES, KIB, NAMES, label, link, size

# The boundary is searched for among these sizes.
GRID = tuple(round(KIB * 2 ** (i / 4)) for i in range(49))  # to 4 MiB
NOISE = 0.05
# The paper's: coding writes faster at 10 Mbit/s and less, from 500 KB up.
PAPER_MBIT, PAPER_BYTES = 10, 500_000
HEAD = """# Coding against copies, by bandwidth and size

`eval/ec-vs-replication/report` made this page, and [advice.json](../../eval/ec-vs-replication/advice.json), by which `ersctl advise`
answers, from the rows of `eval/ec-vs-replication/measure` in [eval/rows/kv.csv](../../eval/rows/kv.csv); it is not edited by
hand. The paper is that on erasure coding against replication in key-value stores.

"""


class Comparison:
    """A coded scheme beside copies in one setting."""

    def __init__(self, setting, scheme, coded, copies):
        self.setting = setting
        self.scheme = scheme
        self.coded = coded
        self.copies = copies
        self.ratio = coded.median / copies.median

    def clearly_faster(self):
        """Even its slowest run is faster than the fastest with copies, and the
        median by more than noise."""
        return (self.coded.most < self.copies.least
                and self.ratio < 1 - NOISE)


def comparisons(measured, experiment):
    found = []
    for setting, in measured.find(experiment=experiment,
                                  operation=model.OPERATIONS):
        copies = measured.copies(setting)
        if setting.k is None or copies is None:
            continue
        for scheme in ("rs", "ers2-optimal"):
            if scheme in measured.settings[setting]:
                found.append(Comparison(
                    setting, scheme, measured.settings[setting][scheme],
                    copies))
    return found


def setting_part(measured, experiment):
    bursts = [r.burst_bytes for r in measured.rows
              if r.experiment == experiment and r.burst_bytes]
    found = [s for s in measured.settings if s.experiment == experiment]
    rows = [r for r in measured.rows if r.experiment == experiment]
    repetitions = sorted({len(sample.rows) for s in found
                          for sample in measured.settings[s].values()})
    return (f"{len(rows)} operations: `put` and `get` of "
            f"{size(min(s.object_bytes for s in found))} to "
            f"{size(max(s.object_bytes for s in found))}, one at a time, over "
            + ", ".join(link(m) for m in sorted(
                {s.link_mbit for s in found},
                key=lambda m: m or float("inf")))
            + ", on " + ", ".join(sorted({BED_NAMES[s.bed] for s in found}))
            + "; " + " to ".join(map(str, sorted({repetitions[0],
                                                  repetitions[-1]})))
            + " repetitions of each, "
            "medians of which are shown; revision "
            + ", ".join(sorted({r.revision for r in rows}))
            + ". Nothing is kept whole for being small here."
            + (f" A link lets {size(min(bursts))} or more through at once: "
               "below that its rate plays no part, which the model leaves out."
               if bursts else "") + "\n\n")


def claims_part(found):
    reads = [c for c in found if c.setting.operation == "get"]
    wins = [c for c in reads if c.clearly_faster()]
    paper = [c for c in found if c.setting.operation == "put"
             and c.setting.link_mbit is not None
             and c.setting.link_mbit <= PAPER_MBIT
             and c.setting.object_bytes >= PAPER_BYTES]
    beyond = [c for c in found if c.setting.operation == "put"
              and c not in paper]

    def share(part):
        return f"{sum(c.ratio < 1 for c in part)} of {len(part)}"

    lines = [
        ["Coding writes faster at 10 Mbit/s and less, from 500 KB up.",
         share(paper) if paper else "not measured",
         "(k+m)/k times the object leaves, not m+1 times."],
        ["Elsewhere copies write faster.",
         f"coding is faster in {share(beyond)} settings elsewhere",
         "Encoding takes no time that shows, and blocks leave for all servers "
         "at once, so that bytes decide far beyond 10 Mbit/s."],
        ["Reads are never faster from coded objects.",
         f"coding is faster in {share(reads)} settings, at best "
         f"{min((c.ratio for c in reads), default=1):.2f} of the time; in "
         f"{len(wins)} it is so by {100 * NOISE:.0f} % and its slowest read is "
         "faster than the fastest of a copy; the model has it so where the "
         "boundary below says",
         "Blocks come from several servers side by side, and nothing is "
         "computed where no server is missing; where the client's link is the "
         "limit, both take the same." if wins else
         "Where the client's link is the limit, both take the same."]]
    text = "## What that paper says\n\n" + table(
        ["it says", "here", "why"], lines)
    if wins:
        text += ("Reads that coding clearly wins:\n\n" + table(
            ["links", "object", "scheme", "set", "coded, ms", "copy, ms",
             "ratio"],
            [[link(c.setting.link_mbit), size(c.setting.object_bytes),
              NAMES[c.scheme], label(c.setting.parameters()),
              f"{1000 * c.coded.median:.3f}", f"{1000 * c.copies.median:.3f}",
              f"{c.ratio:.2f}"] for c in wins]))
    return text


def model_part(fits):
    lines = [["coded" if coded else "copies", operation,
              *(f"{c:.3g}" for c in fit.coefficients), f"{fit.penalty:g}",
              f"{100 * fit.error:.0f}", fit.cells]
             for (coded, operation), fit in sorted(fits.items())]
    return ("## Model\n\nRidge regression, least relative errors, no term "
            "below 0, the penalty chosen by what was left out: seconds = "
            "fixed + link * bytes * 8 / rate + byte * bytes + server * servers "
            "+ block * blocks, of what an operation moves and touches.\n\n" +
            table(["", "", *model.TERMS, "penalty", "median error, %",
                   "settings"], lines))


def boundary_part(fits, mbits, sets):
    text = ("## Boundary\n\nThe size from which on the model has coding "
            "faster, up to 4 MiB:\n\n")
    lines = []
    for k, m, k_to in sets:
        copies = model.shape("rep", None, m, None)
        for name in ("rs", "ers2-optimal"):
            coded = model.shape(name, k, m, k_to)
            for operation in model.OPERATIONS:
                line = [f"`{coded.scheme}`", f"`{copies.scheme}`", operation]
                for mbit in mbits:
                    least = model.boundary(fits, coded, copies, operation,
                                           mbit, GRID)
                    line.append("never" if least is None else
                                "always" if least == GRID[0] else
                                f"{least / KIB:.0f} KiB")
                lines.append(line)
    return text + table(["scheme", "beside", "", *map(link, mbits)], lines)


def measured_part(found):
    text = ("## Measured\n\nTime of coded objects as part of that of copies "
            "that survive as many failures.\n\n")
    mbits = sorted({c.setting.link_mbit for c in found},
                   key=lambda m: m or float("inf"))
    rows = {}
    for c in found:
        key = (c.setting.operation, c.setting.parameters(), c.scheme,
               c.setting.object_bytes)
        rows.setdefault(key, {})[c.setting.link_mbit] = f"{c.ratio:.2f}"
    return text + table(
        ["", "set", "scheme", "object", *map(link, mbits)],
        [[operation, label(parameters), NAMES[scheme], size(object_bytes),
          *(cells.get(m, "") for m in mbits)]
         for (operation, parameters, scheme, object_bytes), cells
         in sorted(rows.items())])


def _predicted(fits, coded, copies, operation, object_bytes, mbit):
    """Time of the coded object over that of copies, by the model."""
    return (fits[True, operation].seconds(coded, operation, object_bytes, mbit)
            / fits[False, operation].seconds(copies, operation, object_bytes,
                                             mbit))


def at(values, place):
    """The value at a place between the indices of those measured."""
    i = min(max(math.floor(place), 0), len(values) - 2)
    return values[i] * (values[i + 1] / values[i]) ** (place - i)


def draw(found, fits, sets, path):
    import matplotlib
    matplotlib.use("Agg")
    # Ids in the SVG are random otherwise.
    matplotlib.rcParams["svg.hashsalt"] = "libers"
    import numpy
    from matplotlib import colors, patheffects, pyplot
    # What was measured stands at equal distances, so that no number hides
    # another; between and beyond, the axes are logarithmic.
    rates = sorted({c.setting.link_mbit for c in found
                    if c.setting.link_mbit is not None})
    sizes = sorted({c.setting.object_bytes for c in found})
    places = numpy.linspace(-0.5, len(rates) - 0.5, 10 * len(rates))
    heights = numpy.linspace(-0.5, len(sizes) - 0.5, 10 * len(sizes))
    figure, grid = pyplot.subplots(
        2, len(sets), squeeze=False, layout="constrained",
        figsize=(4.6 * len(sets) + 1, 7.4))
    shades = colors.TwoSlopeNorm(0, math.log2(0.4), math.log2(2.5))
    for line, operation in zip(grid, model.OPERATIONS):
        for axes, (k, m, k_to) in zip(line, sets):
            coded = model.shape("ers2-optimal", k, m, k_to)
            copies = model.shape("rep", None, m, None)
            ratio = numpy.array([[math.log2(_predicted(
                fits, coded, copies, operation, at(sizes, b), at(rates, r)))
                for r in places] for b in heights])
            # Blue: coding is faster, as in the paper.
            shown = axes.pcolormesh(places, heights, ratio, cmap="RdBu_r",
                                    norm=shades, shading="nearest",
                                    rasterized=True)
            if ratio.min() < 0 < ratio.max():
                axes.contour(places, heights, ratio, levels=[0],
                             colors="black", linewidths=1.2)
            for c in found:
                if (c.setting.operation == operation
                        and c.scheme == "ers2-optimal"
                        and c.setting.parameters() == (k, m, k_to)
                        and c.setting.link_mbit is not None):
                    axes.text(rates.index(c.setting.link_mbit),
                              sizes.index(c.setting.object_bytes),
                              f"{c.ratio:.2f}", fontsize=8, ha="center",
                              va="center", path_effects=[
                                  patheffects.withStroke(
                                      linewidth=2.5, foreground="white")])
            axes.set_xticks(range(len(rates)), [f"{r:g}" for r in rates])
            axes.set_yticks(range(len(sizes)), [size(b) for b in sizes])
            axes.set_title(f"{operation}: {coded.scheme} beside "
                           f"{copies.scheme}", fontsize=10, loc="left")
            axes.set_xlabel("Mbit/s, as measured")
    bar = figure.colorbar(shown, ax=grid, shrink=0.6, ticks=[
        math.log2(v) for v in (0.5, 0.7, 1, 1.4, 2)])
    bar.ax.set_yticklabels(["0.5", "0.7", "1", "1.4", "2"])
    bar.set_label("time of coded objects / time of copies; line: equal")
    for ending in ("png", "svg"):
        # No date inside: the same rows give the same file.
        figure.savefig(f"{path}.{ending}", dpi=110,
                       metadata={"Date": None} if ending == "svg" else None)
    pyplot.close(figure)


def render(measured, experiment, fits, figure):
    """`figure` is the path of the heat maps as seen from the page, or None."""
    found = comparisons(measured, experiment)
    sets = sorted({c.setting.parameters() for c in found})
    text = HEAD + setting_part(measured, experiment) + claims_part(found)
    if figure:
        text += ("## Heat maps\n\nColour and line are the model's: below 1, blue, coding "
                 f"is faster. Numbers were measured.\n\n![heat maps]({figure}.png)\n\n"
                 f"[As SVG]({figure}.svg).\n\n")
    if fits:
        mbits = sorted({c.setting.link_mbit for c in found
                        if c.setting.link_mbit is not None})
        text += boundary_part(fits, mbits, sets) + model_part(fits)
    return (text + measured_part(found)).rstrip("\n") + "\n"
