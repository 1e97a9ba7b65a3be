"""The rows: each makes a bed of its own, and adds figures to a meter."""

import dataclasses
import os
import random
import signal
import subprocess
import time

from bed import (CODED, COPIES, KIB, NUTCRACKER_SYSTEM, SERVERS, SIZES, SLOW,
                 Bed, Skipped, System)
from setting import cpu_s

CLIENTS = (1, 8)
CASES = tuple((size, clients) for size in SIZES for clients in CLIENTS)
SETS = 10  # per cent, where both are asked at once
MS = 1e3   # microseconds


@dataclasses.dataclass(frozen=True)
class Spans:
    """Seconds."""

    window: float = 6    # of a load whose quantiles are taken
    settle: float = 5    # until what was before is over
    fault: float = 4     # of a load in which a server freezes or dies
    minute: float = 60
    idle: float = 20
    operations: int = 20  # of one kind, one by one


QUICK = Spans(window=2, fault=3, minute=15, idle=6, operations=7)


@dataclasses.dataclass(frozen=True)
class Meter:
    """Takes the figures of one row."""

    add: object  # (figure, value, healthy, value_bytes, clients)
    spans: Spans


# Round trips.

TRIP_MS = 2
COUNTED_TRIP_MS = 20  # what a process does meanwhile is less than one trip


def round_trips(arguments, system, meter):
    for failures, scheme, servers in ((1, "ers2:4,1,5", SERVERS),
                                      (3, "ers2:4,3,5", SERVERS + 3)):
        with Bed(arguments, dataclasses.replace(
                system, scheme=scheme)) as bed:
            bed.start_servers(servers, behind=range(servers))
            bed.start_proxy("--config", bed.patient())
            bed.fill(SIZES[:1])
            bed.await_in_sync()
            client = bed.client()
            for name, operation in OPERATIONS:
                for ms, figure in ((TRIP_MS, "time"),
                                   (COUNTED_TRIP_MS, "counted")):
                    for number in range(servers):
                        bed.relay.delay(number, ms)
                    seconds, depths = one_by_one(
                        bed, client, operation, f"{figure}{failures}",
                        meter.spans.operations)
                    label = f"{name}, f = {failures}"
                    if figure == "time":
                        meter.add(f"{label}: least time over {TRIP_MS} ms",
                                  seconds * 1e3 / TRIP_MS)
                    else:
                        meter.add(f"{label}: counted", depths)
            client.close()


def put(client, key):
    client.set(key, b"y" * 16 * KIB)


def inline_set(client, key):
    client.set(key + "i", b"y" * 100)


def inline_set_again(client, key):
    """A key that the same process has changed last, or the last two times."""
    client.set(key + "i", b"z" * 100)


def put_again(client, key):
    """A key that the same process has changed last."""
    client.set(key, b"z" * 16 * KIB)


def transition(client, key):
    client.ask(b"ers transition %s wide\r\n" % key.encode())


# In this order: a key is put, put again, and made wide.
OPERATIONS = (("PUT", put), ("inline SET", inline_set),
              ("inline SET of a key changed last", inline_set_again),
              ("inline SET of a key changed last twice", inline_set_again),
              ("PUT of a key changed last", put_again),
              ("transition", transition))


def one_by_one(bed, client, operation, prefix, count):
    """The least seconds, and the least trips that the relay has counted: what
    else the machine does, and a daemon by its clock, only adds to them."""
    seconds, depths = [], []
    for number in range(count):
        bed.relay.reset()
        begun = time.perf_counter()
        operation(client, f"{prefix}-{number}")
        seconds.append(time.perf_counter() - begun)
        depths.append(bed.relay.count()["depth"])
    return min(seconds), min(depths)


# One server is slow.

def ready(bed):
    """One proxy, the slow server behind the relay, all values there."""
    bed.system.check()
    bed.start_servers()
    bed.start_proxy()
    bed.fill()
    bed.await_in_sync()


def late(arguments, system, meter):
    """5 % of one server's replies are 50 ms late."""
    with Bed(arguments, system) as bed:
        ready(bed)
        for case in CASES:
            bed.load(*case, 1)
            healthy = bed.load(*case, meter.spans.window)["get"]
            bed.relay.late(0, 0.05, 50)
            seen = bed.load(*case, meter.spans.window)["get"]
            bed.well()
            add_quantiles(meter, case, "GET", seen, healthy, "p99", "p99.9")


