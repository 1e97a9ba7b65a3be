"""Operations in which others come to an end first: a change that was cut off, a
server that dies, one that comes back."""

from operations import (CODED, Command, Operation, Overwrite, Put, show,
                        value_of)
from world import Broken, Started, until


class Settle(Put):
    """A change was cut off before its commit point."""
    name = "settle"

    def prepare(self):
        super().prepare()
        self.pending = value_of(self.key, "pending", CODED), 5
        cut_off(self.world, lambda link: link.set(
            self.key, self.pending[0], flags=self.pending[1]))

    def states(self):
        return [self.old, self.pending, self.new]


def cut_off(world, act, step="commit-judge"):
    """A change whose proxy is killed before it comes to the judge."""
    point = world.witness.stop_at(step, 1)
    change = Started(act, world.new_link())
    if not point.reached.wait(60):
        raise Broken("no change to cut off")
    world.kill_proxy()
    change.wait()
    world.heal_proxy()


class SettleRead(Settle):
    """The home that shows the object is lost, and its reader settles."""
    name, reads = "settle by a read", True

    def prepare(self):
        super().prepare()
        homes = self.world.facts(self.key)["homes"].split(",")
        self.world.server(homes[-1]).kill()
        self.new = None

    def act(self, link):
        return show(link, self.key)

    def done(self, said):
        return said in (self.old, self.pending)

    def states(self):
        return [self.old, self.pending]

    kept = states


class CollectGarbage(Command):
    """Two changes were cut off: before and within their commit."""
    name = "gc"

    def prepare(self):
        super().prepare()
        for which, step in (("gone", "commit-home"),
                            ("pending", "commit-judge")):
            self.new = value_of(self.key, which, CODED), 5
            cut_off(self.world, lambda link: link.set(
                self.key, self.new[0], flags=self.new[1]), step)

    def act(self, _):
        self.process = self.world.start_ctl("gc", "--grace", "0")
        out, err = self.process.communicate()
        return self.process.returncode, out, err

    kept = Operation.states


class Repeat(Overwrite):
    """The reply to a home's write is lost."""
    name = "repeat"

    def lose(self, point):
        self.world.lose_reply(point)

    interludes = (("commit-home", 1, lose),)


class HomeDies(Overwrite):
    """A home dies as it is written to."""
    name = "home dies"

    def kill(self, point):
        self.world.server(point.message[2]).kill()
        point.let_go()

    interludes = (("commit-home", 2, kill),)


class JudgeDies(HomeDies):
    name = "judge dies"
    interludes = (("commit-judge", 1, HomeDies.kill),)


class JudgeForgets(HomeDies):
    """It dies with the new manifest, and nobody hears of it."""
    name = "judge forgets"

    def forget(self, point):
        server = self.world.server(point.message[2])
        self.world.lose_reply(point, server.kill)

    interludes = (("commit-judge", 1, forget),)


class Fill(Operation):
    """A server comes back; new is what old was."""
    name = "fill"

    def prepare(self):
        super().prepare()
        self.new = self.old
        self.server = self.world.servers[1]
        self.server.kill()
        self.meanwhile()

    def meanwhile(self):
        self.look(self.world.link)

    def act(self, _):
        self.server.start()
        until(lambda: not all(s.alive for s in self.world.servers)
              or self.world.proxy.process.poll() is not None
              or self.world.full(), "it is filled")
        return True if self.world.full() else None

    def done(self, said):
        return said is True


class Complete(Fill):
    """What was written without it is completed."""
    name = "complete"

    def meanwhile(self):
        self.store(self.old)
