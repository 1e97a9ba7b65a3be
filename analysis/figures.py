#!/usr/bin/env python3
"""Draws the figures of `ers-analyze figures` from its CSV rows.

usage: figures.py FIGURE_SETS.csv SWEEP.csv DIRECTORY

Writes figure9, figure10 and bound into DIRECTORY, each as .png and .svg.
Computes nothing but the drawing: every number shown is in the rows.
"""

import csv
import os
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError as error:
    sys.exit(f"figures need matplotlib ({error}): install the Debian package "
             "python3-matplotlib, or name a Python that has it by --python")

# Okabe and Ito's colours: distinct for every kind of colour vision, and by
# lightness in grey print.
GREY, ORANGE, BLUE, BLACK = "#999999", "#E69F00", "#0072B2", "#000000"

BARS = (("srs-paper", "paper", "SRS (the paper's rule)", GREY),
        ("ers1", "paper", "ERS-1", ORANGE),
        ("ers2", "paper", "ERS-2", BLUE))


def read_rows(path):
    """{(set, scheme, direction, variant): row}; sets in file order."""
    with open(path, newline="", encoding="ascii") as file:
        return {((int(row["k"]), int(row["m"]), int(row["kp"])),
                 row["scheme"], row["direction"], row["variant"]): row
                for row in csv.DictReader(file)}


def sets_of(rows):
    return list(dict.fromkeys(key[0] for key in rows))


def label(parameters):
    return "(" + ",".join(str(number) for number in parameters) + ")"


def finish(figure, directory, name):
    for ending in ("png", "svg"):
        # No date inside: the same rows give the same file.
        metadata = {"Date": None} if ending == "svg" else None
        figure.savefig(os.path.join(directory, f"{name}.{ending}"), dpi=150,
                       metadata=metadata)
    pyplot.close(figure)


def quiet(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.grid(True, color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)


def draw_bars(axes, positions, width, heights, colour, text, **numbers):
    bars = axes.bar(positions, heights, width, color=colour, label=text,
                    edgecolor="white", linewidth=0.4)
    axes.bar_label(bars, **numbers)


def draw_legend(axes, place, **options):
    # Opaque, so that no grid line runs through the words.
    axes.legend(loc=place, framealpha=1, edgecolor="none", **options)


def reads_figure(rows, direction, title, directory, name):
    """Figures 9 and 10: blocks read by SRS, ERS-1 and ERS-2, by set."""
    sets = sets_of(rows)
    figure, axes = pyplot.subplots(figsize=(13, 5.2), layout="constrained")
    width = 0.28
    for number, (scheme, variant, text, colour) in enumerate(BARS):
        heights = [int(rows[s, scheme, direction, variant]["reads"])
                   for s in sets]
        positions = [i + (number - 1) * width for i in range(len(sets))]
        draw_bars(axes, positions, width, heights, colour, text, fontsize=7,
                  padding=2, rotation=90)
    axes.set_title(title, fontsize=12, loc="left")
    axes.set_xticks(range(len(sets)), [label(s) for s in sets], rotation=45,
                    ha="right", rotation_mode="anchor")
    axes.set_xlabel("(k, m, k′): 23 sets of our choice, among them every set "
                    "that section 6 of the paper names")
    axes.set_ylabel("blocks read for one group")
    axes.set_xlim(-0.7, len(sets) - 0.3)
    axes.margins(y=0.1)
    draw_legend(axes, "upper left")
    quiet(axes)
    finish(figure, directory, name)


def bound_figure(rows, directory):
    """ERS-2 forward: the paper's plan, the optimal plan, the lower bound."""
    def reads(parameters, variant):
        return int(rows[parameters, "ers2", "forward", variant]["reads"])

    def bound(parameters):
        key = (parameters, "ers2", "forward", "optimal")
        return int(rows[key]["lower_bound"])

    def over(parameters, variant):
        return 100 * (reads(parameters, variant) / bound(parameters) - 1)

    every = sets_of(rows)
    differ = [s for s in every if reads(s, "paper") != reads(s, "optimal")]
    differ.sort(key=lambda s: -over(s, "paper"))
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(13, 5.2), layout="constrained", width_ratios=(3, 2))

    largest = differ[:14]
    width = 0.36
    for number, (variant, text, colour) in enumerate((
            ("paper", "paper's plan", ORANGE),
            ("optimal", "optimal plan", BLUE))):
        draw_bars(left, [i + (number - 0.5) * width
                         for i in range(len(largest))], width,
                  [reads(s, variant) for s in largest], colour, text,
                  fontsize=8, padding=3)
    left.hlines([bound(s) for s in largest],
                [i - width - 0.06 for i in range(len(largest))],
                [i + width + 0.06 for i in range(len(largest))],
                color=BLACK, linewidth=1.6, label="lower bound")
    left.set_title(f"The {len(largest)} sets with the largest difference",
                   fontsize=11, loc="left")
    left.set_xticks(range(len(largest)), [label(s) for s in largest],
                    rotation=45, ha="right", rotation_mode="anchor")
    left.set_xlabel("(k, m, k′)")
    left.set_ylabel("blocks read for one group")
    left.margins(y=0.2)
    draw_legend(left, "upper left", ncols=3)
    quiet(left)

    places = range(1, len(every) + 1)
    for variant, text, colour in (("paper", "paper's plan", ORANGE),
                                  ("optimal", "optimal plan", BLUE)):
        right.plot(places, sorted((over(s, variant) for s in every),
                                  reverse=True), color=colour, linewidth=2.2,
                   label=text)
    right.axhline(0, color=BLACK, linewidth=1.2, linestyle=(0, (4, 3)),
                  label="lower bound")
    right.set_title(f"All {len(every)} sets: {len(differ)} of the paper's "
                    "plans miss the bound", fontsize=11, loc="left")
    right.set_xlabel("sets, those furthest above the bound first")
    right.set_ylabel("reads above the lower bound (%)")
    right.set_xlim(1, len(every))
    draw_legend(right, "upper right")
    quiet(right)
    figure.suptitle("ERS-2, forward transition", fontsize=13, x=0.01,
                    ha="left")
    finish(figure, directory, "bound")


def main(arguments):
    if len(arguments) != 4:
        sys.exit(__doc__)
    # Ids in the SVG are random otherwise.
    matplotlib.rcParams["svg.hashsalt"] = "libers"
    chosen = read_rows(arguments[1])
    reads_figure(chosen, "forward", "Figure 9. Forward transition from "
                 "RS(k, m) to RS(k′, m): blocks read, by the paper's plans",
                 arguments[3], "figure9")
    reads_figure(chosen, "backward", "Figure 10. Backward transition from "
                 "RS(k′, m) to RS(k, m): blocks read, by the paper's plans",
                 arguments[3], "figure10")
    bound_figure(read_rows(arguments[2]), arguments[3])


if __name__ == "__main__":
    main(sys.argv)
