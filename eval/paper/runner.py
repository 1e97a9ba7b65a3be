"""Runs groups of cells on a test bed, and makes rows of what comes out."""

import csv
import datetime
import os
import subprocess

import rows

CELL_SECONDS = 60
# Starting, connecting, warming up, and what a busy machine adds.
PATIENCE = 3
PATIENCE_S = 120


class RunError(Exception):
    """What went wrong and what to do, as one sentence for the user."""


def output_of(words, seconds):
    try:
        with subprocess.Popen(words, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as child:
            try:
                printed, said = child.communicate(timeout=seconds)
            except BaseException:
                child.terminate()
                child.wait()
                raise
    except subprocess.TimeoutExpired:
        raise RunError(f"{words[0]} took longer than {seconds} s") from None
    if child.returncode != 0:
        raise RunError(f"ers-bench ended with code {child.returncode}: "
                       f"{said.strip()}")
    return printed


def busy():
    """Of this machine: rows say how much else it had to do."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{os.cpu_count()} x {model}, load {os.getloadavg()[0]:.1f}"


class Runner:

    def __init__(self, programs, analyser, revision, seed, repetitions):
        self.bench = os.path.join(programs, "ers-bench")
        self.analyser = analyser
        self.revision = revision
        self.seed = seed
        self.repetitions = repetitions

    def run(self, bed, group):
        """The rows of a group, all of them. A RunError reports bytes that are
        not the analyser's."""
        host = busy()
        words = [self.bench, "samples", "--reps", str(self.repetitions),
                 "--seed", str(self.seed), "--cell-seconds", str(CELL_SECONDS)]
        if bed.interface is not None:
            words += ["--interface", bed.interface]
        count = 0
        for cell in group.cells:
            count += len(cell.operations)
            words += ["--cell", ",".join(
                [cell.scheme, str(group.k), str(group.m), str(group.k_to),
                 str(group.object_bytes), str(cell.threshold_bytes),
                 "+".join(cell.operations)])]
        with bed.servers(group.nodes) as servers:
            output = output_of(
                bed.client.command(*words, "--servers", servers.names),
                CELL_SECONDS * count * PATIENCE + PATIENCE_S)
        now = datetime.datetime.now(datetime.timezone.utc)
        made = [self.row(bed, group, host, now, cells)
                for cells in csv.DictReader(output.splitlines())]
        for row in made:
            hold(row)
        return made

    def row(self, bed, group, host, now, cells):
        def number(name):
            return int(cells[name]) if cells[name] else None
        cell = next(cell for cell in group.cells
                    if cell.scheme == cells["scheme"]
                    and cell.threshold_bytes == int(cells["threshold_bytes"]))
        into, out = self.analyser.bytes(group, cell, cells["operation"])
        link = bed.link
        return rows.Row(
            time=now.strftime("%Y-%m-%dT%H:%M:%SZ"), revision=self.revision,
            host=host, seed=self.seed, experiment=group.experiment,
            bed=bed.name, link_mbit=group.link_mbit,
            measured_mbit=(None if bed.measured_mbit is None
                           else round(bed.measured_mbit, 2)),
            burst_bytes=None if link is None else link.burst_bytes,
            cpu_limited=bed.cpu_limited, tcp=bed.tcp,
            threshold_bytes=cell.threshold_bytes, k=group.k, m=group.m,
            k_to=group.k_to, servers=group.nodes, scheme=cell.scheme,
            operation=cells["operation"], object_bytes=group.object_bytes,
            repetition=int(cells["repetition"]),
            seconds=float(cells["seconds"]),
            **{name: number(name) for name in (
                "blocks_read", "blocks_written", "block_bytes", "payload_in",
                "payload_out", "socket_in", "socket_out", "interface_in",
                "interface_out")},
            expected_in=into, expected_out=out)


def hold(row):
    """Blocks at the sockets are the analyser's, to the byte."""
    for way in ("in", "out"):
        want, got = getattr(row, f"expected_{way}"), getattr(row,
                                                             f"payload_{way}")
        if want is not None and want != got:
            raise RunError(
                f"{row.experiment}, {row.scheme}, ({row.k},{row.m},{row.k_to})"
                f", {row.object_bytes} bytes, {row.operation}: blocks of {got} "
                f"bytes went {way}, the analyser says {want}")
