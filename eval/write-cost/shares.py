"""The five parts of a write's time, and what they would be on a faster link."""

import dataclasses
import statistics

PARTS = ("client", "proxy", "parity", "distribution", "server")
# What a write's parts are made of, said in the page.
MEANING = {
    "client": "what the client saw before and after the daemon, and the way of "
              "the value to the daemon (`receive`)",
    "proxy": "the daemon's own work: `parse`, `wait`, `split` with checksums, "
             "`reply`",
    "parity": "`parity`",
    "distribution": "what is left: blocks on their way to the servers, the "
                    "manifests read and written, waiting",
    "server": "processor time of the server that had most to do",
}
NETWORK = ("client", "distribution")
# Predicted for, in Mbit/s.
FUTURE = 100_000


def parts_of(write):
    """Seconds of each part; they add up to what the client saw.

    Steps run side by side, above all `distribute` beside `receive`, so that
    distribution is the time in which nothing but it went on.
    """
    # The client may have its reply before the daemon has it off its hands.
    client = max(0.0, write.seconds - write.total) + write.receive
    proxy = write.parse + write.wait + write.split + write.reply
    found = {"client": client, "proxy": proxy, "parity": write.parity,
             "server": write.server}
    found["distribution"] = max(0.0, write.seconds - sum(found.values()))
    return {name: found[name] for name in PARTS}


@dataclasses.dataclass(frozen=True)
class Cell:
    """Writes of one size over one link."""
    writes: tuple
    seconds: float  # median
    parts: dict  # medians, scaled to add up to it


def cells(writes):
    """{(Mbit/s or None, object bytes): Cell}"""
    grouped = {}
    for write in writes:
        grouped.setdefault((write.link_mbit, write.object_bytes),
                           []).append(write)
    found = {}
    for key, group in grouped.items():
        seconds = statistics.median(w.seconds for w in group)
        split = [parts_of(write) for write in group]
        middle = {name: statistics.median(parts[name] for parts in split)
                  for name in PARTS}
        scale = seconds / sum(middle.values())
        found[key] = Cell(tuple(group), seconds, {
            name: scale * value for name, value in middle.items()})
    return found


def fit(points):
    """(a, b) of a + b / rate, neither below 0, with the least relative error.
    `points` are (rate, seconds)."""
    def error(a, b):
        return sum(((a + b / rate) / seconds - 1) ** 2
                   for rate, seconds in points)
    # Weighted by 1 / seconds: normal equations of two unknowns.
    xx = sum((1 / s) ** 2 for _, s in points)
    xy = sum((1 / s) * (1 / (r * s)) for r, s in points)
    yy = sum((1 / (r * s)) ** 2 for r, s in points)
    x, y = sum(1 / s for _, s in points), sum(1 / (r * s) for r, s in points)
    determinant = xx * yy - xy * xy
    candidates = [(x / xx, 0.0), (0.0, y / yy)]
    if determinant > 0:
        candidates.append(((x * yy - y * xy) / determinant,
                           (y * xx - x * xy) / determinant))
    return min((c for c in candidates if min(c) >= 0),
               key=lambda c: error(*c))


def predict(found, object_bytes, mbit=FUTURE):
    """Parts on links of so many Mbit/s: what the network decides is fitted as
    a + b / rate, the rest is as on the fastest link. None: there are fewer
    than two bandwidths.

    A fast link lets a short value through at once, which makes `a` too small:
    no part is less than that of the next smaller object.
    """
    rates = sorted(rate for rate, size in found
                   if rate is not None and size == object_bytes)
    if len(rates) < 2:
        return None
    parts = dict(found[rates[-1], object_bytes].parts)
    smaller = max((size for _, size in found if size < object_bytes),
                  default=None)
    least = predict(found, smaller, mbit) if smaller else None
    for name in NETWORK:
        a, b = fit([(rate, max(found[rate, object_bytes].parts[name], 1e-9))
                    for rate in rates])
        parts[name] = max(a + b / mbit, least[name] if least else 0)
    return parts
