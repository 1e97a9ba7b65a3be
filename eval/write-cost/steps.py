"""Rows of eval/write-cost/measure: the steps of one write each, and codes."""

import csv
import dataclasses

# As ersproxy traces them; those that a write did not have are 0.
TRACED = ("parse", "wait", "receive", "manifest", "split", "parity",
          "distribute", "commit", "reply", "total")


class StepsError(Exception):
    """What is wrong with a file of rows, as one sentence for the user."""


@dataclasses.dataclass(frozen=True)
class Write:
    time: str
    revision: str
    host: str
    bed: str
    link_mbit: float | None
    measured_mbit: float | None
    scheme: str
    object_bytes: int
    repetition: int
    seconds: float  # that the client saw
    # Processor time of the server that had most to do, a write.
    server: float
    parse: float
    wait: float
    receive: float
    manifest: float
    split: float
    parity: float
    distribute: float
    commit: float
    reply: float
    total: float


COLUMNS = tuple(field.name for field in dataclasses.fields(Write))
_KINDS = {field.name: field.type for field in dataclasses.fields(Write)}


def save(path, writes):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for write in writes:
            writer.writerow(["" if value is None else
                             f"{value:.7f}" if name in ("seconds", "server",
                                                        *TRACED) else value
                             for name, value in
                             dataclasses.asdict(write).items()])


def _value(name, text):
    kind = _KINDS[name]
    if kind == float | None:
        return float(text) if text else None
    return kind(text)


def load(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise StepsError(f"{path}: no rows of eval/write-cost/measure")
        try:
            return [Write(**{name: _value(name, text)
                             for name, text in row.items()})
                    for row in reader]
        except (TypeError, ValueError) as error:
            raise StepsError(f"{path}: {error}") from None


def load_codes(path):
    """{object bytes: {code: median seconds}} of `ers-bench codes`."""
    found = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(int(row["object_bytes"]), {})[row["code"]] = (
                float(row["us"]) / 1e6)
    return found
