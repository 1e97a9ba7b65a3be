"""A strict reader of Prometheus' text format, version 0.0.4: what promtool
would complain about raises ValueError."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\n]|\\[\\n\"])*)\"")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]Inf|NaN")
ESCAPES = {"\\\\": "\\", "\\n": "\n", '\\"': '"'}


def _number(text):
    if not NUMBER.fullmatch(text):
        raise ValueError(f"no number: {text!r}")
    return float(text)


def _labels(text):
    """Of what stands between the braces."""
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        if not match or match[1] in labels:
            raise ValueError(f"bad labels: {text!r}")
        labels[match[1]] = re.sub(r"\\.", lambda m: ESCAPES[m[0]], match[2])
        at = match.end()
        if at < len(text):
            if text[at] != "," or at + 1 == len(text):
                raise ValueError(f"bad labels: {text!r}")
            at += 1
    return labels


def _sample(line):
    name = NAME.match(line)
    if not name:
        raise ValueError(f"no sample: {line!r}")
    rest, labels = line[name.end():], {}
    if rest.startswith("{"):
        # No label of ours has a brace behind a quote.
        text, brace, rest = rest[1:].rpartition("}")
        if not brace:
            raise ValueError(f"no end of labels: {line!r}")
        labels = _labels(text)
    if not rest.startswith(" "):
        raise ValueError(f"no value: {line!r}")
    return name[0], labels, _number(rest[1:])


class Family:

    def __init__(self, name, words):
        self.name, self.help = name, words
        self.kind = None
        self.samples = {}  # (suffix, labels as sorted pairs): value

    def take(self, name, labels, value):
        suffix = name[len(self.name):]
        allowed = (("_bucket", "_sum", "_count")
                   if self.kind == "histogram" else ("",))
        key = suffix, tuple(sorted(labels.items()))
        if (not name.startswith(self.name) or suffix not in allowed
                or key in self.samples):
            raise ValueError(f"{name}{labels} in the family {self.name}")
        if (suffix == "_bucket") != ("le" in labels):
            raise ValueError(f"{name}: le is for buckets")
        self.samples[key] = value

    def series(self):
        """A histogram's: {labels: (buckets [(le, count)], sum, count)}."""
        found = {}
        for (suffix, labels), value in self.samples.items():
            own = tuple(pair for pair in labels if pair[0] != "le")
            one = found.setdefault(own, {"_bucket": []})
            if suffix == "_bucket":
                one["_bucket"].append((_number(dict(labels)["le"]), value))
            else:
                one[suffix] = value
        return {labels: (one["_bucket"], one["_sum"], one["_count"])
                for labels, one in found.items()}

    def check_conventions(self):
        name = self.name
        if self.kind != "gauge" and min(self.samples.values(), default=0) < 0:
            raise ValueError(f"{name}: below 0")
        if (self.kind == "counter") != name.endswith("_total"):
            raise ValueError(f"{name}: a counter, and nothing else, is _total")
        if re.search(r"_(milli|micro|nano)?(ms|us|ns|kb|mb|minutes)(_|$)",
                     name):
            raise ValueError(f"{name}: not in base units")

    def check(self):
        name = self.name
        if self.kind is None:
            raise ValueError(f"{name} has no type")
        if self.kind == "histogram":
            for labels, (buckets, _, count) in self.series().items():
                bounds = [bound for bound, _ in buckets]
                counts = [number for _, number in buckets]
                if (bounds != sorted(set(bounds)) or bounds[-1] != math.inf
                        or counts != sorted(counts) or counts[-1] != count):
                    raise ValueError(f"{name}{labels}: bad buckets {buckets}")


def parse(text, conventions=True):
    """{name: Family}, in the order of the text.

    conventions: names and values are to go by Prometheus' conventions."""
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    families, current = {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            if name in families or not NAME.fullmatch(name) or not words:
                raise ValueError(f"a family's second beginning: {line!r}")
            current = families[name] = Family(name, words)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if (current is None or name != current.name or current.kind
                    or current.samples
                    or kind not in ("counter", "gauge", "histogram")):
                raise ValueError(f"misplaced: {line!r}")
            current.kind = kind
        elif current is None or current.kind is None:
            raise ValueError(f"before its HELP and TYPE: {line!r}")
        else:
            current.take(*_sample(line))
    for family in families.values():
        family.check()
        if conventions:
            family.check_conventions()
    return families


class Metrics:
    """The values of a text."""

    def __init__(self, text):
        self.families = parse(text)

    def get(self, name, **labels):
        """0 where there is no such sample."""
        return self.families[name].samples.get(
            ("", tuple(sorted(labels.items()))), 0)

    def all(self, name):
        """{labels as sorted pairs: value}."""
        return {labels: value for (_, labels), value
                in self.families[name].samples.items()}

    def counts(self, name):
        """{labels as sorted pairs: how many a histogram has}."""
        return {labels: count for labels, (_, _, count)
                in self.families[name].series().items()}

    def flat(self):
        """{(name with suffix, labels): value} of everything."""
        return {(family.name + suffix, labels): value
                for family in self.families.values()
                for (suffix, labels), value in family.samples.items()}


def moved(before, after):
    """What differs between two Metrics: {(name, labels): by how much}."""
    old, new = before.flat(), after.flat()
    by = {key: new.get(key, 0) - old.get(key, 0) for key in {*old, *new}}
    return {key: value for key, value in by.items() if value}
