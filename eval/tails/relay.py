"""tails-relay, driven by its lines (`tails-relay --help`)."""

import json
import subprocess


class RelayError(Exception):
    """What the relay refuses, as one sentence for the user."""


class Relay:
    """Before servers of this machine; `ports` are its own, in their order."""

    def __init__(self, program, ports):
        self.process = subprocess.Popen(
            [program, "--to", ",".join(map(str, ports))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1)
        line = self.process.stdout.readline()
        if not line:
            raise RelayError(f"{program} has ended: see its message above")
        self.ports = [int(port) for port in line.split(",")]

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise RelayError(answer or "tails-relay has ended")
        return answer

    def delay(self, server, ms):
        self.ask("delay", server, ms)

    def late(self, server, share, ms):
        self.ask("late", server, share, ms)

    def rate(self, server, bits_per_s):
        self.ask("rate", server, bits_per_s)

    def cut(self, server, pid):
        self.ask("cut", server, pid)

    def heal(self, server):
        self.ask("heal", server)

    def count(self):
        return json.loads(self.ask("count"))

    def reset(self):
        self.ask("reset")

    def well(self, server):
        """As if there were no relay."""
        self.delay(server, 0)
        self.late(server, 0, 0)
        self.rate(server, 0)
        self.heal(server)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
