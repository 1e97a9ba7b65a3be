"""Writes docs/evaluation/cost.md and its figure from the model's rows."""

import os

import costs
from reporting.markdown import table

# {(system, storage share): what the paper's section 3 says that 3-of-5 saves
# of the whole cost, beside 3 copies, in per cent}.
PAPER_SAVED = {("Mega DC", 0.14): 8.4, ("Mega DC", 0.23): 14,
               ("Mega DC", 0.41): 25, ("Condo", 0.20): 12, ("Condo", 0.34): 20,
               ("Condo", 0.61): 37, ("FAWN", 0.30): 18}
PAPER_SCHEME, PAPER_BASELINE = "rs:3,2", "rep:3"
RATIOS = [0.05 * 1.12 ** i for i in range(48)]  # to 10 reads a write
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00",
           "#CC79A7", "#999999")
DASHES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)),
          (0, (8, 2)), (0, (4, 1, 1, 1, 1, 1))]

HEAD = """# What coding costs and saves beside copies

`eval/cost/model page` made this page; it is not edited by hand. The inputs are in
[eval/cost/inputs.yaml](../../eval/cost/inputs.yaml), each with its source: those of the paper on erasure coding against replication in
data centers. Edit that file, or give another by `--inputs`; `eval/cost/model dollars|gears|network` prints the same as rows.

"""
DOLLARS = """## Dollars

A system's cost but for the part that stores bytes stays; that part changes as the bytes do. Of the yearly cost of a system that was
bought for {baseline}, saved (negative: more):

"""
SLIP = """### Beside the paper's figures

3-of-5 stores 5/3 bytes for one, 3 copies store 3: that saves 4/9 = {fair:.1f} % of storage. The paper's savings are {least:.1f} to
{most:.1f} % of storage, as if it had taken 3/5 for the part that is saved, which neither its 1.6 times nor its 45 % of network
gives. Its printed figures and ours:

"""
MEGA = """Its shares for Condo follow from its $3000 a server over 3 years (30, 50 and 90 % of it for disks: 20, 34 and 61 % of $71K); those for
Mega DC do not (they would be 20, 33 and 60 % of $81M) and are taken as printed.

"""
GEARS = """## Gears

A gear is a number of servers that may be off while every object can be read: as many as a stripe can do without, and none, so m + 1 of them. The paper's
way needs servers in groups, each as wide as a stripe, with all of an object in one group. libers puts stripes on a
ring of all servers, where only m of all servers may be off at a time, however many there are.

"""
NETWORK = """## Network

Bytes on the network for each byte that is written, with what is read of it, and what that saves beside {baseline}. Reads cost the same either way,
so the more is read, the less is saved.

"""
CLIENT = """The last column is what one client can write by a link of {mb:g} MB/s, if it sends all copies or blocks itself, as
libers does.

"""


def saved_text(value):
    return f"{value:.1f}"


def dollars_part(inputs):
    rows = costs.dollars(inputs)
    names = [s.name for s in inputs.schemes]
    lines = []
    for system in inputs.systems:
        for share in system.storage_shares:
            saved = {r["scheme"]: r["saved_percent"] for r in rows
                     if (r["system"], r["storage_share"]) ==
                     (system.name, share)}
            lines.append([
                system.name, f"${system.dollars_per_year:,.0f}",
                f"{100 * share:.0f}", *(saved_text(saved[n]) for n in names)])
    return (DOLLARS.format(baseline=f"`{inputs.baseline.name}`") +
            table(["system", "a year", "storage, % of it",
                   *(f"`{n}`, %" for n in names)], lines) +
            table(["scheme", "survives", "bytes stored for one"],
                  [[f"`{s.name}`", s.extra, f"{s.stored:.2f}"]
                   for s in inputs.schemes]))


def slip_part(inputs):
    if inputs.baseline.name != PAPER_BASELINE:
        return ""
    lines, implied = [], []
    for row in costs.dollars(inputs):
        printed = PAPER_SAVED.get((row["system"], row["storage_share"]))
        if printed is None or row["scheme"] != PAPER_SCHEME:
            continue
        implied.append(printed / row["storage_share"])
        lines.append([row["system"], f"{100 * row['storage_share']:.0f}",
                      f"{printed:g}", saved_text(row["saved_percent"])])
    if not lines:
        return ""
    return (SLIP.format(fair=100 * (1 - 5 / 9), least=min(implied),
                        most=max(implied)) +
            table(["system", "storage, %", "saved, the paper, %",
                   "saved, here, %"], lines) + MEGA)


