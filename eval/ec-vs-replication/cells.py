"""What is written and read: bandwidths and sizes, coded and as copies."""

from paper.experiments import Cell, Group

EXPERIMENT = "kv"
KIB, MIB = 1 << 10, 1 << 20
# Those of the paper, and what machines have today.
LINKS = (1.0, 10.0, 40.0, 70.0, 200.0, 1000.0, 10000.0)
SIZES = (KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB)
SETS = ((4, 1, 5), (4, 2, 6))
# A wider code that survives more, on fewer links.
WIDE_SET, WIDE_LINKS = (8, 3, 10), (200.0, 10000.0)
SCHEMES = ("rep", "rs", "ers2-optimal")
# What would take minutes on the slowest link is left out.
MOST_BYTES = {1.0: 64 * KIB}


def groups(links=LINKS, sizes=SIZES):
    """Bandwidth by bandwidth; schemes of a group take turns."""
    cells = tuple(Cell(scheme, ("put", "get")) for scheme in SCHEMES)
    return [Group(EXPERIMENT, link, *parameters, object_bytes, cells)
            for link in links
            for parameters in SETS + ((WIDE_SET,) if link in WIDE_LINKS else ())
            for object_bytes in sizes
            if object_bytes <= MOST_BYTES.get(link, object_bytes)]
