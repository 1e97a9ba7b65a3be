"""Rows of eval/tails/measure: one figure of one repetition each."""

import csv
import dataclasses


class RecordsError(Exception):
    """What is wrong with a file of rows, as one sentence for the user."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    time: str  # UTC, ISO 8601
    revision: str
    host: str
    load: float  # of the machine, when it was written
    quick: int  # 1: with the short spans of --quick
    repetition: int
    row: str  # name of a scenario
    system: str
    value_bytes: int | None  # None: it is of no values, as the next
    clients: int | None
    figure: str
    value: float
    healthy: float | None  # the same with all servers well


FIELDS = dataclasses.fields(Record)
COLUMNS = tuple(field.name for field in FIELDS)
_OPTIONAL = {float | None: float, int | None: int}


def writer(file):
    """Writes one Record at a time, below a header."""
    written = csv.writer(file, lineterminator="\n")
    written.writerow(COLUMNS)

    def write(record):
        written.writerow(["" if value is None else
                          f"{value:.6g}" if isinstance(value, float) else value
                          for value in (getattr(record, name)
                                        for name in COLUMNS)])
        file.flush()
    return write


def _value(field, text):
    if field.type in _OPTIONAL:
        return _OPTIONAL[field.type](text) if text else None
    return field.type(text)


def load(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise RecordsError(f"{path}: no rows of eval/tails/measure")
        try:
            return [Record(**{field.name: _value(field, row[field.name])
                              for field in FIELDS}) for row in reader]
        except (TypeError, ValueError) as error:
            raise RecordsError(f"{path}: {error}") from None
