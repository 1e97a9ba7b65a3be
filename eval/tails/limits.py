"""What each figure may be, and whether it is."""

import dataclasses
import re
import statistics


@dataclasses.dataclass(frozen=True)
class Limit:
    """`factor` times the healthy figure and `plus`; without a factor `plus`
    alone."""

    plus: float = 0.0
    factor: float | None = None
    # The median of the repetitions counts, or the worst of them.
    worst: bool = False

    def of(self, healthy):
        if self.factor is None:
            return self.plus
        return None if healthy is None else self.factor * healthy + self.plus

    def words(self, unit):
        text = f"{self.plus:g} {unit}".strip()
        if self.factor is not None:
            text = f"{self.factor:g} x" + (f" + {text}" if self.plus else "")
        return text + (", in each repetition" if self.worst else "")


def at_most(plus):
    return Limit(plus, worst=True)


# Row and figure, as regular expressions, and the limit. Milliseconds, where a
# figure is a time of requests; `failed` are repetitions that came to no end.
LIMITS = (
    (".*", r"failed", at_most(0)),
    ("late", r"GET p99", Limit(3, factor=2)),
    ("slow", r"GET p50", Limit(factor=1.3)),
    ("slow", r"GET p99", Limit(1, factor=2)),
    ("slow", r"SET p50", Limit(factor=2)),
    ("rate", r"(leaves|returns) in .*", at_most(1)),
    ("rate", r"GET p99", Limit(factor=3)),
    ("frozen", r"worst GET", at_most(50)),
    ("frozen", r"worst SET", at_most(400)),
    ("killed", r"worst GET", at_most(50)),
    ("killed", r"worst SET", at_most(200)),
    ("host", r"worst request of \d+ others", at_most(1200)),
    ("cut", r"views", at_most(6)),
    ("cut", r"worst request after 2 s", at_most(500)),
    ("cut", r"refused SETs", at_most(0)),
    ("crowd", r"worst request", at_most(200)),
    ("idle", r"CPU of all, of a core", Limit(5)),
    ("idle", r"bytes/s at a server", Limit(50e3)),
    ("idle", r"until its death is known everywhere", at_most(1)),
    ("idle", r"until it is in sync everywhere", at_most(3)),
    ("hedging", r"bytes read a GET", Limit(factor=1.03)),
    ("hedging", r"CPU a GET", Limit(factor=1.02)),
    ("many", r"bytes/s received", Limit(300e3)),
    ("many", r"CPU, of a core", Limit(1)),
    ("thousand", r"until the first SET is stored, .*", at_most(5)),
)
UNITS = (
    (r"(GET|SET) p[0-9.]+|worst .*", "ms"),
    (r"CPU.* of a core", "%"),
    (r"CPU a GET", "us"),
    (r"until .*", "s"),
)


def limit_of(row, figure):
    """None: it has none."""
    for its_row, pattern, limit in LIMITS:
        if re.fullmatch(its_row, row) and re.fullmatch(pattern, figure):
            return limit
    return None


def unit_of(figure):
    return next((unit for pattern, unit in UNITS
                 if re.fullmatch(pattern, figure)), "")


@dataclasses.dataclass(frozen=True)
class Line:
    """A figure over its repetitions."""

    row: str
    system: str
    value_bytes: int | None
    clients: int | None
    figure: str
    values: tuple
    healthy: float | None  # median
    limit: Limit | None

    @property
    def median(self):
        return statistics.median(self.values)

    def verdict(self):
        """kept, missed, or nothing where there is no limit."""
        most = self.limit and self.limit.of(self.healthy)
        if most is None:
            return ""
        seen = max(self.values) if self.limit.worst else self.median
        return "kept" if seen <= most else "missed"


def lines(found):
    """Of records, in the order in which each figure came first."""
    figures = {}
    for record in found:
        figures.setdefault((record.row, record.system, record.value_bytes,
                            record.clients, record.figure), []).append(record)
    made = []
    for key, records in figures.items():
        healthy = [record.healthy for record in records
                   if record.healthy is not None]
        made.append(Line(
            *key, tuple(record.value for record in records),
            statistics.median(healthy) if healthy else None,
            # A limit is the system's own: others are shown beside it.
            limit_of(key[0], key[4]) if key[1] == "ersproxy" else None))
    return made
