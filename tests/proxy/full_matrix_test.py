"""Servers that evict nothing are full of values of one length: what is there
is read whatever happens to as many servers as may be out, and each operation
works or is refused and changes nothing.

ERS_FULL_LENGTHS says of which lengths, with "," between; without it some of
the stories are played, with one.
"""

import collections
import os
import shutil
import tempfile
import time
import unittest

from jobs_case import Api
from proxy_case import DEADLINE_S, Proxy, ProxyCase
from stalls import Stalls

ASKED = os.environ.get("ERS_FULL_LENGTHS", "")
LENGTHS = tuple(int(length) for length in (ASKED or "1000").split(","))
MEMORY_MB = 8
INLINE_BELOW = 4096
REFUSED = 200
SAMPLE = 60
CLEAN = b"SERVER_ERROR out of memory"
STORED = b"STORED"
FLUSHED_S = 5


def value_of(key, length):
    return (key.encode() * (length // len(key) + 1))[:length]


class FullMatrixTest(ProxyCase):
    SERVERS = 6  # the rest may take their places

    @classmethod
    def setUpClass(cls):
        """Each story has a cluster of its own."""
        cls.folder = tempfile.mkdtemp(prefix="full-matrix-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    def play(self, story):
        for length in LENGTHS:
            with self.subTest(length=length):
                self.setUp()
                type(self).cluster_folder = self.path("cluster")
                self.tool("up", "-n", str(self.SERVERS + 2), "--memory",
                          str(MEMORY_MB), "--item-max", "1", "--no-evict")
                self.wrong = []
                try:
                    self.begin()
                    story(length)
                finally:
                    self.proxy.kill()
                    self.tool("down")
                self.assertEqual(self.wrong, [])

    def begin(self):
        listed = self.tool("env").strip().partition("=")[2].split(",")
        type(self).servers = ",".join(listed[:self.SERVERS])
        self.members, self.spares = (listed[:self.SERVERS],
                                     listed[self.SERVERS:])
        type(self).proxy = Proxy(self.path("proxy"), self.servers, "--admin",
                                 ":0")
        type(self).address = self.proxy.addresses[0]
        self.values = {}

    def note(self, right, *about):
        """The story goes on: each thing that is wrong is to be seen."""
        if not right:
            self.wrong.append(" ".join(str(word)[:300] for word in about))

    def fill(self, length, prefix="f"):
        """Sets until none has found room for long."""
        link, refused, number, odd = self.link(), 0, 0, set()
        while refused < REFUSED:
            batch = [f"{prefix}{number + i}" for i in range(50)]
            number += len(batch)
            link.send(b"".join(
                f"set {key} 0 0 {length}\r\n".encode() + value_of(key, length)
                + b"\r\n" for key in batch))
            for key in batch:
                said = link.line()
                if said == STORED:
                    self.values[key] = value_of(key, length)
                else:
                    refused += 1
                    if not said.startswith(CLEAN):
                        odd.add(said)
        self.note(not odd, "sets that find no memory:", len(odd),
                  *sorted(odd)[:2])

    def sample(self):
        keys = list(self.values)
        return keys[::max(1, len(keys) // SAMPLE)]

    def all_right(self, about):
        link, wrong = self.link(), []
        for key in self.sample():
            try:
                got = link.get(key)
            except AssertionError as error:
                wrong.append(f"{key}: {error}")
                continue
            if got != self.values[key]:
                wrong.append(f"{key}: {got and got[:40]}")
        self.note(not wrong, about, f"{len(wrong)} of {len(self.sample())} "
                  "gets:", *wrong[:2])

    def changed(self, key, said, value, done=STORED):
        """It worked, or was refused and changed nothing."""
        if said == done:
            self.values[key] = value
        else:
            self.note(said.startswith(CLEAN), key, said)
        self.is_right(key, said)

    def is_right(self, key, about):
        try:
            got = self.link().get(key)
        except AssertionError as error:
            got = str(error).encode()
        self.note(got == self.values.get(key), about, key, got and got[:200])

    def works_or_is_refused(self, length, deletes=True):
        """Overwrites, additions and the like; and deletes.

        deletes: these work, though there is no memory."""
        link, keys = self.link(), self.sample()
        for i, key in enumerate(keys[:16]):
            new = value_of(f"{key}new",
                           (length, 3 * length, 20_000, 10)[i % 4])
            self.changed(key, link.set(key, new), new)
        for key in keys[16:20]:
            self.changed(key, link.store("append", key, b"more"),
                         self.values[key] + b"more")
        for key in keys[20:24]:
            said = link.ask(f"touch {key} 0".encode())
            self.changed(key, said, self.values[key], b"TOUCHED")
        for key in keys[24:34]:
            said = link.ask(f"delete {key}".encode())
            if deletes or said == b"DELETED":
                self.note(said == b"DELETED", "delete", key, said)
                del self.values[key]
            else:
                self.note(said.startswith(CLEAN), "delete", key, said)
            self.is_right(key, said)

    def can_be_inspected(self, *commands):
        for words in commands or (("ls",), ("verify",), ("gc",),
                                  ("servers",)):
            done = self.run_ctl(*words)
            self.note(done.returncode == 0, words, done.returncode,
                      done.stderr, done.stdout[-300:])
            if words == ("ls",):
                keys = {line.split(b"\t")[0].decode()
                        for line in done.stdout.splitlines()}
                missing = set(self.values) - keys
                self.note(not missing, "ls lacks", len(missing),
                          sorted(missing)[:2])

    def states(self):
        status = Api(self.proxy.addresses[-1]).ask("GET", "/status")[1]
        return {server["state"] for server in status["servers"]}

    def serves(self, length, about, within_s):
        """One set after the other is stored, by then; the time that the
        machine stood still does not count."""
        link, began, said = self.link(), time.monotonic(), b""
        key, stalls = "served", Stalls()
        stalls.start()
        self.addCleanup(stalls.end)
        while (said := link.set(key, value_of(key, length))) != STORED:
            if time.monotonic() - stalls.total > began + within_s:
                self.note(False, about, said)
                return
            time.sleep(0.05)
        self.same(link.get(key), value_of(key, length), about)

    def filled(self, length):
        self.fill(length)
        self.all_right("full")

    def test_each_operation(self):
        self.play(self.each_operation)

    def each_operation(self, length):
        self.filled(length)
        self.works_or_is_refused(length)
        self.fill(length, "again")
        self.can_be_inspected()
        self.all_right("inspected")

    def goes_on(self, about, length):
        self.all_right(about)
        self.works_or_is_refused(length)
        self.can_be_inspected(("ls",), ("servers",))

    @unittest.skipUnless(ASKED, "takes long: ERS_FULL_LENGTHS=1000 plays it")
    def test_a_death_and_a_return(self):
        self.play(self.a_death_and_a_return)

    def a_death_and_a_return(self, length):
        self.filled(length)
        self.tool("kill", "3")
        self.goes_on("one is dead", length)
        self.tool("start", "3")
        self.until(lambda: "down" not in self.states(), "it is back")
        self.goes_on("it is back", length)

    @unittest.skipUnless(ASKED, "takes long: ERS_FULL_LENGTHS=1000 plays it")
    def test_replace(self):
        self.play(self.replace)

    def replace(self, length):
        self.filled(length)
        self.tool("kill", "2")
        done = self.run_ctl("replace", self.members[1], self.spares[0])
        # 3: not all of it fits.
        self.note(done.returncode in (0, 3), "replace", done.returncode,
                  done.stderr)
        self.goes_on("replaced", length)

    @unittest.skipUnless(ASKED, "takes long: ERS_FULL_LENGTHS=1000 plays it")
    def test_recover(self):
        self.play(self.recover)

    def recover(self, length):
        self.filled(length)
        for number in (1, 4):
            self.tool("kill", str(number))
        self.ctl("recover", "--accept-loss", "--yes",
                 f"{self.members[0]}={self.spares[0]}",
                 f"{self.members[3]}={self.spares[1]}")
        self.whole_or_missed("two are given up")

    @unittest.skipUnless(ASKED, "takes long: ERS_FULL_LENGTHS=1000 plays it")
    def test_a_loss(self):
        self.play(self.a_loss)

    def a_loss(self, length):
        self.filled(length)
        for number in (2, 5):
            self.tool("kill", str(number))
        for number in (5, 2):
            self.tool("start", str(number))
        self.serves(length, "two have lost their memory", DEADLINE_S)
        self.whole_or_missed("two have lost their memory")

    def whole_or_missed(self, about):
        link, found = self.link(), {}
        for key in self.sample():
            value = link.get(key)
            if value is not None:
                self.same(value, self.values[key], (about, key))
                found[key] = value
        if len(next(iter(self.values.values()))) < INLINE_BELOW:
            self.assertGreater(len(found), 0, about)
        self.values = found
        # Replicas that have no room for what they lack take no change of it.
        self.works_or_is_refused(100, deletes=False)
        self.can_be_inspected(("ls",), ("servers",), ("gc",))

    def test_flush(self):
        self.play(self.flush)

    def flush(self, length):
        self.filled(length)
        keys = self.sample()
        said = self.link().ask(b"flush_all")
        self.note(said == b"OK", "flush_all", said)
        self.serves(length, "flushed", FLUSHED_S)
        link = self.link()
        for key in keys:
            self.note(link.get(key) is None, "flushed", key)
        # There is room for as many as before.
        before, self.values = len(self.values), {}
        refused = collections.Counter()
        for i in range(min(2000, before // 3)):
            key = f"new{i}"
            said = link.set(key, value_of(key, length))
            if said != STORED:
                refused[said[:60]] += 1
        self.note(not refused, "after the flush", refused)


if __name__ == "__main__":
    unittest.main()
