"""Which runs there are, their workers, and what came of them."""

import collections
import glob
import multiprocessing
import os
import queue
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback

from case import Runner, every_server
from catalogue import OPERATIONS
from faults import FAULTS, ProxyDies
from table import BROKEN, Table
from world import Lost, TOP, World

SUBMITS = re.compile(r"(\.|->)Submit\(")
COMMITS = ("commit-replica", "commit-primary", "export-replica", "export-primary",
           "write-view")
# What a daemon sends by its clock, and which operations send it surely.
BACKGROUND = {"probe-round": ("backfill", "complete"),
              "server-stats": ("ersctl append", "export", "servers"),
              "read-participants": ("ersctl append", "export", "servers"),
              "read-view": ("ersctl append", "export", "servers"),
              "write-participants": ("ersctl append", "export", "servers")}
MOST = 60  # messages of a step and an operation; those beyond are repeats
TRIES = 24  # messages, where one of them is not sent each time
REPEATS = 2  # of what a machine that stands still can have broken


def work(folder, tasks, results):
    """A worker: a cluster of its own, task after task."""
    world = runner = None

    def make_ready():
        nonlocal world, runner
        if world and world.worn:
            world.close()
            world = None
        if not world:
            world = World(tempfile.mkdtemp(dir=folder))
            runner = Runner(world)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        while (task := tasks.get()) is not None:
            began, at = time.monotonic(), ""
            try:
                make_ready()
                if task[0] == "trace":
                    result = {"steps": runner.trace(task[1]),
                              "names": world.witness.names}
                else:
                    for name, nth in task[1]:
                        at = f"{nth} of {name}"
                        make_ready()
                        result = runner.strike(name, nth, *task[2:])
                        if result["outcome"]:
                            break
            except Exception as failure:  # pylint: disable=broad-except
                result = {"failure": "".join(
                    traceback.format_exception(failure)[-4:]),
                    "lost": isinstance(failure, Lost)}
                if world:
                    result["log"] = world.proxy.said()[-3000:]
                    world.close()
                world = None
            result.update(at=at, seconds=time.monotonic() - began)
            results.put((task, result))
    finally:
        if world:
            world.close()


class Workers:
    def __init__(self, count, folder):
        self.tasks, self.results = multiprocessing.Queue(), \
            multiprocessing.Queue()
        self.processes = [multiprocessing.Process(
            target=work, args=(folder, self.tasks, self.results))
            for _ in range(count)]
        for process in self.processes:
            process.start()

    def run(self, tasks):
        """Yields (task, result), as they end."""
        for task in tasks:
            self.tasks.put(task)
        for _ in tasks:
            while True:
                try:
                    yield self.results.get(timeout=10)
                    break
                except queue.Empty:
                    if not any(p.is_alive() for p in self.processes):
                        raise RuntimeError("all workers have died") from None

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join()

    def end(self):
        for _ in self.processes:
            self.tasks.put(None)
        for process in self.processes:
            process.join()


def stray_sends():
    """Lines of the store, or above it, that send without a step's name."""
    stray = []
    for path in glob.glob("libers/src/store/*/*.*", root_dir=TOP) + glob.glob(
            "proxy/**/*.*", root_dir=TOP, recursive=True):
        if path.endswith(("membership/send.cc", "membership/send.h")) \
                or not path.endswith((".cc", ".h")):
            continue
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            stray += [f"{path}:{number}: {line.strip()}" for number, line
                      in enumerate(file, 1) if SUBMITS.search(line)]
    return stray


def choose(traces, full, names, most, part):
    """[("strike", [(operation, nth)], step, fault, run)]; of each step and
    operation the first `most` messages, and of a step's faults one in `part`."""
    chosen = []
    messages = collections.defaultdict(list)  # by step
    for operation in OPERATIONS:
        counts = collections.Counter(traces.get(operation.name, ()))
        for step, count in counts.items():
            # Others meet it now and then only.
            if operation.name not in BACKGROUND.get(step, (operation.name,)):
                continue
            messages[step] += [(operation.name, nth) for nth in
                               range(1, min(count, most) + 1)]
    faults = [fault.name for fault in FAULTS]
    if full:
        faults = [f for f in faults if f != "another dies before"] \
            + every_server()
    rng = random.Random(1)
    struck = collections.Counter()  # by (operation, fault) and by operation
    for number, step in enumerate(names):
        rng.shuffle(messages[step])
        for i, fault in enumerate(faults):
            if (i + number) % part:
                continue
            here = messages[step]
            if full:
                tasks = [[message] * 2 for message in here]
            elif step in COMMITS and fault == ProxyDies.name:
                # What a change leaves half done is its own.
                tasks = [[(name, nth)] * 2
                         for name, nth in sorted(dict(sorted(here)).items())]
            else:
                i %= max(1, len(here))
                tasks = [fewest_first(here[i:] + here[:i], fault,
                                      struck)[:TRIES]] if here else []
            for task in tasks:
                struck[task[0][0], fault] += 1
                struck[task[0][0]] += 1
                chosen.append(("strike", task, step, fault, len(chosen)))
    return chosen


