"""Losses of more servers than a cluster survives, and of fewer, drawn by chance:
which die or freeze, in which order they return, which proxies are there.

ERS_LOSSES says how many scenarios, from ERS_SEED (or 1) on; without it two
that are short are played.
"""

import collections
import os
import random
import shutil
import tempfile
import threading
import time
import unittest

import fleet_scenario
from jobs_case import Api
from proxy_case import Link, Proxy, ProxyCase
from key_record import STORED, KeyRecord, body
from stalls import Stalls
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, SANITIZED

FIRST = int(os.environ.get("ERS_SEED", "1"))
LOSSES = int(os.environ.get("ERS_LOSSES", "0"))
# All are lost, and return; all are lost, and some never return.
SEEDS = range(FIRST, FIRST + LOSSES) if LOSSES else (1, 10)
SPARE = 2
SERVES_S = 30 if SANITIZED else 10
LENGTHS = {"s": 100, "m": 20_000, "l": 300_000}
KEYS = {"s": 20, "m": 10, "l": 4}  # of each writer
WRITERS = 2
# A busy machine keeps servers silent for a while.
SETTINGS = "timeouts: {connect_ms: 3000, request_ms: 3000}\n"


class Writer(threading.Thread):
    """Sets and gets its own keys, each through any proxy."""

    def __init__(self, fleet, number):
        super().__init__(daemon=True)
        self.fleet = fleet
        self.chance = random.Random(f"{fleet.scenario.seed}.{number}")
        self.keys = [KeyRecord(f"w{number}{kind}{i}", LENGTHS[kind])
                     for kind, count in KEYS.items() for i in range(count)]
        self.links = {}
        self.ended = threading.Event()
        self.counts = collections.Counter()

    def run(self):
        while not self.ended.is_set():
            proxies = self.fleet.running()
            if proxies:
                self.step(self.chance.choice(self.keys),
                          self.chance.choice(proxies))
            self.ended.wait(0.01)

    def fill(self):
        for record in self.keys:
            self.write(record, self.chance.choice(self.fleet.running()))

    def step(self, record, proxy):
        act = self.write if self.chance.random() < 0.4 else self.read
        act(record, proxy)

    def link(self, proxy):
        if proxy not in self.links:
            self.links[proxy] = Link(proxy.addresses[0])
        return self.links[proxy]

    def drop(self, proxy):
        link = self.links.pop(proxy, None)
        if link:
            link.socket.close()

    def write(self, record, proxy):
        firm, must = self.fleet.firm, self.fleet.must_work
        value, said = record.next_body(), None
        try:
            said = self.link(proxy).set(record.key, value)
        except OSError:
            pass
        if said is None:
            self.drop(proxy)
        record.wrote(said, firm)
        self.counts["sets" if said == STORED else "refused"] += 1
        if said != STORED and must and must == self.fleet.must_work and \
                proxy in self.fleet.running():
            self.fleet.problem(f"set {record.key}: {said}")

    def read(self, record, proxy):
        firm, must = self.fleet.firm, self.fleet.must_work
        try:
            value = self.link(proxy).get(record.key)
        except (OSError, AssertionError) as error:
            self.drop(proxy)
            self.counts["no answer"] += 1
            # The first read of a long value may find too late what is gone.
            cut = record.missable and record.length >= 1 << 16
            if must and must == self.fleet.must_work and not cut and \
                    proxy in self.fleet.running():
                self.fleet.problem(f"get {record.key}: {error!r}")
            return
        self.counts["misses" if value is None else "hits"] += 1
        problem = record.saw(value, firm)
        if problem:
            self.fleet.problem(problem)

    def end(self):
        self.ended.set()
        if self.is_alive():
            self.join()
        for proxy in list(self.links):
            self.drop(proxy)


