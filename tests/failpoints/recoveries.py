"""Operations in which others come to an end first: a change that was cut off, a
server that dies, one that comes back, a block that is lost; and those on the
whole cluster."""

import json

from operations import (BYSTANDERS, CODED, Command, Operation, Overwrite, Put,
                        Read, show, store_bystanders, value_of)
from relay import Strike
from world import Broken, SCHEME, Started, until

REPLIES = 30  # after which a server's usual time is known


class Reconcile(Put):
    """A change was cut off that all replicas have but the primary: it is
    undone."""
    name = "reconcile"

    def prepare(self):
        super().prepare()
        self.pending = value_of(self.key, "pending", CODED), 5
        self.cut_off(self.world, lambda link: link.set(
            self.key, self.pending[0], flags=self.pending[1]))

    def cut_off(self, world, act):
        cut_off(world, act)

    def states(self):
        return [self.old, self.pending, self.new]


def cut_off(world, act, step="commit-primary"):
    """A change whose proxy is killed before a message: what goes to the primary
    is sent last."""
    point = world.witness.stop_at(step, 1)
    change = Started(act, world.new_link())
    if not point.reached.wait(60):
        raise Broken("no change to cut off")
    world.kill_proxy()
    change.wait()
    world.heal_proxy()


class Finish(Reconcile):
    """A change was cut off that the primary alone has: it is finished."""
    name = "finish"

    def cut_off(self, world, act):
        """What goes to the other replicas gets lost."""
        *others, primary = world.facts(self.key)["replicas"].split(",")
        point = world.witness.stop_at("commit-replica", 1)
        change = Started(act, world.new_link())
        if not point.reached.wait(60):
            raise Broken("no change to cut off")
        _, verb, _, item = point.message
        strikes = {name: Strike("again", verb, item) for name in others}
        strikes[primary] = Strike("lose", verb, item, world.kill_proxy)
        for name, strike in strikes.items():
            world.server(name).relay.strike(strike)
        again = world.witness.stop_at("repeat-cas", 1)  # is never sent
        point.let_go()
        for strike in strikes.values():
            if not strike.struck.wait(60):
                raise Broken("the change was never sent")
        world.witness.forget(again)
        again.let_go()
        change.wait()
        for name in others:
            strikes[name].drop()
        world.heal_proxy()


class ReconcileRead(Reconcile):
    """The primary, which shows the object, is lost, and its reader
    reconciles."""
    name, reads = "reconcile by a read", True

    def prepare(self):
        super().prepare()
        replicas = self.world.facts(self.key)["replicas"].split(",")
        self.world.server(replicas[-1]).kill()
        self.new = None

    def act(self, link):
        return show(link, self.key, refusals=True)

    def done(self, said):
        return said in (self.old, self.pending)

    def states(self):
        return [self.old, self.pending]

    kept = states


class CollectGarbage(Command):
    """Two changes were cut off: before any replica has them, and before the
    primary has."""
    name = "gc"

    def prepare(self):
        super().prepare()
        for which, step in (("gone", "commit-replica"),
                            ("pending", "commit-primary")):
            self.new = value_of(self.key, which, CODED), 5
            cut_off(self.world, lambda link: link.set(
                self.key, self.new[0], flags=self.new[1]), step)

    def words(self):
        return "gc", "--grace", "0"

    kept = Operation.states


class Repeat(Overwrite):
    """The reply to a replica's write is lost."""
    name = "repeat"

    def lose(self, point):
        self.world.lose_reply(point)

    interludes = (("commit-replica", 1, lose),)


class ReplicaDies(Overwrite):
    """A replica dies as it is written to."""
    name = "replica dies"

    def kill(self, point):
        self.world.server(point.message[2]).kill()
        point.let_go()

    interludes = (("commit-replica", 2, kill),)


class ReplicaFreezes(Overwrite):
    """A replica stands still as it is written to, and is silent on two
    connections."""
    name = "replica freezes"

    def prepare(self):
        super().prepare()
        # Where too little is known of its replies, no silence is odd.
        for _ in range(REPLIES):
            self.store(self.old)

    def freeze(self, point):
        self.world.server(point.message[2]).freeze()
        point.let_go()

    interludes = (("commit-replica", 1, freeze),)


class PrimaryDies(ReplicaDies):
    name = "primary dies"
    interludes = (("commit-primary", 1, ReplicaDies.kill),)


class PrimaryForgets(ReplicaDies):
    """It dies with the new manifest, and no process hears of it."""
    name = "primary forgets"

    def forget(self, point):
        server = self.world.server(point.message[2])
        self.world.lose_reply(point, server.kill)

    interludes = (("commit-primary", 1, forget),)