def fewest_first(messages, fault, struck):
    """Those of operations that have met the fault least; of each one, then of
    each a second."""
    of_operation, order = collections.Counter(), []
    for operation, _ in messages:
        order.append((of_operation[operation], struck[operation, fault],
                      struck[operation]))
        of_operation[operation] += 1
    return [message for _, message in sorted(
        zip(order, messages), key=lambda pair: pair[0])]


def run(arguments):
    folder = tempfile.mkdtemp(prefix="failpoints-", dir="/tmp")
    workers = Workers(arguments.workers, folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        code = run_all(arguments, workers)
        workers.end()
        return code
    finally:
        workers.stop()
        shutil.rmtree(folder, ignore_errors=True)


def run_all(arguments, workers):
    began = time.monotonic()
    traces, names, failures = trace_all(arguments, workers)
    print(f"{len(traces)} operations of {sum(map(len, traces.values()))} "
          f"messages traced, {time.monotonic() - began:.0f} s", flush=True)
    tasks = [task for task in choose(traces, arguments.full, names,
                                     arguments.messages, arguments.part)
             if arguments.step in (None, task[2])
             and arguments.fault in (None, task[3])]
    print(f"{len(tasks)} times a fault strikes", flush=True)
    table = Table()
    failures += strike_all(tasks, arguments.verbose, workers, table)
    table.show(names, list(traces))
    for what, result in failures:
        print(f"\nBROKEN: {what}\n{result.get('log', '')}\n"
              f"{result['failure']}")
    stray = stray_sends()
    for line in stray:
        print("SENT WITHOUT A NAME", line)
    some = arguments.only or arguments.step or arguments.fault
    empty = [] if some else without_run(names, tasks, table.runs)
    for step, fault in empty:
        print(f"NO RUN of {step} with {fault}")
    print(f"{len(table.runs)} runs, "
          f"{len(failures)} broken, {len(empty)} steps and faults without a "
          f"run; "
          f"{time.monotonic() - began:.0f} s"
          + (f"; each step meets one fault in {arguments.part}"
             if arguments.part > 1 else ""))
    return 1 if failures or empty or stray else 0


def strike_all(tasks, verbose, workers, table):
    """[(what, result)] of those that are broken. What a machine that stands
    still may have brought about is struck again, when the others have ended,
    and so is what met no message; a promise about a value breaks once."""
    failures = []
    for left in reversed(range(REPEATS + 1)):
        again = []
        for task, result in workers.run(tasks):
            step, fault = task[2:4]
            outcome = BROKEN if "failure" in result else result["outcome"]
            if outcome:
                table.add(step, fault, operation_at(result["at"]), outcome)
            if verbose or outcome == BROKEN:
                print(f"{result['seconds']:6.2f} s  {step} {result['at']}, "
                      f"{fault}: {outcome}\n{result.get('failure', '')}",
                      end="", flush=True)
            if left and not result.get("lost") and outcome in (None, BROKEN):
                again.append(task)
            elif outcome == BROKEN:
                failures.append((f"{step} {result['at']}, {fault}", result))
        tasks = again
        if tasks:
            print(f"{len(tasks)} of them are struck again: the machine may "
                  "have stood still", flush=True)
    return failures


def trace_all(arguments, workers):
    """({operation: [step]}, names of all steps, [(what, result)])"""
    traces, names, failures = {}, [], []
    wanted = [operation.name for operation in OPERATIONS
              if arguments.only in (None, operation.name)]
    for left in reversed(range(REPEATS + 1)):
        for task, result in workers.run([("trace", name) for name in wanted]):
            if "failure" not in result:
                traces[task[1]], names = result["steps"], result["names"]
            elif not left or result["lost"]:
                failures.append((task[1], result))
            if arguments.verbose or "failure" in result:
                print(f"{result['seconds']:6.2f} s  {task[1]:<18}",
                      dict(collections.Counter(result.get("steps", ()))),
                      result.get("failure", ""), flush=True)
        wanted = [name for name in wanted if name not in traces]
    return traces, names, failures


def operation_at(place):
    """Of "3 of grow"."""
    return place.partition(" of ")[2]


def without_run(names, tasks, runs):
    """[(step, fault)]"""
    chosen, met = {task[2] for task in tasks}, {run[:2] for run in runs}
    return [(step, "anything") for step in names if step not in chosen] + [
        task[2:4] for task in tasks if task[2:4] not in met]
