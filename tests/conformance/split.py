"""The ways to cut what a case sends into pieces."""

WHOLE, EVERY, BYTES = "whole", "every", "bytes"
# Of requests longer than this only the ends are cut: the middle is data.
LONG_BYTES = 600
END_BYTES = 150


def cuts(size):
    """Where a request of `size` bytes can be cut."""
    if size <= LONG_BYTES:
        return list(range(1, size))
    return [*range(1, END_BYTES), *range(size - END_BYTES, size)]


def variants(mode, sizes):
    """The numbers of the runs that a case takes, from the sizes of what its
    steps send: for EVERY, run v cuts each step at its v-th place."""
    if mode != EVERY:
        return [0]
    return range(max(1, *(len(cuts(size)) for size in sizes)))


def pieces(mode, variant, data):
    places = cuts(len(data))
    if mode == WHOLE:
        places = []
    elif mode == EVERY:
        places = places[variant:variant + 1]
    edges = [0, *places, len(data)]
    return [data[a:b] for a, b in zip(edges, edges[1:])]
