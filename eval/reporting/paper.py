"""What the ERS paper says it measured, in its section 6.

Reductions of SRS's time by ERS-1 and ERS-2, in per cent. Its "1 MB" and "4 MB"
are held against 1 MiB and 4 MiB, its ERS-2 against the plan it describes. Its
bars themselves, in milliseconds, are not known: its figures are pictures.
"""

from reporting.samples import MIB

SETS = ((4, 1, 5), (5, 1, 6), (8, 2, 10), (9, 2, 10), (10, 3, 12), (12, 3, 14))
LINKS = (200, 500, 1000, 10000)
MBIT = 10000  # of all experiments but the fourth and those in a cloud

# {(experiment, direction, bytes): [(ERS-1, ERS-2) for each of SETS]}, at 10
# Gbit/s (exp3) and in a cloud (exp7).
BY_SET = {
    ("exp3", "forward", MIB): [
        (27.4, 33.2), (27.6, 31.2), (41.7, 49.6), (36.7, 47.3), (48.4, 54.9),
        (43.8, 51.2)],
    ("exp3", "forward", 4 * MIB): [
        (31.3, 38.7), (27.4, 39.4), (51.2, 56.0), (44.3, 61.4), (53.8, 61.2),
        (55.4, 65.8)],
    ("exp3", "backward", MIB): [
        (13.5, 22.7), (12.4, 23.1), (34.1, 42.1), (30.9, 44.5), (36.4, 52.0),
        (36.1, 48.9)],
    ("exp3", "backward", 4 * MIB): [
        (15.2, 26.5), (14.5, 35.7), (38.8, 50.4), (36.5, 59.4), (41.4, 56.1),
        (45.0, 60.9)],
    ("exp7", "forward", MIB): [
        (43.5, 48.5), (46.1, 47.7), (36.2, 37.5), (29.3, 31.1), (31.8, 34.2),
        (26.0, 29.8)],
    ("exp7", "forward", 4 * MIB): [
        (48.4, 52.3), (51.5, 57.5), (38.7, 48.6), (39.5, 51.4), (51.3, 57.1),
        (43.7, 52.9)],
    ("exp7", "backward", MIB): [
        (38.4, 45.0), (42.7, 47.6), (32.0, 33.8), (29.4, 31.2), (28.0, 30.9),
        (24.2, 26.1)],
    ("exp7", "backward", 4 * MIB): [
        (41.5, 49.7), (44.7, 55.9), (38.0, 47.7), (40.3, 48.7), (42.5, 45.6),
        (21.1, 40.7)],
}

# {(direction, set): [(ERS-1, ERS-2) for each of LINKS]}, of 1 MB.
BY_LINK = {
    ("forward", (4, 1, 5)): [(43.0, 47.0), (38.9, 43.0), (34.5, 39.6),
                             (27.4, 33.2)],
    ("forward", (5, 1, 6)): [(47.3, 53.4), (41.1, 48.0), (36.1, 42.7),
                             (27.6, 31.2)],
    ("backward", (4, 1, 5)): [(36.5, 44.5), (29.9, 39.0), (23.9, 34.0),
                              (13.5, 22.7)],
    ("backward", (5, 1, 6)): [(38.8, 51.0), (32.1, 44.8), (26.1, 41.9),
                              (12.4, 23.1)],
}

# {bytes: [for each of SETS]}: of ERS-2's backward time without the order
# selection, by the selection.
ORDER_SELECTION = {
    MIB: [17.3, 13.2, 18.0, 7.4, 20.3, 11.3],
    4 * MIB: [21.5, 26.0, 24.9, 16.9, 23.6, 23.7],
}

# {(experiment, direction): ((least, most) of ERS-1, of ERS-2)} over all sizes.
RANGES = {
    ("exp2", "forward"): ((8.7, 31.3), (10.8, 38.7)),
    ("exp2", "backward"): ((4.7, 15.2), (10.8, 26.5)),
    ("exp6", "forward"): ((18.9, 48.4), (20.6, 52.3)),
    ("exp6", "backward"): ((10.9, 41.5), (11.2, 49.7)),
}

_SCHEMES = {"ers1": 0, "ers2-paper": 1, "ers2-optimal": 1}


def reduction(setting, scheme):
    """What the paper prints for this setting; None where it prints nothing."""
    if scheme not in _SCHEMES:
        return None
    pairs = None
    parameters = setting.parameters()
    if setting.experiment == "exp4" and setting.object_bytes == MIB:
        pairs = dict(zip(LINKS, BY_LINK.get((setting.operation, parameters),
                                            ()))).get(setting.link_mbit)
    elif setting.experiment == "exp7" or (setting.experiment == "exp3" and
                                          setting.link_mbit == MBIT):
        pairs = dict(zip(SETS, BY_SET.get(
            (setting.experiment, setting.operation, setting.object_bytes),
            ()))).get(parameters)
    return None if pairs is None else pairs[_SCHEMES[scheme]]


def order_selection(setting):
    if setting.link_mbit != MBIT:
        return None
    return dict(zip(SETS, ORDER_SELECTION.get(setting.object_bytes, ()))).get(
        setting.parameters())