class Fleet:
    """The processes of a scenario, and what they may do by now."""

    def __init__(self, case, scenario):
        self.case, self.scenario = case, scenario
        listed = case.servers.split(",")
        self.servers = ",".join(listed[:scenario.servers])
        self.spare = listed[scenario.servers:]
        self.names = dict(enumerate(listed[:scenario.servers], 1))
        self.proxies = {}
        self.started = 0
        self.out, self.hurt, self.lost = set(), set(), set()
        # Of all values: is no loss under way?
        self.firm = True
        # Of all requests; another number with each time that it begins.
        self.must_work = 1
        self.periods = 1
        self.problems = []
        self.late = []
        self.began = time.monotonic()
        self.stalls = Stalls()
        self.stalls.start()
        for number in range(len(scenario.states)):
            self.start_proxy(number)
        self.writers = [Writer(self, i) for i in range(WRITERS)]
        self.event = self.now()

    def now(self):
        """Without the time in which no process could do anything."""
        return time.monotonic() - self.stalls.total

    def problem(self, text):
        if len(self.problems) < 20:
            self.problems.append(
                f"{time.monotonic() - self.began:.2f} s: {text}")

    def running(self):
        return list(self.proxies.values())

    def start_proxy(self, number):
        self.started += 1
        folder = os.path.join(self.case.work, f"proxy{self.started}")
        settings = self.case.file(f"settings{self.started}", SETTINGS.encode())
        words = ["--config", settings, "--max-failures",
                 str(self.scenario.max_failures), "--scheme",
                 f"ers2:2,{self.scenario.max_failures},3", "--admin", ":0"]
        if self.scenario.states[number]:
            words += ["--state", self.case.path(f"view{number}")]
        proxy = Proxy(folder, self.servers, *words)
        self.case.addCleanup(proxy.kill)
        self.proxies[number] = proxy
        self.event = self.now()

    def end_proxy(self, number, politely):
        proxy = self.proxies.pop(number)
        if politely:
            proxy.terminate()
            proxy.wait()
        proxy.kill()

    def hurts(self, slot, loses):
        self.out.add(slot)
        self.hurt.add(slot)
        if len(self.hurt) > self.scenario.max_failures:
            self.must_work = 0
        if loses:
            self.lost.add(slot)

    def comes_back(self, slots):
        """To be called before they do."""
        self.out -= set(slots)
        if not self.out:
            self.may_lose()

    def may_lose(self):
        if len(self.hurt) <= self.scenario.max_failures or not self.lost:
            return
        self.firm = False
        for writer in self.writers:
            for record in writer.keys:
                record.missable = True

    def tool(self, verb, slot):
        number = self.case.servers.split(",").index(self.names[slot]) + 1
        self.case.tool(verb, str(number))

    # The steps of a scenario.

    def kill(self, slot):
        self.hurts(slot, True)
        self.tool("kill", slot)

    def freeze(self, slot):
        self.hurts(slot, False)
        self.tool("stop", slot)

    def start(self, slot):
        self.comes_back([slot])
        self.tool("start", slot)
        self.event = self.now()

    def thaw(self, slot):
        self.comes_back([slot])
        self.tool("cont", slot)
        self.event = self.now()

    def give_up(self, _):
        slots = sorted(self.out)
        places = [(self.names[slot], self.spare.pop(0)) for slot in slots]
        self.comes_back(slots)
        done = self.case.run_ctl(
            "--max-failures", str(self.scenario.max_failures),
            "recover", "--accept-loss", "--yes",
            *(f"{old}={new}" for old, new in places), servers=self.servers)
        said = done.stderr.decode(errors="replace")
        if done.returncode == BAD_USAGE and "ersctl replace" in said:
            for old, new in places:
                done = self.case.run_ctl("replace", old, new,
                                         servers=self.servers)
                # 3: another one is still out; 6: values were lost before.
                if done.returncode not in (0, 3, 6):
                    self.problem(f"replace: {done.returncode} {done.stderr}")
        elif done.returncode:
            self.problem(f"recover: {done.returncode} {said}")
        for slot, place in zip(slots, places):
            self.names[slot] = place[1]
        self.event = self.now()

    def serve(self, _):
        """All proxies do within the time that is promised."""
        threads = [threading.Thread(target=self.serves, args=(proxy,))
                   for proxy in self.running()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.case.until(lambda: all("down" not in self.states(proxy)
                                    for proxy in self.running()),
                        "none is down")
        self.firm = True
        self.periods += 1
        self.must_work = self.periods

    def serves(self, proxy):
        end = time.monotonic() + 6 * SERVES_S
        said, tries = "", 0
        while time.monotonic() < end:
            tries += 1
            said = ""
            with Link(proxy.addresses[0]) as link:
                for kind, length in LENGTHS.items():
                    key = f"probe{kind}{self.periods}{proxy.addresses[0]}"
                    value = body(key, tries, length)
                    try:
                        answer = link.set(key, value)
                        if answer != STORED:
                            said = f"set {key}: {answer}"
                        elif link.get(key) != value:
                            said = f"get {key}: another value"
                    except (OSError, AssertionError) as error:
                        said = f"{key}: {error!r}"
                    if said:
                        break
            if not said:
                break
            time.sleep(0.1)
        took = self.now() - self.event
        if said:
            self.problem(f"{proxy.addresses[0]} does not serve: {said}")
        elif took > SERVES_S:
            self.late.append(f"{proxy.addresses[0]} serves after {took:.1f} s")

    def states(self, proxy):
        status = Api(proxy.addresses[-1]).ask("GET", "/status")[1]
        return [server["state"] for server in status["servers"]]

    def in_sync(self, _):
        self.serve(None)
        self.case.until(lambda: all(set(self.states(proxy)) == {"in_sync"}
                                    for proxy in self.running()),
                        "all are in sync")
        self.hurt.clear()
        self.lost.clear()

    def pause(self, seconds):
        # Between two events: nothing waits for it.
        time.sleep(seconds)

    def step(self, verb, what):
        if verb == "start-proxy":
            self.start_proxy(what)
        elif verb.endswith("-proxy"):
            self.end_proxy(what, verb == "end-proxy")
        else:
            getattr(self, verb.replace("-", "_"))(what)

    def run(self):
        for writer in self.writers:
            writer.fill()
            writer.start()
        for step in self.scenario.steps:
            self.step(*step)
        self.in_sync(None)
        for writer in self.writers:
            writer.end()
        self.all_agree()
        self.all_are_listed()
        # All has its copies again: as many may die as ever.
        for slot in random.Random(self.scenario.seed).sample(
                sorted(self.names), self.scenario.max_failures):
            self.tool("kill", slot)
        self.all_agree()

    def all_agree(self):
        """Twice through each: what is missed is missed by all."""
        for _ in range(2):
            for proxy in self.running():
                for writer in self.writers:
                    for record in writer.keys:
                        writer.read(record, proxy)

    def all_are_listed(self):
        listed = self.case.run_ctl("ls", servers=self.servers)
        keys = {line.split(b"\t")[0].decode()
                for line in listed.stdout.splitlines()}
        missing = [record.key for writer in self.writers
                   for record in writer.keys
                   if record.acked is not None and record.key not in keys]
        if listed.returncode or missing:
            self.problem(f"ls: {listed.returncode} {listed.stderr}, without "
                         f"{missing}")

    def close(self):
        for writer in self.writers:
            writer.end()
        self.stalls.end()
        for proxy in self.running():
            proxy.kill()

    def summary(self):
        counts = sum((writer.counts for writer in self.writers),
                     collections.Counter())
        return (f"{time.monotonic() - self.began:.0f} s, "
                f"{self.stalls.total:.1f} s of them stalled; "
                + ", ".join(f"{count} {what}"
                            for what, count in sorted(counts.items())))


class FleetLossesTest(ProxyCase):

    @classmethod
    def setUpClass(cls):
        """Each scenario has a cluster of its own."""
        cls.folder = tempfile.mkdtemp(prefix="fleet-losses-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    def play(self, scenario):
        """(what is wrong for certain, what was late)"""
        self.setUp()
        type(self).cluster_folder = self.path("cluster")
        self.tool("up", "-n", str(scenario.servers + SPARE), "--no-evict",
                  "--memory", "64")
        try:
            type(self).servers = self.tool("env").strip().partition("=")[2]
            fleet = Fleet(self, scenario)
            try:
                fleet.run()
            except AssertionError as error:
                fleet.problem(str(error))
            finally:
                fleet.close()
            print(scenario, fleet.summary(), sep="\n  ", flush=True)
            if fleet.problems or fleet.late:
                self.report(fleet)
            return fleet.problems, fleet.late
        finally:
            self.tool("down")

    def report(self, fleet):
        for text in fleet.problems + fleet.late:
            print("   WRONG:", text)
        for number in range(1, fleet.started + 1):
            with open(self.path(f"proxy{number}/log"), encoding="utf-8",
                      errors="replace") as file:
                print(f"  proxy {number}:", *file.readlines()[-60:],
                      sep="\n    ", flush=True)

    def test_losses(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                scenario = fleet_scenario.draw(seed, SPARE)
                problems, late = self.play(scenario)
                if late and not problems:
                    # The machine may have stood still: once more.
                    problems, late = self.play(scenario)
                self.assertEqual(problems + late, [], str(scenario))


if __name__ == "__main__":
    unittest.main()
