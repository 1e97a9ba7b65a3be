"""What an operation takes, as ridge regression over what is moved.

seconds = fixed + link * bytes / rate + byte * bytes + server * servers
          + block * blocks

Bytes are what crosses the client's link; servers and blocks are those that the
operation touches. Copies and coded objects have coefficients of their own, and
so have put and get. None is below 0: nothing is faster for being more.
"""

import dataclasses
import math

import numpy

from reporting.samples import COPIES

TERMS = ("fixed", "link", "byte", "server", "block")
OPERATIONS = ("put", "get")
PENALTIES = tuple(10.0 ** power for power in range(-6, 0))
FOLDS = 5
ROUNDS = 1000
SETTLED = 1e-8


@dataclasses.dataclass(frozen=True)
class Shape:
    """How a scheme lays out an object: copies are one data block and m more."""
    scheme: str
    k: int  # data blocks of a stripe
    m: int
    stripes: int  # of a group
    data_servers: int
    coded: bool

    def stored(self):
        return (self.k + self.m) / self.k

    def moved(self, operation, object_bytes):
        """(bytes, servers, blocks)"""
        blocks = self.k * self.stripes
        if operation == "get":
            return object_bytes, self.data_servers, blocks
        return (object_bytes * self.stored(), self.data_servers + self.m,
                blocks + self.m * self.stripes)


def shape(scheme, k, m, k_to):
    if scheme == COPIES:
        return Shape(f"rep:{m + 1}", 1, m, 1, 1, False)
    if scheme == "rs":
        return Shape(f"rs:{k},{m}", k, m, 1, k, True)
    # Narrow, over the servers of both widths.
    return Shape(f"ers2:{k},{m},{k_to}", k, m, math.lcm(k, k_to) // k, k_to,
                 True)


def terms(shaped, operation, object_bytes, mbit, burst_bytes=0):
    """A test bed's links let a burst through at once; others do not."""
    moved, servers, blocks = shaped.moved(operation, object_bytes)
    return [1.0, max(0, moved - burst_bytes) * 8 / (mbit * 1e6), moved,
            servers, blocks if shaped.coded else 0.0]


@dataclasses.dataclass(frozen=True)
class Fit:
    coefficients: tuple  # of TERMS
    penalty: float
    error: float  # median of |predicted / measured - 1|
    cells: int

    def seconds(self, shaped, operation, object_bytes, mbit):
        return sum(c * t for c, t in zip(
            self.coefficients, terms(shaped, operation, object_bytes, mbit)))


def _solve(rows, penalty):
    """Ridge, least relative errors, no coefficient below 0."""
    scale = numpy.sqrt((rows ** 2).mean(axis=0))
    scale[scale == 0] = 1
    scaled = rows / scale
    gram = scaled.T @ scaled / len(rows)
    target = scaled.mean(axis=0)
    found = numpy.zeros(rows.shape[1])
    for _ in range(ROUNDS):
        before = found.copy()
        for j in range(len(found)):
            rest = target[j] - gram[j] @ found + gram[j, j] * found[j]
            found[j] = max(0.0, rest / (gram[j, j] + penalty))
        if abs(found - before).max() < SETTLED:
            break
    return found / scale


def fit(points):
    """`points` are (terms, seconds). The penalty is the one with the least
    error on points that were left out."""
    rows = numpy.array([[t / seconds for t in line]
                        for line, seconds in points])
    fold = numpy.arange(len(rows)) % FOLDS

    def missed(penalty):
        total = 0.0
        for i in range(FOLDS):
            if (fold == i).any() and (fold != i).any():
                found = _solve(rows[fold != i], penalty)
                total += ((rows[fold == i] @ found - 1) ** 2).sum()
        return total
    penalty = min(PENALTIES, key=missed)
    found = _solve(rows, penalty)
    return Fit(tuple(map(float, found)), penalty,
               float(numpy.median(abs(rows @ found - 1))), len(rows))


def fit_all(measured, experiment):
    """{(coded, operation): Fit} of what was measured on shaped links."""
    points = {}
    for setting, in measured.find(experiment=experiment,
                                  operation=OPERATIONS):
        if setting.link_mbit is None:
            continue
        for scheme, sample in measured.settings[setting].items():
            shaped = shape(scheme, setting.k, setting.m, setting.k_to)
            points.setdefault((shaped.coded, setting.operation), []).append(
                (terms(shaped, setting.operation, setting.object_bytes,
                       setting.link_mbit, sample.middle("burst_bytes") or 0),
                 sample.median))
    return {key: fit(found) for key, found in points.items()}


def boundary(fits, coded, copies, operation, mbit, sizes):
    """The least of these sizes from which on the coded scheme is predicted to
    be faster, up to the largest; None: it is not, at the largest."""
    least = None
    for object_bytes in sorted(sizes, reverse=True):
        if (fits[True, operation].seconds(coded, operation, object_bytes, mbit)
                >= fits[False, operation].seconds(copies, operation,
                                                  object_bytes, mbit)):
            break
        least = object_bytes
    return least
