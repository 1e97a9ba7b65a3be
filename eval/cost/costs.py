"""What schemes cost: dollars, servers that can be off, bytes on the network.

Pure functions of the inputs; each answers with rows, which are dictionaries.
"""


def dollars(inputs):
    """Yearly cost of each system under each scheme.

    Only the part that stores bytes changes, as the bytes do; the rest of the
    system stays as it was bought.
    """
    rows = []
    for system in inputs.systems:
        for share in system.storage_shares:
            for scheme in inputs.schemes:
                part = scheme.stored / inputs.baseline.stored
                cost = system.dollars_per_year * (1 - share + share * part)
                rows.append({
                    "system": system.name, "servers": system.servers,
                    "storage_share": share, "scheme": scheme.name,
                    "survives": scheme.extra, "stored": scheme.stored,
                    "dollars_per_year": cost,
                    "saved_percent":
                        100 * (1 - cost / system.dollars_per_year)})
    return rows


def gears(inputs):
    """How many servers can be switched off with every object still readable.

    In groups: servers stand in groups of as many as a stripe has blocks, and
    each object is in one group. On a ring: stripes begin anywhere, so that some
    object has a block on each of any few servers, and only as many may be off
    as a stripe can do without.
    """
    rows = []
    for scheme in inputs.schemes:
        for system in inputs.systems:
            groups = system.servers // scheme.servers
            if not groups:
                continue
            off = groups * scheme.extra
            rows.append({
                "scheme": scheme.name, "gears": scheme.extra + 1,
                "system": system.name, "servers": system.servers,
                "off_in_groups": off,
                "off_percent": 100 * off / system.servers,
                "off_on_ring": scheme.extra,
                "read_depends_on": scheme.data})
    return rows


def written(inputs, scheme):
    """Bytes sent for a byte written."""
    if inputs.writers_are_servers:
        # A writer keeps one block of each stripe itself.
        return (scheme.servers - 1) / scheme.data
    return scheme.stored


def moved(inputs, scheme, reads_per_write):
    """Bytes on the network for each byte written, and what is read of it."""
    return written(inputs, scheme) + reads_per_write


def network(inputs):
    rows = []
    for workload in inputs.workloads:
        for scheme in inputs.schemes:
            bytes_moved = moved(inputs, scheme, workload.reads_per_write)
            before = moved(inputs, inputs.baseline, workload.reads_per_write)
            rows.append({
                "workload": workload.name,
                "reads_per_write": workload.reads_per_write,
                "scheme": scheme.name, "moved_per_byte_written": bytes_moved,
                "saved_percent": 100 * (1 - bytes_moved / before),
                "client_writes_mb_per_s":
                    inputs.client_mb_per_s / scheme.stored})
    return rows