class Fill(Operation):
    """A server comes back; new is what old was."""
    name = "backfill"

    def prepare(self):
        super().prepare()
        self.new = self.old
        self.server = self.world.servers[1]
        self.server.kill()
        self.meanwhile()

    def meanwhile(self):
        self.observe(self.world.link)

    def act(self, _):
        self.server.start()
        until(lambda: not all(s.alive for s in self.world.servers)
              or self.world.proxy.process.poll() is not None
              or self.world.in_sync(), "it is backfilled")
        return True if self.world.in_sync() else None

    def done(self, said):
        return said is True


class Complete(Fill):
    """What was written without it is completed."""
    name = "complete"

    def meanwhile(self):
        self.store(self.old)


class Rebuild(Command):
    """What was written without a server is completed, and there is no proxy."""
    name = "rebuild"

    def prepare(self):
        super().prepare()
        self.new = self.old
        servers = self.world.servers
        servers[1].kill()
        self.store(self.old)
        self.world.end_proxy()
        servers[1].start()
        self.alive = {server: server.pid for server in servers}

    def words(self):
        return ("rebuild",)

    def act(self, link):
        said = super().act(link)
        same = all(server.alive and server.pid == pid
                   for server, pid in self.alive.items())
        if said[0] == 0 and same and not self.world.in_sync():
            raise Broken("not all are in sync, as it says")
        return said


class Repair(Read):
    """A block is gone, and put back."""
    name = "repair"

    def prepare(self):
        super().prepare()
        lose_block(self, "data")


def lose_block(operation, kind):
    """One of the object's, and what else of it is on the same server."""
    world = operation.world
    before = {s.name: set(s.blocks()) for s in world.servers}
    # A new generation in place of the old: those blocks are its own.
    operation.store(operation.old)
    blocks = json.loads(world.ctl("stat", operation.key, "--json"))
    lost = next(block for block in blocks["blocks"] if block["kind"] == kind)
    server = world.server(lost["server"])
    with server.link() as link:
        for key in set(server.blocks()) - before[server.name]:
            link.ask(b"md " + key)


class LateRepair(Repair):
    """It is overwritten while the block is put back."""
    name = "late repair"

    def plan(self):
        self.new = value_of(self.key, "new", CODED), 0

    def overwrite(self, point):
        self.world.ctl("put", self.key, "-", "--scheme", SCHEME,
                       data=self.new[0])
        point.let_go()

    interludes = (("repair", 1, overwrite),)

    def done(self, said):
        return said in (self.old, self.new)

    def states(self):
        return [self.new]


class RepairByCtl(Command):
    """No read would miss that block."""
    name = "verify --repair"

    def prepare(self):
        super().prepare()
        self.new = self.old
        lose_block(self, "parity")

    def words(self):
        return "verify", "--repair", self.key

    def recover(self, acknowledged):
        self.world.heal()
        if not acknowledged:
            self.world.ctl(*self.words())
        facts = self.world.facts(self.key)
        if facts["blocks"] != facts["blocks_present"]:
            raise Broken(f"it is not repaired: {facts}")


class Replace(Command):
    """A dead server's place goes to another one."""
    name = "replace"

    def prepare(self):
        super().prepare()
        self.new = self.old
        servers = self.world.servers
        self.leaving = servers[self.run % len(servers)]
        self.leave()
        self.coming = self.world.add_spare()

    def leave(self):
        self.leaving.kill()
        self.observe(self.world.link)

    def words(self):
        return "replace", self.leaving.name, self.coming.name

    def recover(self, acknowledged):
        """What was cut off goes on when it is said once more."""
        places = self.leaving, self.coming
        for server in self.world.everyone():
            if not server.alive and server is not self.leaving:
                server.start()
        if not acknowledged:
            until(lambda: self.world.in_sync(but=places), "the others are in sync")
            until(self.is_taken, "the place is given")
        self.world.give_place(*places)

    def is_taken(self):
        """Not yet where the new one has its place already, was restarted, and no
        process has missed it since."""
        try:
            self.world.ctl(*self.words())
        except Broken as failure:
            if "it is to be backfilled" not in str(failure):
                raise
            return False
        return True


class ReplaceAlive(Replace):
    name = "replace alive"

    def leave(self):
        pass


class FlushAll(Operation):
    """Of all objects, or of none."""
    name = "flush_all"

    def plan(self):
        self.old = self.observe(self.world.link)
        self.new = [None] * len(self.old)

    def act(self, link):
        return link.ask(b"flush_all")

    def done(self, said):
        return said == b"OK"

    def observe(self, link):
        return [show(link, key) for key in (self.key, *BYSTANDERS)]

    def restore(self):
        # With all servers: else they are placed elsewhere. One whose silence
        # shows only now was in sync before.
        epoch = None
        while epoch != (epoch := self.world.view()["epoch"]):
            self.world.heal()
            store_bystanders(self.world.link)