def slow(arguments, system, meter):
    """All of one server's replies are 20 ms late."""
    spans = meter.spans
    with Bed(arguments, system) as bed:
        ready(bed)
        for case in CASES:
            bed.load(*case, 1)
            healthy = [bed.load(*case, spans.window / part, sets=sets)
                       for sets, part in ((0, 1), (100, 2))]
            bed.relay.delay(0, 20)
            seen = [bed.load(*case, spans.window / part + spans.settle,
                             sets=sets, skip=spans.settle)
                    for sets, part in ((0, 1), (100, 2))]
            bed.well()
            add_quantiles(meter, case, "GET", seen[0]["get"],
                          healthy[0]["get"], "p50", "p99")
            add_quantiles(meter, case, "SET", seen[1]["set"],
                          healthy[1]["set"], "p50")
            bed.await_in_sync()


def rate(arguments, system, meter):
    """One server's link carries 1 Mbit/s each way."""
    spans = meter.spans
    with Bed(arguments, system) as bed:
        ready(bed)
        name = bed.server_name(SLOW)
        for case in CASES:
            bed.load(*case, 1)
            healthy = bed.load(*case, spans.window, sets=SETS)["get"]

            def changes():
                return [len(bed.proxy.logged(
                    rf"view \d+: {name} is {state}\b"))
                        for state in ("down", "back")]
            before = changes()
            bed.relay.rate(0, 1e6)
            seen = bed.load(*case, spans.minute, sets=SETS)["get"]
            after = changes()
            bed.well()
            add_quantiles(meter, case, "GET", seen, healthy, "p99")
            if system.scheme is not None:
                for what, then, now in zip(("leaves", "returns"), before,
                                           after):
                    meter.add(f"{what} in {spans.minute:.0f} s", now - then,
                              None, *case)
            bed.await_in_sync()


def add_quantiles(meter, case, verb, seen, healthy, *names):
    for name in names:
        field = name.replace(".", "") + "_us"
        meter.add(f"{verb} {name}", seen[field] / MS, healthy[field] / MS,
                  *case)


# One server freezes or dies.

def frozen(arguments, system, meter):
    """SIGSTOP."""
    struck(arguments, system, meter, "stop", "cont")


def killed(arguments, system, meter):
    """SIGKILL."""
    struck(arguments, system, meter, "kill", "start")


def struck(arguments, system, meter, strike, undo):
    """The longest GET and SET of a load during which it comes; each has a load
    of its own, so that both come across it unprepared."""
    spans = meter.spans
    with Bed(arguments, system) as bed:
        ready(bed)
        for case in CASES:
            bed.load(*case, 1)
            for verb, sets in (("get", 0), ("set", 100)):
                healthy = bed.load(*case, spans.fault - 1, sets=sets)[verb]
                before = bed.since(SLOW)
                load = bed.begin(*case, spans.fault, sets=sets)
                time.sleep(1)  # of the load, before it comes
                bed.act(strike)
                seen = bed.end(load)[verb]
                bed.act(undo)
                if strike == "kill":
                    bed.await_return(SLOW, before)
                else:
                    bed.await_in_sync()
                add_worst(meter, case, verb.upper(), seen, healthy)


def add_worst(meter, case, verb, seen, healthy):
    meter.add(f"worst {verb}", seen["max_us"] / MS, healthy["max_us"] / MS,
              *case)
    meter.add(f"refused {verb}s", seen["errors"], healthy["errors"], *case)


# Several processes.

def host(arguments, system, meter):
    """An ersproxy and a server are killed at once, beside 2, 4 and 8 others."""
    case = (SIZES[0], 8)
    for others in (2, 4, 8):
        with Bed(arguments, system) as bed:
            bed.start_servers()
            for _ in range(others + 1):
                bed.start_proxy()
            bed.fill(SIZES[:1])
            bed.await_in_sync()
            ports = [proxy.port for proxy in bed.started[1:]]
            healthy = worst_of(bed.load(*case, meter.spans.fault, sets=50,
                                        ports=ports))
            pid = bed.pid(SLOW)
            load = bed.begin(*case, meter.spans.fault + 4, sets=50,
                             ports=ports)
            time.sleep(1)  # of the load, before it comes
            bed.proxy.process.kill()
            os.kill(pid, signal.SIGKILL)
            seen = bed.end(load)
            meter.add(f"worst request of {others} others", worst_of(seen),
                      healthy, *case)
            meter.add(f"refused requests of {others} others", seen["errors"])


