"""What strikes at a message, before it is sent or once it is applied."""

import os
import signal

# Shorter than a server may be silent.
DELAY_S = 0.03


class Fault:
    """Strikes at a Point, and lets the process go on."""

    name = None
    kills_actor = False
    takes_server = False  # and all that it knew

    def strike(self, world, operation, point):
        raise NotImplementedError

    def await_strike(self, world, operation):
        """The operation has ended; False where the message was never sent."""
        del world, operation
        return True

    def end(self):
        """After the first observation of what has become of it."""


class ProxyDies(Fault):
    """So does ersctl, where it is at work."""
    name = "proxy dies before"
    kills_actor = True

    def strike(self, world, operation, point):
        os.kill(operation.pid(), signal.SIGKILL)
        point.let_go()


class Applied(Fault):
    """Strikes once the server has done what the message says."""

    kind = "lose"
    seconds = 0.0

    def strike(self, world, operation, point):
        server = world.server(point.message[2])
        self.there = world.strike(
            point, self.kind, seconds=self.seconds,
            applied=lambda: self.applied(world, operation, server))

    def await_strike(self, world, operation):
        # A second in steps: one in which the machine stands still is one step.
        return any(self.there.struck.wait(0.05) for _ in range(20))

    def applied(self, world, operation, server):
        pass


class ProxyDiesAfter(Applied):
    name = "proxy dies after"
    kills_actor = True

    def applied(self, world, operation, server):
        os.kill(operation.pid(), signal.SIGKILL)


class ServerDies(Fault):
    name = "server dies before"
    takes_server = True

    def strike(self, world, operation, point):
        world.server(point.message[2]).kill()
        point.let_go()


class ServerDiesAfter(Applied):
    name = "server dies after"
    takes_server = True

    def applied(self, world, operation, server):
        server.kill()


class OtherDies(Fault):
    """Another server than the message goes to."""
    name = "another dies before"
    takes_server = True

    def __init__(self, number=None):
        self.number = number
        if number is not None:
            self.name += f" {number}"

    def strike(self, world, operation, point):
        servers = world.everyone()
        names = [server.name for server in servers]
        if self.number is None:
            # Every one, from run to run.
            self.number = 1 + operation.run % (len(names) - 1)
        at = names.index(point.message[2])
        servers[(at + self.number) % len(names)].kill()
        point.let_go()


class ReplyLost(Applied):
    name = "reply lost"


class ReplyDelayed(Applied):
    name, kind, seconds = "reply delayed", "delay", DELAY_S


class ReplyLate(Applied):
    """The server is given up before it comes."""
    name, kind = "reply late", "late"
    takes_server = True  # it leaves the view


class Twice(Applied):
    """The connection breaks, and what was sent over it is applied after the
    operation: beside what came over the new one."""
    name, kind = "comes again late", "again"

    def end(self):
        self.there.deliver()


FAULTS = [ProxyDies, ProxyDiesAfter, ServerDies, ServerDiesAfter, OtherDies,
          ReplyLost, ReplyDelayed, ReplyLate, Twice]
