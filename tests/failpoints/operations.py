"""What is done while a fault strikes: each operation with the states before and
after it that are right."""

from world import (Broken, KIB, LESS_PARITY, Lost, MIB, OTHER_SCHEME, SCHEME,
                   lines_of, random_bytes)

SMALL, CODED, GROUPS = 100, 5 * KIB + 1, 9 * MIB
OLD_FLAGS, NEW_FLAGS = 7, 8


def value_of(key, which, size):
    return random_bytes(size, f"{key} {which}")


def show(link, key, refusals=False):
    """(value, flags) of the object; None: there is none. With `refusals` the
    line of an error, which is Broken otherwise."""
    line = link.ask(f"get {key}".encode())
    if line == b"END":
        return None
    if line is None:
        raise ConnectionError("the proxy has gone")
    if not line.startswith(b"VALUE ") and not refusals:
        raise Broken(f"{key} cannot be read: {line}")
    if not line.startswith(b"VALUE "):
        return line
    _, _, flags, count = line.split()
    value = link.read(int(count))
    if link.read(7) != b"\r\nEND\r\n":
        raise ConnectionError("the value was cut off")
    return value, int(flags)


# In every cluster, and changed by none but flush_all: {key: bytes of its
# value}. The second has a hashed name on the servers.
BYSTANDERS = {"bystander": 5000, "ers!bystander": 50}


def store_bystanders(link):
    for key, size in BYSTANDERS.items():
        said = link.set(key, value_of(key, "", size))
        if said != b"STORED":
            raise Broken(f"nothing can be stored: {said}")


class Operation:
    """One command of a client on one key. A new object for each run.

    `old` and `new` are what is there before and after, as observe() returns
    it. What act() returns is the client's answer; None: it got none."""

    name = None
    size = CODED        # of the old value; None: there is none
    by = "proxy"        # or "ctl": what does it, and is killed
    reads = False       # a read must succeed whatever one fault does
    plain = False       # it may end as a plain item, which its server can lose

    def __init__(self, world):
        self.world = world
        self.key = world.new_key()
        self.keys = [self.key]
        self.old = self.new = None

    def prepare(self):
        self.old = None
        if self.size is not None:
            self.old = value_of(self.key, "old", self.size), OLD_FLAGS
            self.store(self.old)
        self.plan()

    def store(self, state, exptime=0):
        said = self.world.link.set(self.key, state[0], flags=state[1],
                                   exptime=exptime)
        if said != b"STORED":
            raise Broken(f"{self.name}: nothing to begin with: {said}")

    def plan(self):
        """Sets `new`."""

    def act(self, link):
        raise NotImplementedError

    def pid(self):
        """Of the process that does it."""
        return self.world.proxy.process.pid

    def done(self, said):
        """Was it acknowledged?"""
        return said in (b"STORED", b"DELETED", b"TOUCHED", b"UPDATED")

    def observe(self, link):
        return show(link, self.key)

    def states(self):
        """The right ones, when it is not known to have happened."""
        return [self.old, self.new]

    def kept(self):
        """Those that are right once it was acknowledged."""
        return [self.new]

    def recover(self, acknowledged):
        """What has to be done before all servers can be in sync."""

    def restore(self):
        """Puts back what others need. All servers are in sync."""

    # (step, nth, what is done there): what has to come before.
    interludes = ()


class Put(Operation):
    new_size = CODED

    def plan(self):
        self.new = value_of(self.key, "new", self.new_size), NEW_FLAGS

    def act(self, link):
        return link.set(self.key, self.new[0], flags=self.new[1])


class PutSmall(Put):
    name, size, new_size = "put small", None, SMALL


class PutCoded(Put):
    name, size = "put", None


class PutGroups(Put):
    name, size, new_size = "put groups", None, GROUPS


class Overwrite(Put):
    name = "overwrite"


