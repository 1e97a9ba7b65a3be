"""How the lines of a case become bytes: escapes and what stands in braces.

    \\r \\n \\t \\0 \\xHH \\\\ \\{   single bytes
    {a}              a key of this run of the case: other cases have other keys
    {a*250}          the same, filled up to 250 bytes
    {k1..30}         keys k1 to k30 with blanks between
    {b64:TEXT}       base64 of a key; TEXT may have escapes
    {fill EXPR}      that many bytes of a value
    {=EXPR}          a number in decimal
    #                in braces, of a line sent several times: which time it is

EXPR adds and subtracts numbers, `limit` (the reference's item_size_max, in
bytes), `now` (seconds since 1970) and `cas1`, `cas2`, ...: the CAS values of
the answers so far, numbered by first appearance.
"""

import base64
import re
import time

PIECE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)|\{([^}]*)\}|([^\\{]+)")
KEY = re.compile(r"[a-z]\w*$")
LONG_KEY = re.compile(r"([a-z]\w*)\*(\d+)$")
KEYS = re.compile(r"([a-z]+)(\d+)\.\.(\d+)$")
TERM = re.compile(r"([+-]?)(\w+)")
SINGLE = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\",
          "{": b"{"}
FILLING = b"0123456789abcdefghijklmnopqrstuvwxyz."


class TemplateError(Exception):
    """A line that means nothing."""


class Scope:
    """What the names in braces stand for in one run of one case.

    prefix: begins every key of this run. limit: bytes. symbols: the CAS
    values seen so far, which grow while the case runs.
    """

    def __init__(self, prefix, limit, symbols):
        self.prefix = prefix
        self.limit = limit
        self.symbols = symbols
        self.keys = set()  # all that lines have named

    def key(self, name, size=0):
        """The key of that name, filled up to `size` bytes."""
        key = self.prefix + name.encode()
        if size and len(key) > size:
            raise TemplateError(f"keys have at least {len(key)} bytes")
        key = key.ljust(size, b"x")
        self.keys.add(key)
        return key

    def number(self, expression):
        total = 0
        at = 0
        for term in TERM.finditer(expression):
            if term.start() != at:
                break
            at = term.end()
            value = self._value(term[2])
            total += -value if term[1] == "-" else value
        if at != len(expression) or not expression:
            raise TemplateError(f"no number: {expression}")
        return total

    def _value(self, word):
        if word.isdigit():
            return int(word)
        if word == "limit":
            return self.limit
        if word == "now":
            return int(time.time())
        if re.fullmatch(r"cas[1-9]\d*", word):
            return self.symbols.value(word)
        raise TemplateError(f"no such name: {word}")


def single_byte(escape):
    if escape[0] == "x" and len(escape) == 3:
        return bytes([int(escape[1:], 16)])
    if escape in SINGLE:
        return SINGLE[escape]
    raise TemplateError(f"no such escape: \\{escape}")


def in_braces(text, scope):
    if text.startswith("="):
        return b"%d" % scope.number(text[1:])
    if text.startswith("fill "):
        size = scope.number(text[5:])
        return (FILLING * (size // len(FILLING) + 1))[:size]
    if text.startswith("b64:"):
        name = b"".join(single_byte(m[1]) if m[1] else m[3].encode()
                        for m in PIECE.finditer(text[4:]))
        return base64.b64encode(scope.prefix + name)
    if match := KEYS.match(text):
        return b" ".join(scope.key(f"{match[1]}{i}") for i in
                         range(int(match[2]), int(match[3]) + 1))
    if match := LONG_KEY.match(text):
        return scope.key(match[1], int(match[2]))
    if KEY.match(text):
        return scope.key(text)
    raise TemplateError(f"nothing known: {{{text}}}")


def expand(text, scope, time_number=1, plain=bytes):
    """The bytes of `text`. `plain` is applied to all but what is outside of
    braces and escapes' results: re.escape makes them literal in a pattern."""
    result = b""
    at = 0
    for match in PIECE.finditer(text):
        if match.start() != at:
            break
        at = match.end()
        if match[1] is not None:
            result += plain(single_byte(match[1]))
        elif match[2] is not None:
            inside = match[2].replace("#", str(time_number))
            result += plain(in_braces(inside, scope))
        else:
            result += match[3].encode("latin-1")
    if at != len(text):
        raise TemplateError(f"not understood from here on: {text[at:]}")
    return result
