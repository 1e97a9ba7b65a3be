"""One run: an operation, stopped at one of its messages, and a fault there."""

from catalogue import OPERATIONS
from faults import FAULTS, OtherDies
from operations import BYSTANDERS, show, store_bystanders, value_of
from world import Broken, Lost, SERVERS, Started, until

PREPARES = 3


def operation_of(name):
    return next(one for one in OPERATIONS if one.name == name)


def fault_of(name):
    for fault in FAULTS:
        if fault.name == name:
            return fault()
    return OtherDies(int(name.rsplit(" ", 1)[1]))


def every_server():
    return [OtherDies(number).name for number in range(1, SERVERS)]


class Runner:
    """Runs cases in a world of its own, one after the other."""

    def __init__(self, world):
        self.world = world
        store_bystanders(world.link)
        self.bystanders = world.blocks()

    def begin(self, name, run):
        """An operation that is prepared, and whose messages are wanted."""
        for tries in range(PREPARES):
            operation = operation_of(name)(self.world)
            operation.run = run
            try:
                operation.prepare()
                return operation
            except (Broken, OSError, AssertionError):
                # ersctl gives up sooner than a busy machine lets it answer.
                if tries + 1 == PREPARES:
                    raise
                self.world.kill_proxy()
                self.world.heal()
                for key in operation.keys:
                    self.world.link.ask(f"delete {key}".encode())
        return None

    def _wanted(self, operation):
        proxy = self.world.proxy.process.pid
        return lambda pid: (pid == proxy) != (operation.by == "ctl")

    def _meets(self, point, change):
        """Waits until the point is reached, or the operation has ended and
        nothing more is sent for it: the answer comes last."""
        while not point.reached.wait(0.02):
            if change.ended() and not point.reached.is_set():
                return not self.world.witness.forget(point) \
                    and point.reached.wait(5)
        return True

    def _interlude(self, operation, step, nth, action):
        """To be waited for."""
        return self.world.witness.stop_at(step, nth, self._wanted(operation)), \
            action

    def _start(self, operation, point):
        """Starts it, up to its last interlude; then `point` is set."""
        witness, wanted = self.world.witness, self._wanted(operation)
        link = self.world.new_link() if operation.by == "proxy" else None
        change = None
        for step, nth, action in operation.interludes:
            before = witness.stop_at(step, nth, wanted)
            change = change or Started(operation.act, link)
            if not self._meets(before, change):
                raise Broken(f"{operation.name} never came to {step}: "
                             f"{change.said}")
            witness.trace()
            stop = witness.stop_at(*point, wanted) if point else None
            action(operation, before)
        if not operation.interludes:
            witness.trace()
            stop = witness.stop_at(*point, wanted) if point else None
            change = Started(operation.act, link)
        return stop, change

    def trace(self, name):
        """The steps of all its messages, in order."""
        for tries in range(PREPARES):
            operation = self.begin(name, 0)
            change = self._start(operation, None)[1]
            said = change.wait()
            if said is not None and operation.done(said):
                break
            self.world.kill_proxy()
            self.world.heal()
        wanted = self._wanted(operation)
        steps = [step for pid, step, *_ in self.world.witness.trace()
                 if wanted(pid)]
        if said is None or not operation.done(said):
            raise Broken(f"{name} without a fault: {said}")
        self._check(operation, said, after=lambda: None, degraded=True)
        return steps

    def strike(self, name, nth, step, fault_name, run):
        """{"outcome", "left", "thin"}; the outcome is None where the message
        was not sent this time."""
        fault = fault_of(fault_name)
        operation = self.begin(name, run)
        stop, change = self._start(operation, (step, nth))
        if not self._meets(stop, change):
            said = change.wait()
            self._check(operation, said, lambda: None, degraded=False)
            return {"outcome": None}
        fault.strike(self.world, operation, stop)
        said = change.wait()
        struck = fault.await_strike(self.world, operation)
        if not struck:
            self.world.server(stop.message[2]).relay.strike(None)
        elif fault.kills_actor and operation.by == "proxy":
            self.world.await_proxy()
        outcome = self._check(operation, said,
                              fault.end if struck else lambda: None,
                              run % 2 == 0, killed=fault.kills_actor,
                              lossy=fault.takes_server and operation.plain)
        if not struck:
            outcome["outcome"] = None
        return outcome

    def _check(self, operation, said, after, degraded, killed=False,
               lossy=False):
        """What must hold now, whatever happened. lossy: a plain item may have
        gone with its server."""
        world = self.world
        if operation.by == "ctl":
            # A view that ersctl has changed is known to a proxy that starts
            # then.
            world.kill_proxy()
            if said is not None and said[0] < 0:
                said = None
        world.heal_proxy()
        if lossy:
            world.heal()
        acknowledged = said is not None and operation.done(said)
        refused = not acknowledged and is_refusal(said)
        if operation.reads and not acknowledged and not killed:
            raise Broken(f"a read failed: {brief(said)}")
        seen = operation.observe(world.link)
        if not (lossy and seen is None):
            check_outcome(operation, said, acknowledged, refused, seen)
        after()
        operation.recover(acknowledged)
        if not degraded:
            world.heal()
        again = operation.observe(world.link)
        if again != seen:
            raise Lost(f"it changed by itself: {brief(seen)}, then "
                       f"{brief(again)}")
        self._go_on(operation)
        word = ("cut" if said is None else "acknowledged" if acknowledged
                else "refused" if refused else "unknown")
        self._only_live(operation.key)
        return {"outcome": f"{word}, {state_name(operation.states(), seen)}"}

    def _go_on(self, operation):
        """The next change works, also once all servers are in sync."""
        size = 3000 + 3000 * (operation.run % 2)  # with blocks or without
        third = value_of(operation.key, "third", size), 9
        said = self.world.link.set(operation.key, third[0], flags=third[1])
        if said != b"STORED":
            raise Broken(f"the next change fails: {said}")
        for full in (False, True):
            if full:
                self.world.heal()
                operation.restore()
            seen = show(self.world.link, operation.key)
            if seen != third:
                raise Lost(f"the next change does not show: {brief(seen)}"
                           + " once all are in sync" * full)
        for key, size in BYSTANDERS.items():
            seen = show(self.world.link, key)
            if seen != (value_of(key, "", size), 0):
                raise Lost(f"{key} is another: {brief(seen)}")

    def _only_live(self, key):
        """With all garbage collected the servers have the blocks of the object
        and of those that were there before, and no other; and without the
        object none of its."""
        # What a server has that is out meanwhile, or is silent, stays: one whose
        # silence shows only now was full when the change was checked.
        def is_collected():
            epoch = self.world.view()["epoch"]
            listed = self.world.collect_garbage()
            self.world.heal()
            return listed and self.world.view()["epoch"] == epoch
        until(is_collected, "every server has listed what it has")
        self._await_blocks(self._blocks_all_there(key))
        self.world.link.ask(f"delete {key}".encode())
        self._await_blocks(0)

    def _blocks_all_there(self, key):
        """How many. A server that a busy machine keeps silent for a while shows
        none; it stays full or is made so again."""
        facts = {}

        def there():
            facts.update(self.world.facts(key))
            return facts["blocks"] == facts["blocks_present"]
        try:
            until(there, "all blocks are there")
        except Broken as failure:
            raise Broken(f"{failure}: {facts}") from None
        return int(facts["blocks"])

    def _await_blocks(self, wanted):
        """So many, besides those of the bystanders. Replaced ones are dropped
        in the background."""
        def there():
            blocks = self.world.blocks()
            others = sum(sum(of.values()) for name, of in blocks.items()
                         if name not in self.bystanders)
            same = all(blocks.get(name) == of
                       for name, of in self.bystanders.items())
            return same and others == wanted
        try:
            until(there, "only the live blocks are left")
        except Broken as failure:
            raise Broken(f"{failure}: {wanted} of {self.world.blocks()}; "
                         f"{self.bystanders}; {self.world.collected}") \
                from None


def check_outcome(operation, said, acknowledged, refused, seen):
    """Is what is there one of the states that the answer allows?"""
    if seen not in operation.states():
        raise Lost(f"neither old nor new: {brief(seen)}; {brief(said)}")
    if acknowledged and seen not in operation.kept():
        raise Lost(f"acknowledged and lost: {brief(said)}")
    # With others at work, or a change before it that was cut off, it may be
    # their state.
    alone = len(operation.states()) == 2 and not operation.interludes
    if refused and alone and seen != operation.states()[0]:
        raise Lost(f"refused and done: {brief(said)}")


def state_name(states, seen):
    if seen not in states:
        return "lost"
    if all(state == states[0] for state in states):
        return "same"
    names = ("old", "pending", "new") if len(states) == 3 else ("old", "new")
    return names[states.index(seen)]


def is_refusal(said):
    """Does the answer promise that nothing has changed?"""
    text = said[2] if isinstance(said, tuple) and len(said) == 3 else said
    return isinstance(text, bytes) and b"old or the new" not in text \
        and b"an object or a plain item" not in text


def brief(what):
    text = repr(what)
    return text if len(text) < 300 else f"{text[:140]}...{text[-140:]}"
