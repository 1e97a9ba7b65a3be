"""Reads what the cost model reckons with, and refuses what makes no sense."""

import dataclasses

import yaml


class InputError(Exception):
    """What is wrong where, as one sentence for the user."""


@dataclasses.dataclass(frozen=True)
class Scheme:
    """One way of keeping objects: data blocks and others of each stripe."""
    name: str
    data: int
    extra: int

    @property
    def servers(self):
        return self.data + self.extra

    @property
    def stored(self):
        """Bytes kept for a byte of an object."""
        return self.servers / self.data


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    source: str
    servers: int
    dollars_per_year: float
    storage_shares: tuple


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    source: str
    reads_per_write: float


@dataclasses.dataclass(frozen=True)
class Inputs:
    baseline: Scheme
    schemes: tuple
    systems: tuple
    workloads: tuple
    writers_are_servers: bool
    client_mb_per_s: float


def parse_scheme(text):
    """One Scheme, two for a name with two widths."""
    kind, _, numbers = str(text).partition(":")
    try:
        numbers = [int(number) for number in numbers.split(",")]
    except ValueError:
        numbers = []
    wanted = {"rep": 1, "rs": 2, "ers2": 3}.get(kind)
    if wanted != len(numbers) or min(numbers) < 1:
        raise InputError(f"'{text}' is no scheme: write rep:COPIES, rs:K,M or "
                         "ers2:K,M,KP")
    if kind == "rep":
        return [Scheme(text, 1, numbers[0] - 1)]
    if kind == "rs":
        return [Scheme(text, *numbers)]
    k, m, wide = numbers
    if wide <= k:
        raise InputError(f"'{text}': KP must be more than K")
    return [Scheme(f"{text} narrow", k, m), Scheme(f"{text} wide", wide, m)]


def _take(where, given, kinds):
    """Values of these kinds, all of them and no others."""
    if not isinstance(given, dict):
        raise InputError(f"{where}: a mapping is wanted")
    for name in given:
        if name not in kinds:
            raise InputError(f"{where}: there is no '{name}'; there are "
                             f"{', '.join(kinds)}")
    for name, kind in kinds.items():
        if name not in given:
            raise InputError(f"{where}: '{name}' is missing")
        value = given[name]
        # true is a number to Python.
        if not isinstance(value, kind) or (
                isinstance(value, bool) and kind is not bool):
            raise InputError(f"{where}: '{name}' cannot be {value!r}")
    return given


def _positive(where, value, most=None):
    if value <= 0 or (most is not None and value > most):
        raise InputError(f"{where}: {value} is out of range")
    return value


NUMBER = (int, float)


def _system(given):
    where = "systems"
    if isinstance(given, dict):
        where = f"system '{given.get('name', '?')}'"
    _take(where, given, {"name": str, "source": str, "servers": int,
                         "dollars_per_year": NUMBER, "storage_shares": list})
    if not given["storage_shares"]:
        raise InputError(f"{where}: 'storage_shares' is empty")
    for share in given["storage_shares"]:
        if isinstance(share, bool) or not isinstance(share, NUMBER):
            raise InputError(f"{where}: a storage share cannot be {share!r}")
        _positive(where, share, 1)
    _positive(where, given["servers"])
    _positive(where, given["dollars_per_year"])
    return System(**{**given,
                     "storage_shares": tuple(given["storage_shares"])})


def _workload(given):
    _take("workloads", given, {"name": str, "source": str,
                               "reads_per_write": NUMBER})
    if given["reads_per_write"] < 0:
        raise InputError(f"workload '{given['name']}': reads_per_write is "
                         "below 0")
    return Workload(**given)


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            given = yaml.safe_load(file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    _take(path, given, {"baseline": str, "schemes": list, "systems": list,
                        "workloads": list, "network": dict})
    network = _take("network", given["network"],
                    {"writers_are_servers": bool, "client_mb_per_s": NUMBER})
    baseline = parse_scheme(given["baseline"])
    if len(baseline) != 1:
        raise InputError(f"baseline '{given['baseline']}' has two widths: "
                         "name one scheme")
    return Inputs(
        baseline=baseline[0],
        schemes=tuple(s for text in given["schemes"]
                      for s in parse_scheme(text)),
        systems=tuple(map(_system, given["systems"])),
        workloads=tuple(map(_workload, given["workloads"])),
        writers_are_servers=network["writers_are_servers"],
        client_mb_per_s=_positive("client_mb_per_s",
                                  network["client_mb_per_s"]))
