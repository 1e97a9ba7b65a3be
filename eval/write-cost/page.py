"""Writes docs/evaluation/write-cost.md and its figures."""

import os

import shares
from reporting.markdown import table
from reporting.samples import BED_NAMES, link, size

# Shares of a write's time that the paper gives, in per cent: of the part that
# takes most and of parity, by Mbit/s (its sections 4.1 to 4.3; 4 to 128 KiB).
PAPER = {1000: ("distribution, at most 93.1", "1.0"),
         10000: ("distribution, at most 78.7", "at most 4.1"),
         40000: ("distribution, 47.7", "at most 6.6"),
         100000: ("client, about 46 (predicted)", "9.2")}
CODE_NAMES = {"none": "none", "isal": "RS, ISA-L", "rs": "RS, Jerasure",
              "cauchy-rs": "Cauchy RS, Jerasure",
              "liberation": "Liberation, Jerasure"}
COLOURS = {"client": "#E69F00", "proxy": "#009E73", "parity": "#D55E00",
           "distribution": "#0072B2", "server": "#999999"}
HATCHES = {"client": "///", "proxy": "", "parity": "xxx",
           "distribution": "...", "server": "\\\\\\"}
HEAD = """# Where a write's time goes

`eval/write-cost/report` made this page from the rows in [eval/write-cost/rows](../../eval/write-cost/rows), which
`eval/write-cost/measure --out eval/write-cost/rows` wrote; it is not edited by hand. The paper is that on the cost of writes in an erasure coded
file system of 4 + 2.

"""


def _columns(found):
    return sorted({rate for rate, _ in found},
                  key=lambda rate: rate or float("inf"))


def _sizes(found):
    return sorted({object_bytes for _, object_bytes in found})


def setting(writes):
    schemes = ", ".join(f"`{s}`" for s in sorted({w.scheme for w in writes}))
    rates = {}
    for write in writes:
        if write.measured_mbit is not None:
            rates[write.link_mbit] = write.measured_mbit
    text = (f"{len(writes)} writes of {schemes} through `ersproxy` (one "
            f"thread, traced by `ers trace`), one after the other, on "
            + ", ".join(sorted({BED_NAMES[w.bed] for w in writes}))
            + "; " + "; ".join(sorted({w.host for w in writes}))
            + "; revision " + ", ".join(sorted({w.revision for w in writes}))
            + ".")
    if rates:
        text += (" Client, daemon and each server have a link of their own; "
                 "measured: " + ", ".join(
                     f"{link(rate)}: {measured:.0f} Mbit/s"
                     for rate, measured in sorted(rates.items())) +
                 ". All of them share the processors of one machine, which "
                 "are the limit where less was measured than a link's rate.")
    return text + "\n\n"


def parts_part(found):
    text = ("## Five parts\n\n" + "".join(
        f"- {name}: {meaning}\n" for name, meaning in shares.MEANING.items())
        + "\nMedians; in milliseconds, and per cent of the write.\n\n")
    lines = []
    for rate in _columns(found):
        for object_bytes in _sizes(found):
            cell = found.get((rate, object_bytes))
            if cell:
                lines.append(_line(link(rate), object_bytes, cell.parts))
    for object_bytes in _sizes(found):
        parts = shares.predict(found, object_bytes)
        if parts:
            lines.append(_line(f"{link(shares.FUTURE)}, predicted",
                               object_bytes, parts))
    return text + table(["links", "object", "write, ms", *shares.PARTS], lines)


def _line(where, object_bytes, parts):
    total = sum(parts.values())
    return [where, size(object_bytes), f"{1000 * total:.3f}",
            *(f"{1000 * parts[name]:.3f} ({100 * parts[name] / total:.0f} %)"
              for name in shares.PARTS)]


