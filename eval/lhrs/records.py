"""Rows of eval/lhrs/measure: one scenario of LH*RS, run once."""

import csv
import dataclasses


class RecordsError(Exception):
    """What is wrong with a file of rows, as one sentence for the user."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    # None: not recorded.
    time: str | None  # UTC, ISO 8601
    revision: str | None
    host: str | None
    load: float
    bed: str  # of eval/rows.py
    link_mbit: float | None  # nominal; None: unshaped
    measured_mbit: float | None
    tcp: str | None  # congestion control
    repetition: int
    scenario: str
    case: str
    records: int
    record_bytes: int
    in_flight: int
    lost: int
    # None where a scenario has no such figure.
    seconds: float | None
    process_s: float | None  # parity, decoding, checksums
    microseconds: float | None
    bytes_read: int | None
    bytes_written: int | None


FIELDS = dataclasses.fields(Record)
COLUMNS = tuple(field.name for field in FIELDS)
_OPTIONAL = {float | None: float, int | None: int, str | None: str}


def writer(file):
    """Writes one Record at a time, below a header."""
    written = csv.writer(file, lineterminator="\n")
    written.writerow(COLUMNS)

    def write(record):
        written.writerow(["" if value is None else value for value in
                          (getattr(record, name) for name in COLUMNS)])
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
            raise RecordsError(f"{path}: no rows of eval/lhrs/measure")
        try:
            return [Record(**{field.name: _value(field, row[field.name])
                              for field in FIELDS}) for row in reader]
        except (TypeError, ValueError) as error:
            raise RecordsError(f"{path}: {error}") from None


@dataclasses.dataclass(frozen=True)
class Code:
    """One code's parity of objects of one size."""

    k: int
    m: int
    microseconds: tuple  # median, least, most

    def gb_per_s(self, object_bytes):
        """Median, least, most."""
        median, least, most = self.microseconds
        return tuple(object_bytes / us / 1e3 for us in (median, most, least))


def load_codes(path):
    """{object bytes: {name: Code}} of `ers-bench codes`."""
    found = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                found.setdefault(int(row["object_bytes"]), {})[row["code"]] = (
                    Code(int(row["k"]), int(row["m"]), tuple(
                        float(row[name])
                        for name in ("us", "min_us", "max_us"))))
            except (KeyError, TypeError, ValueError):
                raise RecordsError(
                    f"{path}: no rows of ers-bench codes") from None
    return found