def worst_of(seen):
    return max(seen[verb]["max_us"] for verb in ("get", "set")) / MS


def cut(arguments, system, meter):
    """One of two ersproxies cannot reach one server, which the other can."""
    spans = meter.spans
    case = (SIZES[0], 8)
    with Bed(arguments, system) as bed:
        bed.start_servers()
        reaches, cut_off = bed.start_proxy(), bed.start_proxy()
        bed.fill(SIZES[:1])
        bed.await_in_sync()
        ports = [reaches.port, cut_off.port]
        healthy = bed.load(*case, spans.window, sets=20, ports=ports)
        before = max(reaches.view(), cut_off.view())
        bed.relay.cut(0, cut_off.process.pid)
        seen = bed.load(*case, spans.minute, sets=20, ports=ports, skip=2)
        views = max(reaches.view(), cut_off.view()) - before
        bed.well()
        meter.add("views", views)
        meter.add("worst request after 2 s", worst_of(seen), worst_of(healthy),
                  *case)
        meter.add("refused SETs", seen["set"]["errors"],
                  healthy["set"]["errors"], *case)
        meter.add("refused GETs", seen["get"]["errors"],
                  healthy["get"]["errors"], *case)


def crowd(arguments, system, meter):
    """16 ersproxies; one server is 100 ms late, and has no replica of the
    keys."""
    case = (SIZES[0], 16)
    with Bed(arguments, system) as bed:
        bed.start_servers()
        for _ in range(16):
            bed.start_proxy()
        bed.fill(SIZES[:1])
        bed.await_in_sync()
        client = bed.client()
        slow_one = bed.server_name(SLOW)
        names = []
        for number in range(1000):
            key = f"elsewhere{number}"
            pair = (key, key + "-set")
            for each in pair:
                client.set(each, b"x" * SIZES[0])
            if not any(slow_one in client.replicas(each) for each in pair):
                names.append(key)
            if len(names) == 40:
                break
        client.close()
        ports = [proxy.port for proxy in bed.started]
        healthy = bed.load(*case, meter.spans.window, sets=SETS, ports=ports,
                           names=names)
        bed.relay.delay(0, 100)
        seen = bed.load(*case, meter.spans.minute, sets=SETS, ports=ports,
                        names=names)
        bed.well()
        meter.add("worst request", worst_of(seen), worst_of(healthy), *case)
        for verb in ("get", "set"):
            add_quantiles(meter, case, verb.upper(), seen[verb],
                          healthy[verb], "p99")


# What it costs to be idle.

def idle(arguments, system, meter):
    """64 idle ersproxies; then one server dies, and returns."""
    with Bed(arguments, system) as bed:
        bed.start_servers()
        for _ in range(64):
            bed.start_proxy()
        bed.fill(SIZES[:1])
        clients = [bed.client(proxy) for proxy in bed.started]
        for client in clients:
            client.ask(b"get v16384-0\r\n")  # a state is known after a request
            client.close()
        bed.await_in_sync()
        time.sleep(meter.spans.settle)  # its start is over
        pids = [proxy.process.pid for proxy in bed.started]
        seconds, cpu, passed = idling(bed, pids, meter.spans.idle)
        meter.add("CPU of all, of a core", 100 * cpu / seconds)
        meter.add("bytes/s at a server", passed / seconds)
        dies = 0  # not the one whose bytes the relay counts
        name = bed.server_name(dies)
        before = bed.since(dies)
        begun = time.monotonic()
        bed.act("kill", dies)
        bed.await_all(lambda proxy: proxy.state_of(name)[0] != "in_sync",
                      "all know that a server is dead")
        meter.add("until its death is known everywhere",
                  time.monotonic() - begun)
        bed.act("start", dies)
        meter.add("until it is in sync everywhere",
                  bed.await_return(dies, before))


def idling(bed, pids, seconds):
    """Seconds, CPU seconds, and bytes through the relay."""
    begun, cpu, counted = time.monotonic(), cpu_s(pids), bed.relay.count()
    time.sleep(seconds)  # it is this that is measured
    passed = sum(now[way] - then[way] for now, then in zip(
        bed.relay.count()["servers"], counted["servers"])
        for way in ("bytes_in", "bytes_out"))
    return time.monotonic() - begun, cpu_s(pids) - cpu, passed