def prediction_part(found):
    text = ("## Beside the paper\n\nThe prediction takes what the network "
            "decides (client and distribution) as a + b / rate, fitted to the "
            "bandwidths measured, and the rest as on the fastest link; neither is "
            "taken for less than that of a smaller object, as links let short "
            "values through at once. The paper scales by the ratio of its "
            "three.\n\n")
    lines = []
    for mbit, (most, parity) in PAPER.items():
        ours, our_parity = [], []
        for object_bytes in _sizes(found):
            cell = found.get((float(mbit), object_bytes))
            parts = (cell.parts if cell else
                     shares.predict(found, object_bytes, mbit))
            if parts is None:
                continue
            total = sum(parts.values())
            name = max(parts, key=parts.get)
            ours.append((100 * parts[name] / total, name, object_bytes))
            our_parity.append(100 * parts["parity"] / total)
        if ours:
            share, name, object_bytes = max(ours)
            lines.append([
                link(mbit) + ("" if (float(mbit), _sizes(found)[0]) in found
                              else ", predicted"), most,
                f"{name}, at most {share:.1f} ({size(object_bytes)})", parity,
                f"{min(our_parity):.1f} to {max(our_parity):.1f}"])
    return lines and text + table(
        ["links", "largest part, the paper, %", "here, %",
         "parity, the paper, %", "here, %"], lines)


def codes_part(found, codes):
    text = ("## Codes\n\nParity of one object by `ers-bench codes`, in "
            "microseconds, and in brackets how much longer a write is than "
            "with none: the write that was measured, its ISA-L parity taken "
            "for that of the other code.\n\n")
    lines = []
    for object_bytes in _sizes(found):
        if object_bytes not in codes:
            continue
        times = codes[object_bytes]
        for rate in _columns(found):
            cell = found.get((rate, object_bytes))
            if cell is None:
                continue
            without = cell.seconds - times["isal"]
            lines.append([link(rate), size(object_bytes), *(
                f"{1e6 * times[code]:.1f} (+{100 * times[code] / without:.1f} %)"
                if code in times else "" for code in CODE_NAMES
                if code != "none")])
    paper = ("The paper, at 10 Gbit/s with one thread: CRS by AVX2 4 %, CRS "
             "and Liberation 15 %, RS 29 % less throughput than none.\n")
    return text + table(["links", "object", *(
        name for code, name in CODE_NAMES.items() if code != "none")],
        lines) + paper


def draw(found, path):
    import matplotlib
    matplotlib.use("Agg")
    # Ids in the SVG are random otherwise.
    matplotlib.rcParams["svg.hashsalt"] = "libers"
    from matplotlib import pyplot
    groups = [(link(rate), {s: found[rate, s].parts for s in _sizes(found)
                            if (rate, s) in found})
              for rate in _columns(found)]
    ahead = {s: parts for s in _sizes(found)
             if (parts := shares.predict(found, s))}
    if ahead:
        groups.append((f"{link(shares.FUTURE)}, predicted", ahead))
    figure, grid = pyplot.subplots(1, len(groups), squeeze=False, sharey=True,
                                   figsize=(3.2 * len(groups) + 1, 3.8),
                                   layout="constrained")
    for axes, (title, by_size) in zip(grid[0], groups):
        base = [0.0] * len(by_size)
        for name in shares.PARTS:
            heights = [100 * parts[name] / sum(parts.values())
                       for parts in by_size.values()]
            axes.bar(range(len(by_size)), heights, 0.75, bottom=base,
                     color=COLOURS[name], label=name, hatch=HATCHES[name],
                     edgecolor="white", linewidth=0.5)
            base = [b + h for b, h in zip(base, heights)]
        axes.set_xticks(range(len(by_size)), [size(s) for s in by_size],
                        rotation=30, ha="right", rotation_mode="anchor")
        axes.set_title(title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    grid[0][0].set_ylabel("% of the write")
    handles, names = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, loc="upper center",
                  bbox_to_anchor=(0.5, 0), ncols=len(names))
    for ending in ("png", "svg"):
        # No date inside: the same rows give the same file.
        figure.savefig(f"{path}.{ending}", dpi=110, bbox_inches="tight",
                       metadata={"Date": None} if ending == "svg" else None)
    pyplot.close(figure)


def write(writes, codes, path, figure):
    """The page, and the figure unless that is None."""
    found = shares.cells(writes)
    text = HEAD + setting(writes)
    if figure:
        os.makedirs(os.path.dirname(figure), exist_ok=True)
        draw(found, figure)
        beside = os.path.relpath(figure,
                                 os.path.dirname(os.path.abspath(path)))
        text += (f"![shares of a write's time]({beside}.png)\n\n"
                 f"[As SVG]({beside}.svg).\n\n")
    text += parts_part(found) + (prediction_part(found) or "")
    if codes:
        text += codes_part(found, codes)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")
