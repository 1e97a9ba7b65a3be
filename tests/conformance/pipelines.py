"""Cases drawn at random: pipelines of text, meta and binary commands.

The same seed gives the same pipelines. They leave out what servers do not
agree on from one run to the next, or on purpose (docs/reference/protocol.md): accesses
(h, l, me), statistics, lives that end while a pipeline runs, and arithmetic
on an item whose answer memcached has not sent yet (it makes a new item then),
T of ma (which memcached gives to the item that a longer number replaced), and
whether one key's CAS is lower than another's.
No value holds a minus: memcached searches for one behind the item's end.
"""

import random

import case_file

PROTOCOLS = ("text", "meta", "binary")
COMMANDS = 60  # of a pipeline
STEP = 12  # at most, sent together
KEYS = "abcdef"
# Appending stops here: memcached cannot count up longer items.
MOST_BYTES = 450000
LONG_BYTES = 3000, 300000
# None ends while a pipeline runs: long ones, and those that end at once.
LONG_LIVES = (0, 0, 0, 100, 3000, 2592000, 2147483647, 4294967296, 4294967396,
              -4294967200)
LIVES = LONG_LIVES + (-1, 2592001, 2147483648, 4294967295, 4294967196)
# Not near a life: which is longer must not depend on when the clock ticks.
RECACHES = (0, 50, 1000, 10000, 2147483640, -1, 2592001, 4294967295)
NUMBERS = ("0", "5", "+7", "99", "999999", "007", "18446744073709551615",
           "\\t5", "5\\n", "5\\r\\n", " 5", "5\\tx", "5 x", "5x", "x", "+", "",
           "5\\x00x", "99999999999999999999", "1\\x0b", "\\x0c2", "4.5", "0x10")
DELTAS = ("0", "1", "9", "1000", "18446744073709551615", "+3", "\\t3", "3\\t",
          "x", "18446744073709551616", "3x")
CAS = "{=cas%d}"
BAD_LINES = ("nothing", "get", "gat", "set", "set {a}", "incr {a}", "touch {a}",
             "delete", "delete {a} 5", "delete {a} 0 noreply", "mg", "ms {a}",
             "md", "ma", "mg {a} S5", "md {a} zz", "ma {a} MQ", "mg {a} v v",
             "mg {a} T", "mg {a} N R5", "ma {a} Dx", "ma {a} Jx", "ms {a} x",
             "mg {a} O" + "o" * 40, "ms", "touch {a} x", "gat x {a}",
             "touch {a*251} 1", "incr {a*251} 1", "delete {a*251}",
             "md {a*251}", "verbosity x", "cas {a} 0 0", "flush_all x", "",
             "get  {a}  {b} ", "version", "verbosity 1", "flush_all",
             "flush_all 0 noreply")


def directives(case):
    """The case as a file of cases has it."""
    lines = [f"case {case.name.partition('/')[2]}"]
    for step in case.steps:
        lines += [f"> {line.text}" for line in step.lines] + [""]
    return "\n".join(lines)


