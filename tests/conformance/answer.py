"""What a server answered, in a form that two servers' answers compare in.

An answer is a list of items: bytes, which must agree exactly, and Seconds,
which may differ a little. CAS values have become {cas1}, {cas2}, ... and the
keys of the run {a}, {b}, ...
"""

import base64
import re

import frame

TOLERANCE_S = 10
META_LINE = re.compile(rb"(HD|VA|EN|NF|NS|EX|OK)( |$)")
META_FLAG_CAS = re.compile(rb"c(\d+)$")
META_FLAG_SECONDS = re.compile(rb"([tl])(\d+)$")
VALUE_LINE = re.compile(rb"VALUE \S+ \d+ (\d+)(?: (\d+))?$")
STAT_LINE = re.compile(rb"STAT (\S+)")
DEBUG_WORD = re.compile(rb"(exp|la|cas)=(\d+)$")


class Seconds:
    """A time that goes on while the servers are asked."""

    def __init__(self, value):
        self.value = value

    def text(self):
        return b"%d" % self.value

    def same(self, other):
        return abs(self.value - other.value) <= TOLERANCE_S


class Answer:
    """raw: bytes as they came. end: 'complete', 'closed' or 'timeout'."""

    def __init__(self, raw, end):
        self.raw = raw
        self.end = end
        self.items = []

    def read(self, binary, names_only, scope):
        """Fills items; new CAS values get their names in `scope`."""
        reader = BinaryReader if binary else TextReader
        self.items = reader(names_only, scope).read(self.raw)
        return self

    def same(self, other):
        if self.end != other.end or len(self.items) != len(other.items):
            return False
        return all(a.same(b) if isinstance(a, Seconds) and
                   isinstance(b, Seconds) else a == b
                   for a, b in zip(self.items, other.items))

    def text(self):
        """As one ASCII string: \\r\\n and other controls escaped."""
        joined = b"".join(item.text() if isinstance(item, Seconds) else item
                          for item in self.items)
        shown = "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else
                        {13: "\\r", 10: "\\n", 92: "\\\\"}.get(
                            byte, f"\\x{byte:02x}") for byte in joined)
        return shown + {"complete": "", "closed": "(closed)",
                        "timeout": "(no answer in time)"}[self.end]


class Items:
    """Joins neighbouring bytes, so that how they were read does not count."""

    def __init__(self, scope):
        self.list = []
        self._key = re.compile(re.escape(scope.prefix) + rb"(\w*)")
        # The prefix is so long that its base64 ends with it.
        self._encoded_key = re.compile(
            re.escape(base64.b64encode(scope.prefix)) + rb"([\w+/]*=*)")

    def add(self, data):
        if not isinstance(data, Seconds):
            data = self._key.sub(rb"{\1}", data)
            data = self._encoded_key.sub(decoded, data)
            if self.list and isinstance(self.list[-1], bytes):
                data = self.list.pop() + data
        self.list.append(data)


def decoded(match):
    try:
        return b"{b64:%s}" % base64.b64decode(match[1], validate=True)
    except ValueError:
        return match[0]


def names(raw):
    """STAT lines without values, each once: which classes of sizes have items
    changes while a server tidies up."""
    seen = []
    for line in raw.split(b"\r\n"):
        if match := STAT_LINE.match(line):
            line = b"STAT " + re.sub(rb"(^|:)\d+:", rb"\1N:", match[1])
            if line in seen:
                continue
        seen.append(line)
    return b"\r\n".join(seen)


class TextReader:

    def __init__(self, names_only, scope):
        self._names_only = names_only
        self._symbols = scope.symbols
        self._items = Items(scope)

    def read(self, raw):
        if self._names_only:
            raw = names(raw)
        at = 0
        while (end := raw.find(b"\r\n", at)) >= 0:
            line = raw[at:end]
            at = end + 2
            size = self._line(line)
            self._items.add(b"\r\n")
            if size is not None:
                self._items.add(raw[at:at + size])
                at += size
        self._items.add(raw[at:])
        return self._items.list

    def _line(self, line):
        """Adds the line; returns the bytes of the data behind it, or None."""
        words = line.split(b" ")
        if match := VALUE_LINE.match(line):
            if match[2]:
                words[-1] = self._symbols.name(int(match[2]))
            self._items.add(b" ".join(words))
            return int(match[1])
        self._items.add(words[0])
        for word in words[1:]:
            self._items.add(b" ")
            self._word(words[0], word)
        if words[0] == b"VA" and len(words) > 1 and words[1].isdigit():
            return int(words[1])
        return None

    def _word(self, first, word):
        if META_LINE.match(first):
            if match := META_FLAG_CAS.match(word):
                self._items.add(b"c" + self._symbols.name(int(match[1])))
                return
            if match := META_FLAG_SECONDS.match(word):
                self._items.add(match[1])
                self._items.add(Seconds(int(match[2])))
                return
        elif first == b"ME" and (match := DEBUG_WORD.match(word)):
            self._items.add(match[1] + b"=")
            self._items.add(self._symbols.name(int(match[2]))
                            if match[1] == b"cas" else Seconds(int(match[2])))
            return
        self._items.add(word)


class BinaryReader:

    def __init__(self, names_only, scope):
        self._names_only = names_only
        self._symbols = scope.symbols
        self._items = Items(scope)

    def read(self, raw):
        frames, rest = frame.decode(raw)
        for one in frames:
            self._items.add(self._frame(one))
        self._items.add(rest)
        return self._items.list

    def _frame(self, one):
        name = frame.NAMES.get(one.opcode, hex(one.opcode))
        words = [b"opcode=%s status=%d opaque=%d cas=%s" % (
            name.encode(), one.status, one.opaque,
            self._symbols.name(one.cas))]
        if one.datatype:
            words.append(b"datatype=%d" % one.datatype)
        if one.lengths != (len(one.key), len(one.extras)):
            words.append(b"keylen=%d extlen=%d" % one.lengths)
        if one.extras:
            words.append(b"extras=" + one.extras.hex().encode())
        if one.key:
            words.append(b"key=" + one.key)
        if one.value:
            any_value = self._names_only and name == "stat"
            words.append(b"value=" + (b"(any)" if any_value else one.value))
        return b" ".join(words) + b"\r\n"
