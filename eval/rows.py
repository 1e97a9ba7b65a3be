"""Rows of the evaluation: one for each timed operation, in CSV.

`eval/run` writes them and `eval/report` reads them, both through this module
alone. A cell of the file that does not apply is empty, here None.
"""

import csv
import dataclasses
import fcntl
import os

SCHEMES = ("rep", "libmemcached-copies", "srs", "ers1", "ers2-paper",
           "ers2-no-order", "ers2-optimal", "reencode", "rs")
OPERATIONS = ("put", "get", "forward", "backward")
BEDS = ("namespaces", "server-links", "unshaped", "cloud", "hosts")

# Interfaces are held to the sockets from here on.
INTERFACE_FROM = 512 << 10
INTERFACE_TOLERANCE = 0.05


class RowError(Exception):
    """A file that holds other rows, as one sentence for the user."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    # Where and when.
    time: str  # UTC, ISO 8601
    revision: str  # of git; "+" behind it: with changes that are in no commit
    host: str  # machine, its processors, and how busy it was
    seed: int
    experiment: str  # of eval/run
    bed: str  # of BEDS
    link_mbit: float | None  # nominal; None: unshaped
    measured_mbit: float | None  # of the slowest link, before the experiment
    burst_bytes: int | None  # that a link lets through at once
    cpu_limited: str | None  # yes, no: processors, not the link, set the rate
    tcp: str | None  # congestion control of the servers; None: not known
    # What was asked for.
    threshold_bytes: int  # shorter values are kept as whole copies
    k: int
    m: int
    k_to: int
    servers: int
    scheme: str  # of SCHEMES
    operation: str  # of OPERATIONS
    object_bytes: int
    repetition: int  # from 0 on
    # What was seen.
    seconds: float
    blocks_read: int | None  # None: the scheme has no blocks
    blocks_written: int | None
    block_bytes: int | None  # of data, without its header
    payload_in: int | None  # values of blocks, at the client's sockets
    payload_out: int | None
    socket_in: int | None  # all at the same sockets: manifests, protocol
    socket_out: int | None
    interface_in: int | None  # at the client's network interface
    interface_out: int | None
    # What the analyser's counts of blocks come to, compared with payload_*.
    expected_in: int | None
    expected_out: int | None


FIELDS = tuple(dataclasses.fields(Row))
COLUMNS = tuple(field.name for field in FIELDS)
_OPTIONAL = {float | None: float, int | None: int, str | None: str}


def _parse(field, text):
    kind = field.type
    if kind in _OPTIONAL:
        if text == "":
            return None
        kind = _OPTIONAL[kind]
    if text == "":
        raise ValueError("it is empty")
    return kind(text)


def _known(row):
    for name, choices in (("scheme", SCHEMES), ("operation", OPERATIONS),
                          ("bed", BEDS)):
        if getattr(row, name) not in choices:
            raise RowError(f"'{getattr(row, name)}' is no {name}: there are "
                           f"{', '.join(choices)}")
    return row


def _header(path, columns):
    if tuple(columns or ()) != COLUMNS:
        raise RowError(f"{path}: its columns are not those of eval/rows.py; "
                       "rows of another version are kept in another file")


def read(path):
    """All rows of a file, in order. A last line that was cut off, as by a
    power failure, is left out: what it held is run again."""
    rows = []
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    whole = text[:text.rfind("\n") + 1]
    reader = csv.reader(whole.splitlines())
    _header(path, next(reader, None))
    for number, cells in enumerate(reader, start=2):
        if len(cells) != len(COLUMNS):
            raise RowError(f"{path}:{number}: {len(cells)} cells in place of "
                           f"{len(COLUMNS)}")
        values = {}
        for field, cell in zip(FIELDS, cells):
            try:
                values[field.name] = _parse(field, cell)
            except ValueError as error:
                raise RowError(f"{path}:{number}: {field.name}: "
                               f"{error}") from None
        try:
            rows.append(_known(Row(**values)))
        except RowError as error:
            raise RowError(f"{path}:{number}: {error}") from None
    return rows


def read_folder(folder):
    """The rows of all its CSV files, in order of their names."""
    rows = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".csv"):
            rows += read(os.path.join(folder, name))
    return rows


def _cell(value):
    if value is None:
        return ""
    # repr is the shortest text that reads back as the same number.
    return repr(value) if isinstance(value, float) else str(value)


def append(path, rows):
    """Adds rows, all of one call or none, to a file of such rows, which is
    made where there is none. One writer at a time."""
    rows = [_known(row) for row in rows]
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "a+", encoding="utf-8", newline="") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RowError(f"{path}: another run writes to it") from None
        file.seek(0)
        text = file.read()
        whole = text.rfind("\n") + 1
        if whole != len(text):
            # Cut off: it would run into the next one.
            file.truncate(len(text[:whole].encode()))
        file.seek(0, os.SEEK_END)
        writer = csv.writer(file, lineterminator="\n")
        if whole:
            _header(path, next(csv.reader(text[:whole].splitlines()[:1])))
        else:
            writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([_cell(getattr(row, name)) for name in COLUMNS])
        file.flush()
        os.fsync(file.fileno())


def hold_tcp(found, beds, tcp, path):
    """Rows of these beds have this congestion control, or a RowError says so:
    a file with more than one of them says nothing."""
    others = {row.tcp or "not known" for row in found
              if row.bed in beds} - {tcp}
    if others:
        raise RowError(f"{path} has rows whose TCP is {others.pop()}, this is "
                       f"{tcp}: name another file, or remove that one")


def interface_ratio(row):
    """Bytes at the interface over those at the sockets, both ways together;
    None: not counted, or so few that headers are most of them."""
    if row.interface_in is None or row.socket_in is None:
        return None
    moved = row.socket_in + row.socket_out
    if moved < INTERFACE_FROM:
        return None
    return (row.interface_in + row.interface_out) / moved
