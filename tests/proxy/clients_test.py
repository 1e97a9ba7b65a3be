"""Clients that others wrote: pymemcache, gomemcache and memjs (binary).

Each is a small program in clients/, run with ADDRESS PREFIX SIZE...: for each
line of its standard input it goes through every command with values of every
SIZE under keys PREFIX SIZE, compares what it gets, and prints `round`; it ends
with its input, or by exit code 1 with what was wrong. A client that cannot be
had is named, with the reason.
"""

import os
import subprocess
import tempfile
import threading
import unittest

from proxy_case import DEADLINE_S, MIB, SIZES, TOP, ProxyCase

PREPARE = os.path.join(TOP, "tests", "proxy", "clients", "prepare")
FOLDER = os.environ.get("ERS_CLIENTS")
EXAMPLES = os.path.join(TOP, "examples", "clients")
TRANSITIONS = 100
# Long enough for blocks, short enough for a hundred changes of width.
MOVING_SIZES = [10_000, 65536, 300_000, MIB, 8 * MIB]


class Program:
    """A client's process, round by round."""

    def __init__(self, command, address, prefix, sizes):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*command, address, prefix, *map(str, sizes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, bufsize=1)
        self.name = self.process.stdout.readline().strip()
        self.guard = threading.Timer(3 * DEADLINE_S, self.process.kill)
        self.guard.start()

    def round(self):
        """Returns what was wrong; empty if nothing was."""
        try:
            self.process.stdin.write("round\n")
        except BrokenPipeError:
            return self.wrong()
        said = self.process.stdout.readline()
        return "" if said == "round\n" else self.wrong()

    def wrong(self):
        self.process.wait()
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace") or "it was killed"

    def end(self):
        self.guard.cancel()
        self.process.kill()
        self.process.communicate()
        self.errors.close()


class Mover:
    """Changes the width of a client's objects until it is stopped."""

    def __init__(self, link, keys):
        self.link = link
        self.keys = keys
        self.moved = 0
        self.answers = {}
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _move(self, key, width):
        self.link.send(f"ers transition {key} {width}\r\n".encode())
        while (line := self.link.line()).startswith(b"STAT "):
            pass
        self.answers[line] = self.answers.get(line, 0) + 1
        if line == b"END":
            self.moved += 1

    def _run(self):
        while not self.stopped.is_set():
            for key in self.keys:
                for width in ("wide", "narrow"):
                    if not self.stopped.is_set():
                        self._move(key, width)

    def stop(self):
        self.stopped.set()
        self.thread.join()


class ClientsCase(ProxyCase):

    def prepared(self, client, *source):
        """The command that runs it; skips by name one that cannot be had."""
        folder = FOLDER or tempfile.mkdtemp(dir=self.folder)
        made = subprocess.run(
            [PREPARE, client, folder, *source], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=3 * DEADLINE_S,
            check=False)
        answer = (made.stdout.strip().splitlines() or [""])[-1]
        if made.returncode != 0:
            self.skipTest(f"{client}: {answer} {made.stderr[-300:]}")
        return answer.split()

    def program(self, client, prefix, sizes):
        """The client's process."""
        program = Program(self.prepared(client), self.address, prefix, sizes)
        self.addCleanup(program.end)
        return program

    def while_moved(self, client):
        program = self.program(client, client, MOVING_SIZES)
        mover = Mover(self.link(), [f"{client}{size}"
                                    for size in MOVING_SIZES])
        self.addCleanup(mover.stop)
        rounds, wrong = 0, ""
        # Every one of them is made while the client is in a round.
        while mover.moved < TRANSITIONS and not wrong:
            wrong = program.round()
            rounds += 1
        mover.stop()
        print(f"{program.name}: {rounds} rounds beside {mover.moved} changes "
              f"of width; all answers: {mover.answers}", flush=True)
        self.assertEqual(wrong, "")


class HealthyTest(ClientsCase):

    def healthy(self, client):
        program = self.program(client, client, SIZES)
        for _ in range(2):
            self.assertEqual(program.round(), "")
        print(f"{program.name}: values of {len(SIZES)} lengths", flush=True)

    def test_pymemcache(self):
        self.healthy("pymemcache")

    def test_gomemcache(self):
        self.healthy("gomemcache")

    def test_memjs(self):
        self.healthy("memjs")

    def example(self, client, name):
        """What the guide to clients shows works as it stands there."""
        command = self.prepared(client, os.path.join(EXAMPLES, name))
        done = subprocess.run(
            [*command, self.address], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=3 * DEADLINE_S,
            check=False)
        self.assertEqual((done.stdout, done.returncode),
                         ("3000000 bytes\n", 0), done.stderr)

    def test_example_of_pymemcache(self):
        self.example("pymemcache", "with_pymemcache.py")

    def test_example_of_gomemcache(self):
        self.example("gomemcache", "with_gomemcache.go")

    def test_example_of_memjs(self):
        self.example("memjs", "with_memjs.js")

    def test_pymemcache_while_widths_change(self):
        self.while_moved("pymemcache")

    def test_gomemcache_while_widths_change(self):
        self.while_moved("gomemcache")

    def test_memjs_while_widths_change(self):
        self.while_moved("memjs")


class OneServerDead(ClientsCase):
    """A class for each client: what is killed stays dead."""

    def dies(self, client, server):
        """The client goes on over the death of one, and without it."""
        program = self.program(client, client, SIZES)
        self.assertEqual(program.round(), "")
        self.tool("kill", server)
        for _ in range(2):
            self.assertEqual(program.round(), "")
        self.while_moved(client)


class PymemcacheOneDeadTest(OneServerDead):

    def test_it_goes_on(self):
        self.dies("pymemcache", "1")


class GomemcacheOneDeadTest(OneServerDead):

    def test_it_goes_on(self):
        self.dies("gomemcache", "3")


class MemjsOneDeadTest(OneServerDead):

    def test_it_goes_on(self):
        self.dies("memjs", "6")


if __name__ == "__main__":
    unittest.main()