class OverwriteSmall(Put):
    """Without a prepare: the proxy has changed the key last."""
    name, size, new_size = "overwrite small", SMALL, SMALL


class OverwriteGroups(Put):
    name, size, new_size = "overwrite groups", GROUPS, GROUPS


class Grow(Put):
    name, size = "grow", SMALL


class Shrink(Put):
    name, new_size = "shrink", SMALL


class Update(Operation):
    name, at, size_of_part = "update", 700, 1500

    def plan(self):
        value = bytearray(self.old[0])
        self.part = value_of(self.key, "part", self.size_of_part)
        value[self.at:self.at + len(self.part)] = self.part
        self.new = bytes(value), OLD_FLAGS

    def act(self, link):
        link.send(f"ers update {self.key} {self.at} {len(self.part)}\r\n"
                  .encode() + self.part + b"\r\n")
        return link.line()


class UpdateSmall(Update):
    name, size, at, size_of_part = "update small", SMALL, 10, 20


class Append(Operation):
    name = "append"

    def plan(self):
        self.part = value_of(self.key, "part", CODED)
        self.new = self.old[0] + self.part, OLD_FLAGS

    def act(self, link):
        return link.store("append", self.key, self.part)


class Command(Operation):
    """By ersctl."""
    by = "ctl"
    data = b""

    def words(self):
        raise NotImplementedError

    def act(self, _):
        self.process = self.world.start_ctl(*self.words(), data=self.data)
        out, err = self.process.communicate()
        return self.process.returncode, out, err

    def pid(self):
        return self.process.pid

    def done(self, said):
        return said[0] == 0


class AppendByCtl(Command):
    name = "ersctl append"

    def words(self):
        return "append", self.key, "-"

    def plan(self):
        self.data = value_of(self.key, "part", CODED)
        self.new = self.old[0] + self.data, OLD_FLAGS


class Export(Command):
    name, plain = "export", True

    def words(self):
        return "export", self.key

    def plan(self):
        self.new = self.old


class ExportSmall(Export):
    name, size = "export small", SMALL


class Adopt(Put):
    """An item of a plain client becomes an object."""
    name, plain = "adopt", True

    def plan(self):
        super().plan()
        self.world.ctl("export", self.key)


class Count(Operation):
    """A repeated one would show."""
    size, verb = None, None

    def prepare(self):
        self.old = b"41", OLD_FLAGS
        self.store(self.old)
        self.new = b"%d" % (41 + self.by_one), OLD_FLAGS

    def act(self, link):
        return link.ask(f"{self.name} {self.key} 1".encode())

    def done(self, said):
        return said == self.new[0]


class Increment(Count):
    name, by_one = "incr", 1


class Decrement(Count):
    name, by_one = "decr", -1


class Delete(Operation):
    name = "delete"

    def act(self, link):
        return link.ask(f"delete {self.key}".encode())


class Transition(Operation):
    name, to = "forward", "wide"

    def observe(self, link):
        state = show(link, self.key)
        facts = self.world.facts(self.key)
        return state, facts.get("scheme"), facts.get("width")

    def prepare(self):
        super().prepare()
        link = self.world.link
        self.first(link)
        self.old = self.observe(link)
        twin = type(self)(self.world)
        Operation.prepare(twin)
        twin.first(link)
        twin.act(link)
        self.new = self.old[0], *twin.observe(link)[1:]
        link.ask(f"delete {twin.key}".encode())
        if self.new == self.old:
            raise Broken(f"{self.name} changes nothing")

    def first(self, link):
        pass

    def act(self, link):
        return lines_of(link, f"ers transition {self.key} {self.to}".encode())

    def done(self, said):
        return isinstance(said, list)


class Backward(Transition):
    name, to = "backward", "narrow"

    def first(self, link):
        lines_of(link, f"ers transition {self.key} wide".encode())


class Reencode(Transition):
    name, to = "reencode", OTHER_SCHEME


