"""A cluster of real memcached processes behind relays, an ersproxy before them
that asks a witness, and what must hold of them after whatever happened."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
for folder in (("tests", "proxy"), ("memcached-cluster",)):
    sys.path.insert(0, os.path.join(TOP, *folder))
# pylint: disable=wrong-import-position
import member_process
# pylint: disable=unused-import
from proxy_case import KIB, Link, MIB, Proxy, SANITIZED, random_bytes
from ctl_case import ERSCTL, block_keys
from jobs_case import Api, ENDED
from relay import Relay, Strike
from witness import Witness

DEADLINE_S = 60
SERVERS = 5
# Two blocks of a value, and two servers, may be out: one that an operation is
# about, and one that a fault takes.
SCHEME, OTHER_SCHEME, MAX_FAILURES = "ers2:2,2,3", "rs:3,2", 2
LESS_PARITY = "ers2:2,1,3"
# A server that is silent for so long is out. Sanitized programs are slow.
REQUEST_MS = 5000 if SANITIZED else 1500
SETTINGS = {"memory_mb": 128, "item_max_mb": 8, "threads": 1, "evict": False}


# Blocks that live no longer are left to readers that are late.
LASTING_S = 120


class Broken(Exception):
    """Something that must hold does not."""


class Lost(Broken):
    """A promise about a value: no slow machine excuses it."""


def until(condition, what):
    """Polls what another process will bring about."""
    end = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise Broken(f"never: {what}")
        # Between two checks of what sends no event: the condition decides.
        time.sleep(0.05)
    return found


def lines_of(link, request):
    """The lines of an answer up to END; its one line where that is none."""
    line = link.ask(request)
    if line and not line.startswith((b"STAT ", b"KEY ", b"END")):
        return line
    lines = []
    while line != b"END":
        if line is None:
            raise ConnectionError("the proxy has gone")
        lines.append(line)
        line = link.line()
    return lines


class Started:
    """A call under way in a thread; `said` is what it returned, None where its
    connection ended."""

    def __init__(self, call, *arguments):
        self.said = self.failure = None
        self._call = call, arguments
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        call, arguments = self._call
        try:
            self.said = call(*arguments)
        except (OSError, AssertionError):
            pass
        except Broken as failure:
            self.failure = failure

    def ended(self):
        return not self._thread.is_alive()

    def wait(self):
        self._thread.join(2 * DEADLINE_S)
        if self._thread.is_alive():
            raise Broken("the operation never ended")
        if self.failure:
            raise self.failure
        return self.said


class Server:
    """A memcached that is killed and started anew, behind one address."""

    def __init__(self, log):
        self._log = log
        self.port, *started = member_process.start_anywhere(
            SETTINGS, log, DEADLINE_S)
        self._identity = *started, member_process.boot_id()
        self.relay = Relay(("127.0.0.1", self.port))
        self.name = self.relay.address
        self.alive = True
        self.frozen = False

    @property
    def pid(self):
        return self._identity[0]

    def process_state(self):
        return member_process.process_state(*self._identity)

    def kill(self):
        if not self.alive:
            return
        member_process.signal_process(*self._identity, 9, wait_s=DEADLINE_S)
        os.waitpid(self.pid, 0)
        self.alive = self.frozen = False

    def freeze(self):
        """Until it is killed."""
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: self.process_state() == "stopped", "it stands still")
        self.frozen = True

    def start(self):
        started = member_process.start_process(SETTINGS, self.port, self._log,
                                               DEADLINE_S)
        if started is None:  # another process has the port by now
            self.port, *started = member_process.start_anywhere(
                SETTINGS, self._log, DEADLINE_S)
            self.relay.lead_to(("127.0.0.1", self.port))
        self._identity = *started, member_process.boot_id()
        self.alive = True

    def link(self):
        return Link(f"127.0.0.1:{self.port}")

    def blocks(self):
        """Those that stay: the rest goes by itself."""
        return block_keys(f"127.0.0.1:{self.port}", LASTING_S)


class World:
    """All processes of one worker."""

    def __init__(self, folder):
        self.folder = folder
        self._count = 0
        self.witness = Witness(os.path.join(folder, "witness"))
        self.servers = []
        self.spare = None  # an empty one, that is to have another's place
        self._gone = []
        # Plain clients would expect items elsewhere than the ring has them.
        self.worn = False
        self.collected = None  # what the last collection said
        self.proxy = None
        self._link = None
        try:
            for number in range(SERVERS):
                self.servers.append(Server(os.path.join(folder, f"m{number}")))
            self.config = os.path.join(folder, "ersproxy.yaml")
            with open(self.config, "w", encoding="ascii") as file:
                file.write(
                    f'scheme: {SCHEME}\nmax_failures: {MAX_FAILURES}\nthreads: 1\n'
                    f"timeouts: {{connect_ms: {2 * REQUEST_MS}, "
                    f"request_ms: {REQUEST_MS}}}\n"
                    "hedge_percent: 0\n"  # a held message is no late one
                    "garbage: {every_s: 0}\n"  # when it is asked for
                    "log: {level: debug}\n")
            self.start_proxy()
        except BaseException:
            self.close()
            raise

    def close(self):
        if self._link:
            self._link.socket.close()
        if self.proxy:
            self.proxy.kill()
        for server in self.everyone() + self._gone:
            server.kill()
            server.relay.close()
        self.witness.close()

    @property
    def names(self):
        return ",".join(server.name for server in self.servers)

    def server(self, name):
        return next(s for s in self.everyone() if s.name == name)

    def everyone(self):
        return self.servers + [self.spare] * bool(self.spare)

    def add_spare(self):
        if self.spare:  # of one that was prepared in vain
            self.spare.kill()
            self._gone.append(self.spare)
        self._count += 1
        self.spare = Server(os.path.join(self.folder, f"m{self._count}"))
        return self.spare

    def give_place(self, old, new):
        """In the list of servers."""
        self.servers[self.servers.index(old)] = new
        self.spare, self.worn = None, True
        old.kill()
        self._gone.append(old)

    # --- The programs -------------------------------------------------------

    def start_proxy(self):
        self._count += 1
        self.proxy = Proxy(
            os.path.join(self.folder, f"proxy-{self._count}"), self.names,
            "--config", self.config, "--admin", ":0",
            env=self.witness.variables)
        self._link = None

    def kill_proxy(self):
        self.proxy.kill()

    def end_proxy(self):
        """In order, by SIGTERM."""
        self.proxy.terminate()
        self.await_proxy()

    def await_proxy(self):
        """It was killed."""
        self.proxy.process.wait(DEADLINE_S)

    def heal_proxy(self):
        if self.proxy.process.poll() is not None:
            if self._link:
                self._link.socket.close()
            self.start_proxy()

    def new_link(self):
        return Link(self.proxy.addresses[0])

    def run_job(self, to, **more):
        """Of the daemon; the job, once it has ended."""
        api = Api(self.proxy.addresses[-1])
        job = api.start(to, **more)
        while job["state"] not in ENDED:
            # Between two checks of what sends no event: the state decides.
            time.sleep(0.02)
            job = api.job(job["id"])
        return job

    @property
    def link(self):
        """The driver's own connection to the proxy."""
        if self._link is None:
            self._link = self.new_link()
        return self._link

    def new_key(self):
        self._count += 1
        return f"k{self._count}"

    def start_ctl(self, *words, data=b"", watched=True):
        """ersctl, under way."""
        env = {k: v for k, v in os.environ.items()
               if k not in ("ERS_SERVERS", "ERS_STATE")}
        ctl = subprocess.Popen(
            [ERSCTL, "--servers", self.names, "--state", "-", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**env, **(self.witness.variables if watched else {})})
        ctl.stdin.write(data)
        ctl.stdin.close()
        ctl.stdin = None
        return ctl

    def ctl(self, *words, data=b""):
        """Of a command that must succeed, unwatched: what it prints. A machine
        that stands still keeps all servers silent for longer than ersctl
        waits: then once more."""
        end = time.monotonic() + DEADLINE_S
        while True:
            ctl = self.start_ctl(*words, data=data, watched=False)
            out, err = ctl.communicate(timeout=DEADLINE_S)
            if ctl.returncode == 0:
                return out
            if b"no answer within" not in err or time.monotonic() > end:
                raise Broken(f"ersctl {words}: {err.decode()}")

    def collect_garbage(self):
        """Nothing is written: all there is. False where more is to be collected
        now: one collection does not see it all."""
        said = json.loads(self.ctl("--json", "gc", "--grace", "0"))
        self.collected = said
        # A pack whose maker was killed has a stub, which says no key.
        item, _, why = said.get("why", "").partition(" ")
        if why == "is being written":
            self.end_stub(item)
        elif said["skipped"] and not said["silent"]:
            raise Broken(f"garbage that cannot be decided: {said}")
        # A busy machine keeps servers silent, which list nothing then. Or the
        # clock is a little behind that of whoever stored it.
        return not (said["silent"] or said["skipped"] or said["young"])

    def end_stub(self, item):
        """As servers do within a minute."""
        for server in self.servers:
            with server.link() as link:
                if link.get(item) == b"":
                    link.ask(f"md {item}".encode())

    # --- What holds ---------------------------------------------------------

    def view(self):
        """The newest that a server knows; None: there is none."""
        newest = None
        for server in self.servers:
            if not server.alive or server.frozen:
                continue
            with server.link() as link:
                record = link.get("ers!view")
            if record:
                view = json.loads(re.search(rb"\{.*\}", record, re.S)[0])
                if not newest or view["epoch"] > newest["epoch"]:
                    newest = view
        return newest

    def in_sync(self, but=()):
        """All servers are, with the memory that they have now."""
        def is_in_sync(member):
            server = self.server(member.get("address", member["name"]))
            return server in but or (
                member["state"] == "in_sync"
                and member["boot_mark"].startswith(f"{server.pid}/"))
        view = self.view()
        return view and all(map(is_in_sync, view["members"]))

    def heal(self):
        """All processes are there again, and all servers in sync."""
        self.heal_proxy()
        for server in self.servers:
            if server.frozen:
                server.kill()
            if not server.alive:
                server.start()
        try:
            until(self.in_sync, "all servers are in sync")
        except Broken as failure:
            processes = {s.name: f"{s.process_state()} {s.pid}"
                         for s in self.servers}
            raise Broken(f"{failure}: {processes}, {self.view()}") from None

    def facts(self, key):
        """What `ers stat` shows of an object."""
        lines = lines_of(self.link, f"ers stat {key}".encode())
        if isinstance(lines, bytes):
            raise Broken(f"ers stat: {lines}")
        return dict(line.decode().split(" ", 2)[1:] for line in lines)

    def strike(self, point, strike_kind, **more):
        """At the message of a point, which then is sent; the Strike."""
        _, verb, server, key = point.message
        strike = Strike(strike_kind, verb, key, **more)
        self.server(server).relay.strike(strike)
        point.let_go()
        return strike

    def lose_reply(self, point, applied=lambda: None):
        strike = self.strike(point, "lose", applied=applied)
        if not strike.struck.wait(DEADLINE_S):
            raise Broken("the message never came")

    def blocks(self):
        """{hash of the key: {place of the server: number of blocks}}"""
        found = {}
        for place, server in enumerate(self.servers):
            if server.alive:
                for key in server.blocks():
                    of = found.setdefault(key.split(b".")[0], {})
                    of[place] = of.get(place, 0) + 1
        return found
