"""Operations on small values that are packed, or are to be."""

from operations import (Append, Command, NEW_FLAGS, OLD_FLAGS, Operation,
                        show, value_of)
from world import Broken, KIB, Lost


class SmallValues(Operation):
    """As many as fill half a pack and more."""

    size, count = KIB, 40

    def __init__(self, world):
        super().__init__(world)
        self.keys += [f"{self.key}.{number}" for number in range(1, self.count)]

    def prepare(self):
        self.put_all("old", OLD_FLAGS)
        self.old = self.observe(self.world.link)
        self.plan()

    def plan(self):
        self.new = self.old

    def put_all(self, which, flags):
        for key in self.keys:
            said = self.world.link.set(key, value_of(key, which, self.size),
                                       flags=flags)
            if said != b"STORED":
                raise Broken(f"{self.name}: nothing to begin with: {said}")

    def pack(self):
        return self.world.run_job("pack", select={
            "pattern": f"{self.key}([.].*)?"})

    def packed(self):
        """For prepare()."""
        job = self.pack()
        if job["objects"]["changed"] != self.count:
            raise Broken(f"{self.name}: not packed: {job}")

    def observe(self, link):
        return [show(link, key) for key in self.keys]

    def restore(self):
        """Nothing names the pack from here on."""
        for key in self.keys[1:]:
            said = self.world.link.ask(f"delete {key}".encode())
            if said not in (b"DELETED", b"NOT_FOUND"):
                raise Broken(f"{key} cannot be deleted: {said}")


class Pack(SmallValues):
    name = "pack"

    def act(self, _):
        return self.pack()

    def done(self, said):
        return said["state"] == "done" \
            and said["objects"]["changed"] == self.count


class ReadPacked(SmallValues):
    name, reads = "get packed", True

    def plan(self):
        super().plan()
        self.packed()

    def act(self, link):
        return show(link, self.key, refusals=True)

    def done(self, said):
        if isinstance(said, bytes):
            return False
        if said != self.old[0]:
            raise Lost(f"{self.name}: another value was read")
        return True


class AppendToPacked(SmallValues):
    """It is whole from then on."""
    name = "append to packed"
    act = Append.act

    def plan(self):
        self.packed()
        self.part = value_of(self.key, "part", self.size)
        value, flags = self.old[0]
        self.new = [(value + self.part, flags), *self.old[1:]]


class DropPack(SmallValues, Command):
    """Nothing names it any more."""
    name = "gc of a pack"

    def plan(self):
        self.packed()
        self.put_all("new", NEW_FLAGS)
        self.old = self.new = self.observe(self.world.link)

    def words(self):
        return "gc", "--grace", "0"