class AddParity(Transition):
    name, to = "add parity", SCHEME

    def first(self, link):
        lines_of(link, f"ers transition {self.key} {LESS_PARITY}".encode())


class DropParity(Transition):
    name, to = "drop parity", LESS_PARITY


class WidenAndAddParity(AddParity):
    """Both in one change."""
    name, to = "widen, add parity", "wide,2"


class NarrowAndDropParity(Backward):
    name, to = "narrow, drop parity", "narrow,1"


class Touch(Operation):
    """Longer: the blocks are touched first."""
    name = "touch"
    ttls = (1000, 5000)

    def prepare(self):
        value = value_of(self.key, "old", self.size), OLD_FLAGS
        self.store(value, exptime=self.ttls[0])
        self.old, self.new = ((value, ttl) for ttl in self.ttls)

    def act(self, link):
        return link.ask(f"touch {self.key} {self.ttls[1]}".encode())

    def observe(self, link):
        """With the nearest of both TTLs."""
        said = link.ask(f"mg {self.key} t".encode())
        if not said.startswith(b"HD t"):
            return show(link, self.key), said
        left = int(said.split(b"t")[1])
        return show(link, self.key), min(self.ttls,
                                         key=lambda ttl: abs(ttl - left))


class Invalidate(Operation):
    """The item stays, and is stale."""
    name = "invalidate"

    def plan(self):
        self.token = self.world.link.get_many(self.key,
                                              verb="gets")[self.key][2]
        self.old, self.new = (self.old, False), (self.old, True)

    def act(self, link):
        return link.ask(f"md {self.key} I".encode())

    def done(self, said):
        return said == b"HD"

    def observe(self, link):
        """With: is its CAS another? "mg" would show more, and win it."""
        found = link.get_many(self.key, verb="gets").get(self.key)
        return found and (found[:2], found[2] != self.token)


class Cas(Put):
    name = "cas"
    wrong = 0

    def prepare(self):
        super().prepare()
        self.token = self.world.link.get_many(self.key,
                                              verb="gets")[self.key][2]

    def act(self, link):
        return link.store("cas", self.key, self.new[0], flags=self.new[1],
                          more=f" {self.token + self.wrong}")


class RefusedCas(Cas):
    """What was staged goes again."""
    name, wrong = "cas refused", 1

    def plan(self):
        super().plan()
        self.wanted, self.new = self.new, self.old

    def act(self, link):
        return link.store("cas", self.key, self.wanted[0],
                          flags=self.wanted[1],
                          more=f" {self.token + self.wrong}")

    def done(self, said):
        return said == b"EXISTS"


class Read(Operation):
    name, reads = "get", True

    def plan(self):
        self.new = self.old

    def act(self, link):
        return show(link, self.key, refusals=True)

    def done(self, said):
        if isinstance(said, bytes):
            return False
        if said != self.old:
            raise Lost(f"{self.name}: another value was read")
        return True


class Listing(Operation):
    name, by = "list", "proxy"

    def plan(self):
        self.new = self.old

    def act(self, link):
        return lines_of(link, b"ers list narrow")

    def done(self, said):
        return isinstance(said, list) and any(
            line.split()[1:2] == [self.key.encode()] for line in said)


class Stat(Listing):
    name = "stat"

    def act(self, link):
        return lines_of(link, f"ers stat {self.key}".encode())

    def done(self, said):
        return isinstance(said, list)


class Servers(Command):
    name = "servers"

    def words(self):
        return ("servers",)

    def plan(self):
        self.new = self.old


class ReadPlain(Operation):
    """An item of a plain client."""
    name, size, plain = "get plain", None, True

    def prepare(self):
        self.old = self.new = (b"plain", 0)
        for server in self.world.servers:
            with server.link() as link:
                link.set(self.key, b"plain")

    def act(self, link):
        return show(link, self.key, refusals=True)

    def done(self, said):
        return said == self.old