def many(arguments, system, meter):
    """An idle ersproxy before 128 servers."""
    count = 128
    with Bed(arguments, system) as bed:
        bed.start_servers(count, behind=range(count), memory_mb=16)
        bed.start_proxy()
        bed.fill(SIZES[:1])
        bed.await_in_sync()
        time.sleep(meter.spans.settle)  # its start is over
        pids = [bed.proxy.process.pid]
        before = received(bed)
        seconds, cpu, _ = idling(bed, pids, meter.spans.idle)
        meter.add("bytes/s received", (received(bed) - before) / seconds)
        meter.add("CPU, of a core", 100 * cpu / seconds)


def received(bed):
    return sum(server["bytes_out"] for server in bed.relay.count()["servers"])


def thousand(arguments, system, meter):
    """An ersproxy starts before 1,000 servers. Once it has stored there what it
    keeps ready, another one starts."""
    with Bed(arguments, system) as bed:
        # As many as `cluster` takes at a time.
        bed.servers = ",".join(bed.more_servers(250) for _ in range(4))
        for cluster in ("a new cluster", "one that is there"):
            begun = time.monotonic()
            started = bed.start_proxy()
            client = bed.client(started)
            client.set("first", b"x" * 16 * KIB)
            client.close()
            meter.add(f"until the first SET is stored, {cluster}",
                      time.monotonic() - begun)
            bed.await_items()


# Hedging.

NO_HEDGE = "hedge_percent: 0"


def hedging(arguments, system, meter):
    """What hedged reads cost while all servers are well."""
    with Bed(arguments, system) as bed:
        bed.start_servers(behind=range(SERVERS))
        config = os.path.join(bed.folder, "no-hedge.yaml")
        with open(config, "w", encoding="ascii") as file:
            file.write(NO_HEDGE + "\nservers:\n" + "".join(
                f"  - {name}\n" for name in bed.servers.split(",")))
        checked = subprocess.run(
            [arguments.ersproxy, "--check-config", config], check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        if checked.returncode:
            raise Skipped(f"this ersproxy has no setting `{NO_HEDGE}`")
        proxies = {"on": bed.start_proxy(),
                   "off": bed.start_proxy("--config", config)}
        bed.fill()
        bed.await_in_sync()
        for case in CASES:
            costs = by_turns(bed, proxies, case, meter.spans.window)
            for number, figure in enumerate(("bytes read a GET",
                                             "CPU a GET")):
                meter.add(figure, costs["on"][number], costs["off"][number],
                          *case)


TURNS = 8  # of each: other work comes and goes, and is to disturb all alike


def by_turns(bed, proxies, case, window):
    """{name: (bytes read, CPU in microseconds) a request}"""
    for proxy in proxies.values():
        bed.load(*case, 1, ports=[proxy.port])

    def cpu():
        return {name: cpu_s([proxy.process.pid])
                for name, proxy in proxies.items()}
    before = cpu()
    passed, requests = dict.fromkeys(proxies, 0), dict.fromkeys(proxies, 0)
    for _ in range(TURNS):
        for name in random.sample(sorted(proxies), len(proxies)):
            begun = received(bed)
            seen = bed.load(*case, window / 4, ports=[proxies[name].port])
            passed[name] += received(bed) - begun
            requests[name] += seen["requests"]
    after = cpu()
    return {name: (passed[name] / requests[name],
                   1e6 * (after[name] - before[name]) / requests[name])
            for name in proxies}


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    what: str
    run: object
    systems: tuple[System, ...] = (CODED,)


BESIDE = (CODED, COPIES, NUTCRACKER_SYSTEM)
SCENARIOS = (
    Scenario("round-trips", "all servers 2 ms away", round_trips),
    Scenario("late", "5 % of one server's replies 50 ms late", late, BESIDE),
    Scenario("slow", "all of one server's replies 20 ms late, after 5 s", slow,
             BESIDE),
    Scenario("rate", "one server limited to 1 Mbit/s", rate, BESIDE),
    Scenario("frozen", "one server frozen (SIGSTOP)", frozen, BESIDE),
    Scenario("killed", "one server killed", killed, BESIDE),
    Scenario("host", "an ersproxy and a server killed at once", host),
    Scenario("cut", "one of two ersproxies cut off from one server", cut),
    Scenario("crowd", "16 ersproxies, one server 100 ms late, keys whose "
             "replicas are elsewhere", crowd),
    Scenario("idle", "64 idle ersproxies; a server dies and returns", idle),
    Scenario("hedging", "healthy, hedging on beside off", hedging),
    Scenario("many", "an idle ersproxy and 128 servers", many),
    Scenario("thousand", "the start with 1,000 servers", thousand),
)