def gears_part(inputs):
    lines = [[f"`{r['scheme']}`", r["gears"], r["system"],
              f"{r['servers']:,}", f"{r['off_in_groups']:,}",
              f"{r['off_percent']:.0f}", r["off_on_ring"],
              r["read_depends_on"]] for r in costs.gears(inputs)]
    return GEARS + table(
        ["scheme", "gears", "system", "servers", "may be off, in groups",
         "% of servers", "may be off, on a ring", "servers that a read needs"],
        lines)


def network_part(inputs, figure):
    rows = costs.network(inputs)
    names = [s.name for s in inputs.schemes]
    lines = []
    for workload in inputs.workloads:
        found = {r["scheme"]: r for r in rows
                 if r["workload"] == workload.name}
        lines.append([workload.name, f"{workload.reads_per_write:g}", *(
            f"{found[n]['moved_per_byte_written']:.2f} "
            f"({found[n]['saved_percent']:.0f} %)" for n in names)])
    text = NETWORK.format(baseline=f"`{inputs.baseline.name}`")
    text += table(["workload", "reads per write", *(f"`{n}`" for n in names)],
                  lines)
    if figure:
        text += (f"![bytes saved over reads per write]({figure}.png)\n\n"
                 f"[As SVG]({figure}.svg).\n\n")
    text += CLIENT.format(mb=inputs.client_mb_per_s)
    return text + table(
        ["scheme", "bytes sent for a byte written", "a client writes, MB/s"],
        [[f"`{s.name}`", f"{costs.written(inputs, s):.2f}",
          f"{inputs.client_mb_per_s / s.stored:.0f}"]
         for s in inputs.schemes])


def draw(inputs, path):
    import matplotlib
    matplotlib.use("Agg")
    # Ids in the SVG are random otherwise.
    matplotlib.rcParams["svg.hashsalt"] = "libers"
    from matplotlib import pyplot, ticker
    figure, axes = pyplot.subplots(figsize=(8, 4.4), layout="constrained")
    for scheme, colour, dashes in zip(inputs.schemes, COLOURS, DASHES):
        if scheme == inputs.baseline:
            continue
        axes.plot(RATIOS, [
            100 * (1 - costs.moved(inputs, scheme, ratio)
                   / costs.moved(inputs, inputs.baseline, ratio))
            for ratio in RATIOS], color=colour, linewidth=1.8,
            linestyle=dashes, label=scheme.name)
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    for workload in inputs.workloads:
        axes.axvline(workload.reads_per_write, color="#bbbbbb", linewidth=0.8)
        axes.text(workload.reads_per_write, axes.get_ylim()[0],
                  f" {workload.name}", rotation=90, fontsize=7, va="bottom",
                  ha="right", color="#555555")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axes.set_xlabel("bytes read for each byte written")
    axes.set_ylabel(f"% less on the network than {inputs.baseline.name}")
    axes.spines[["top", "right"]].set_visible(False)
    # In the order of the lines, beside them.
    axes.legend(*zip(*sorted(
        zip(*axes.get_legend_handles_labels()), reverse=True,
        key=lambda entry: entry[0].get_ydata()[0])), frameon=False,
        loc="center left", bbox_to_anchor=(1, 0.5))
    for ending in ("png", "svg"):
        # No date inside: the same inputs give the same file.
        figure.savefig(f"{path}.{ending}", dpi=110,
                       metadata={"Date": None} if ending == "svg" else None)
    pyplot.close(figure)


def write(inputs, path, figure):
    """The page, and the figure unless that is None."""
    link = None
    if figure:
        os.makedirs(os.path.dirname(figure), exist_ok=True)
        draw(inputs, figure)
        link = os.path.relpath(figure, os.path.dirname(os.path.abspath(path)))
    text = (HEAD + dollars_part(inputs) + slip_part(inputs) +
            gears_part(inputs) + network_part(inputs, link))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")