class Drawn:
    """One case as it is drawn."""

    def __init__(self, protocol, seed, number):
        self.draw = random.Random(f"{protocol} {seed} {number}")
        self.protocol = protocol
        self.case = case_file.Case(f"{protocol}/{seed}-{number}",
                                   protocol == "binary", False,
                                   f"--random, seed {seed}")
        self.case.drawn = True
        self.most = dict.fromkeys(KEYS, 0)  # bytes
        self.held = set()  # keys that were read in this step
        self.room = 0
        self.written = 0  # CAS values that may have been answered

    def begin(self):
        self.case.steps.append(case_file.Step("1"))
        self.held.clear()
        self.room = self.draw.randint(1, STEP)

    def say(self, *lines):
        self.case.steps[-1].lines += [case_file.Line(line, 1, 0)
                                      for line in lines]

    def fill(self):
        make = {"text": self.text, "meta": self.meta,
                "binary": self.binary}[self.protocol]
        for _ in range(COMMANDS):
            if not self.room:
                self.begin()
            self.room -= 1
            make()
        return self.case

    def key(self, changes_number=False):
        key = self.draw.choice(KEYS)
        if changes_number and key in self.held:
            self.begin()
        return key

    def reads(self, key):
        self.held.add(key)
        self.written += 1
        return key

    def maybe(self, text, odds=0.3):
        return text if self.draw.random() < odds else ""

    def life(self):
        return self.draw.choice(LIVES)

    def cas(self):
        return CAS % self.draw.randint(1, self.written + 1)

    def bytes_of(self, key, extends=False):
        """(how many, the value as a line has it)"""
        kind = self.draw.random()
        if kind < 0.4:
            text = self.draw.choice(NUMBERS)
            size = len(text.encode().decode("unicode_escape"))
        else:
            size = self.draw.choice((0, 1, 2, 20, 500, 2000))
            if kind > 0.9:
                size = self.draw.randint(*LONG_BYTES)
            if extends and self.most[key] + size > MOST_BYTES:
                size = 1
            text = "{fill %d}" % size
        self.most[key] = size + (self.most[key] if extends else 0)
        return size, text

    # --- text

    def text(self):
        self.draw.choice((self.get, self.get, self.store, self.store,
                          self.store, self.arithmetic, self.arithmetic,
                          self.touch, self.delete, self.bad))()

    def get(self):
        verb = self.draw.choice(("get", "gets", "gets", "gat", "gats"))
        keys = [self.reads(self.key())
                for _ in range(self.draw.choice((1, 1, 2, 5)))]
        life = f" {self.life()}" if "gat" in verb else ""
        self.say(f"{verb}{life} " + " ".join("{%s}" % key for key in keys))

    def store(self):
        verb = self.draw.choice(("set", "set", "add", "replace", "append",
                                 "prepend", "cas"))
        key = self.key()
        size, value = self.bytes_of(key, verb in ("append", "prepend"))
        if size and value[0] != "{" and self.draw.random() < 0.03:
            size -= 1  # what is over is the next line
        flags = self.draw.choice((0, 0, 1, 4294967295))
        cas = f" {self.cas()}" if verb == "cas" else ""
        self.say("%s {%s} %d %s %d%s%s" % (
            verb, key, flags, self.life(), size, cas,
            self.maybe(" noreply", 0.1)), value)

    def arithmetic(self):
        self.say("%s {%s} %s%s" % (
            self.draw.choice(("incr", "decr")), self.key(True),
            self.draw.choice(DELTAS), self.maybe(" noreply", 0.1)))

    def touch(self):
        self.say("touch {%s} %s%s" % (self.key(), self.life(),
                                      self.maybe(" noreply", 0.1)))

    def delete(self):
        self.say("delete {%s}%s%s" % (self.key(), self.maybe(" 0"),
                                      self.maybe(" noreply", 0.1)))

    def bad(self):
        line = self.draw.choice(BAD_LINES)
        if "get" in line or line.startswith("mg"):
            self.held.update("ab")
        self.say(line)

    # --- meta

    def meta(self):
        self.draw.choice((self.mg, self.mg, self.mg, self.ms, self.ms, self.ma,
                          self.ma, self.md, self.text, self.bad))()

    def flags(self, *flags):
        """Some of these, in any order. Of an item that has ended memcached
        shows any number as its TTL."""
        chosen = [flag for flag in flags if self.draw.random() < 0.3]
        self.draw.shuffle(chosen)
        lives = LONG_LIVES if "t" in chosen else LIVES
        values = {"T": lives, "N": lives, "R": RECACHES}
        return "".join(
            f" {flag}{self.draw.choice(values.get(flag, ('',)))}"
            for flag in chosen)

    def named(self, key):
        """(the key as a line has it, the flag that it needs); always the same
        for one key, for memcached remembers how an item was named."""
        if key in "ef":
            return "{b64:%s}" % key, " b"
        return "{%s}" % key, ""

    def mg(self):
        key = self.reads(self.key())
        name, encoded = self.named(key)
        self.say(f"mg {name}{encoded}" + self.flags(
            "v", "c", "f", "s", "t", "q", "O123", "T", "N", "R",
            *([] if encoded else ["k"])))

    def ms(self):
        key = self.key()
        mode = self.draw.choice(("", "", "", "MS", "ME", "MA", "MP", "MR", "Ma"))
        size, value = self.bytes_of(key, mode in ("MA", "MP"))
        self.written += 1
        name, encoded = self.named(key)
        # Not both: the CAS may be another key's.
        flags = self.flags("c", "k", "q", "O5", "T", "F7",
                           self.draw.choice(("I", f"C{self.cas()}")))
        self.say(f"ms {name} {size}{encoded} {mode}{flags}", value)

    def ma(self):
        name, encoded = self.named(self.key(True))
        self.written += 1
        mode = self.draw.choice(("", "MI", "M+", "MD", "M-", "Mincr"))
        self.say(f"ma {name}{encoded} {mode}" + self.flags(
            "v", "c", "k", "t", "q", "O7", "N",
            f"D{self.draw.choice(DELTAS)}", "J10",
            f"C{self.cas()}"))

    def md(self):
        name, encoded = self.named(self.key())
        self.say(f"md {name}{encoded}" + self.flags(
            "q", "k", "O9", "I", "T", f"C{self.cas()}"))

    # --- binary

    def binary(self):
        self.draw.choice((self.binary_get, self.binary_get, self.binary_store,
                          self.binary_store, self.binary_extend,
                          self.binary_arithmetic, self.binary_arithmetic,
                          self.binary_delete, self.binary_touch,
                          self.binary_other))()

    def frame(self, verb, words=""):
        quiet = self.maybe("q", 0.2) if verb in (
            "get", "getk", "set", "add", "replace", "delete", "incr", "decr",
            "append", "prepend", "gat", "gatk") else ""
        self.say(f"opcode={verb}{quiet} {words} "
                 f"opaque={self.draw.randint(1, 99)}")

    def expiry(self):
        return self.life() % (1 << 32)

    def binary_get(self):
        self.frame(self.draw.choice(("get", "getk")),
                   "key={%s}" % self.reads(self.key()))

    def binary_touch(self):
        verb = self.draw.choice(("touch", "gat", "gatk"))
        self.frame(verb, "expiry=%d key={%s}" % (self.expiry(),
                                                self.reads(self.key())))

    def binary_cas(self):
        self.written += 1
        return f" cas={self.cas()}" if self.draw.random() < 0.3 else ""

    def value(self, key, extends=False):
        text = self.bytes_of(key, extends)[1]
        return text.replace(" ", "\\x20") if text[:1] != "{" else text

    def binary_store(self):
        key = self.key()
        self.frame(self.draw.choice(("set", "set", "add", "replace")),
                   "flags=%d expiry=%d key={%s} value=%s%s" % (
                       self.draw.choice((0, 5)), self.expiry(), key,
                       self.value(key), self.binary_cas()))

    def binary_extend(self):
        key = self.key()
        self.frame(self.draw.choice(("append", "prepend")),
                   "key={%s} value=%s%s" % (key, self.value(key, True),
                                            self.binary_cas()))

    def binary_arithmetic(self):
        self.frame(self.draw.choice(("incr", "decr")),
                   "delta=%d initial=%d expiry=%d key={%s}%s" % (
                       self.draw.choice((0, 1, 1000, 2**64 - 1)),
                       self.draw.choice((0, 10)), self.expiry(),
                       self.key(True), self.binary_cas()))

    def binary_delete(self):
        self.frame("delete", "key={%s}%s" % (self.key(), self.binary_cas()))

    def binary_other(self):
        self.frame(self.draw.choice((
            "noop", "noop", "version", "version", "99", "flush", "flushq")))


def cases(protocol, seed, commands):
    """Pipelines with so many commands together, or a few more."""
    for number in range(-(-commands // COMMANDS)):
        yield Drawn(protocol, seed, number).fill()
