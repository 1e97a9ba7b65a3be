"""The experiments as data: groups of cells that are run side by side.

A cell is one scheme and one operation at one setting. Cells of a group share
servers and take turns, so that what disturbs one disturbs all.
"""

import dataclasses

KIB, MIB = 1 << 10, 1 << 20
SETS = ((4, 1, 5), (5, 1, 6), (8, 2, 10), (9, 2, 10), (10, 3, 12),
        (12, 3, 14))
SIZES = (KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
MOVES = ("forward", "backward")
TRANSITIONS = ("srs", "ers1", "ers2-paper", "ers2-optimal", "reencode")
# What else there is has no width that could change.
MOVING = (*TRANSITIONS, "ers2-no-order")
HOLDING = ("libmemcached-copies", "rep", "srs", "ers1", "ers2-optimal")
# Values shorter than this are also measured kept whole.
WHOLE_THRESHOLD = 4096
DEFAULT_MBIT = 10_000  # the paper's
# Where the network is the limit, and not the processors that all nodes of one
# machine share.
NETWORK_MBITS = (500, 200)
MBITS = (10_000, 1000, 500, 200, 70, 40, 10, 1)
NAMES = ("exp1", "exp1-servers", "exp2", "exp3", "exp4", "exp5", "exp6", "exp7")
OWN = "own"  # whatever is asked for
CLOUD = ("exp6", "exp7")
# Their bandwidth is that of each server's link; the client's is no limit.
SERVER_LINKS = ("exp1-servers",)


@dataclasses.dataclass(frozen=True)
class Cell:
    scheme: str
    operations: tuple
    threshold_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class Group:
    experiment: str
    link_mbit: float | None  # None: as the bed is
    k: int
    m: int
    k_to: int
    object_bytes: int
    cells: tuple

    @property
    def nodes(self):
        return self.k_to + self.m

    @property
    def bed(self):
        """Of rows.BEDS, where it is one's own; None: any."""
        if self.experiment in CLOUD:
            return "cloud"
        return "server-links" if self.experiment in SERVER_LINKS else None

    def keys(self, cell):
        """What sets rows of one cell apart from all others."""
        return [(self.experiment, self.link_mbit, self.k, self.m, self.k_to,
                 self.object_bytes, cell.threshold_bytes, cell.scheme,
                 operation) for operation in cell.operations]


def key_of(row):
    return (row.experiment, row.link_mbit, row.k, row.m, row.k_to,
            row.object_bytes, row.threshold_bytes, row.scheme, row.operation)


def _cells(schemes, operations, object_bytes):
    cells = [Cell(scheme, operations) for scheme in schemes]
    if object_bytes < WHOLE_THRESHOLD:
        cells.append(Cell("ers2-optimal", operations, WHOLE_THRESHOLD))
    return tuple(cells)


def _groups(experiment, mbits, sets, sizes, schemes, operations):
    return [Group(experiment, mbit, *parameters, size,
                  _cells(schemes, operations, size))
            for mbit in mbits for parameters in sets for size in sizes]


def _mbit_group(mbit, parameters):
    # A smaller object where the paper's would take minutes.
    size = MIB if mbit >= 10 else 64 * KIB
    return _groups("exp4", (mbit,), (parameters,), (size,), TRANSITIONS, MOVES)


def full():
    """All of the paper, and the same where the network alone is the limit."""
    mbits = (DEFAULT_MBIT, *NETWORK_MBITS)
    small, both = SETS[:1], (MIB, 4 * MIB)
    groups = _groups("exp1", mbits, small, SIZES, HOLDING, ("put", "get"))
    groups += _groups("exp1-servers", NETWORK_MBITS, small, SIZES[3:], HOLDING,
                      ("put", "get"))
    groups += _groups("exp2", mbits, small, SIZES, TRANSITIONS, MOVES)
    groups += _groups("exp3", mbits, SETS, both, TRANSITIONS, MOVES)
    for mbit in MBITS:
        for parameters in SETS[:2]:
            groups += _mbit_group(mbit, parameters)
    groups += _groups("exp5", mbits, SETS, both,
                      ("ers2-no-order", "ers2-paper", "ers2-optimal"),
                      ("backward",))
    groups += _groups("exp6", (None,), small, SIZES, TRANSITIONS, MOVES)
    groups += _groups("exp7", (None,), SETS, both, TRANSITIONS, MOVES)
    return groups


def quick():
    """One setting or two of each, small: that everything works, and moves the
    bytes that it should."""
    small, large = KIB, 256 * KIB
    groups = _groups("exp1", (500,), SETS[:1], (small, large), HOLDING,
                     ("put", "get"))
    groups += _groups("exp1-servers", (200,), SETS[:1], (MIB,), HOLDING,
                      ("put", "get"))
    groups += _groups("exp2", (500,), SETS[:1], (small, MIB), TRANSITIONS,
                      MOVES)
    groups += _groups("exp3", (500,), SETS, (large,), TRANSITIONS, MOVES)
    groups += _groups("exp4", (200,), SETS[:1], (large,), TRANSITIONS, MOVES)
    groups += _groups("exp5", (500,), SETS[:2], (large,),
                      ("ers2-no-order", "ers2-paper", "ers2-optimal"),
                      ("backward",))
    groups += _groups("exp6", (None,), SETS[:1], (64 * KIB,), TRANSITIONS,
                      MOVES)
    groups += _groups("exp7", (None,), SETS[-1:], (64 * KIB,), TRANSITIONS,
                      MOVES)
    return groups


def own(mbits, sets, sizes, schemes, operations):
    """All of these with each other, as far as a scheme can do it."""
    cells = []
    for scheme in schemes:
        able = tuple(operation for operation in operations
                     if scheme in MOVING or operation not in MOVES)
        if able:
            cells.append(Cell(scheme, able))
    return [Group(OWN, mbit, *parameters, size, tuple(cells))
            for mbit in mbits for parameters in sets for size in sizes
            if cells]


def with_sets(groups, sets):
    """The same with other parameters."""
    return list(dict.fromkeys(
        dataclasses.replace(group, k=k, m=m, k_to=k_to)
        for group in groups for k, m, k_to in sets))


def only(groups, schemes, operations):
    """What there is of these schemes and operations."""
    def cells(group):
        for cell in group.cells:
            kept = tuple(o for o in cell.operations if o in operations)
            if cell.scheme in schemes and kept:
                yield dataclasses.replace(cell, operations=kept)
    made = [dataclasses.replace(group, cells=tuple(cells(group)))
            for group in groups]
    return [group for group in made if group.cells]


def unshaped(groups):
    """The same where links have no rate: each group once."""
    return at(groups, None)


def at(groups, mbits):
    """The same where links have the rate that they have: said, or None. All
    links have one."""
    mbit = mbits[0] if mbits else None
    return list(dict.fromkeys(dataclasses.replace(group, link_mbit=mbit)
                              for group in groups
                              if group.experiment not in SERVER_LINKS))
