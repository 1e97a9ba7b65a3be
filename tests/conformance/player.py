"""Plays one case at one server."""

import re
import time

import answer
import case_file
import frame
import link
import split
import symbols
import template

FENCE, FENCED = b"mn\r\n", b"MN\r\n"
BINARY_FENCE_OPAQUE = 0x6D6E6D6E
REPEAT_S = 15
# A run that sent more leaves its memory free for the runs behind it.
LARGE_BYTES = 50000
REPEAT_POLL_S = 0.02


class Server:
    """Where it is and what the cases need to know of it.

    limit: item_size_max, in bytes. timeout_s: for one answer.
    """

    def __init__(self, address, limit, timeout_s):
        self.address = address
        self.limit = limit
        self.timeout_s = timeout_s


def text_bytes(line, scope):
    """The bytes of a line: it ends with \\r\\n unless a \\ closes it."""
    text, end = line.text, b"\r\n"
    if (len(text) - len(text.rstrip("\\"))) % 2:
        text, end = text[:-1], b""
    return b"".join(template.expand(text, scope, time_number) + end
                    for time_number in range(1, line.times + 1))


def binary_bytes(line, scope):
    return b"".join(frame.encode(line.text, scope, time_number)
                    for time_number in range(1, line.times + 1))


def step_bytes(case, step, scope):
    make = binary_bytes if case.binary else text_bytes
    return b"".join(make(line, scope) for line in step.lines)


def as_expected(case, step, got, scope):
    """Whether the answer has what the case's file says."""
    if not step.expected:
        return True
    if case.binary:
        frames, rest = frame.decode(got.raw)
        return not rest and len(frames) == len(step.expected) and all(
            frame.matches(one, line.text, scope)
            for one, (_, line) in zip(frames, step.expected))
    if not any(is_pattern for is_pattern, _ in step.expected):
        said = answer.Answer(b"".join(text_bytes(line, scope)
                                      for _, line in step.expected), got.end)
        return said.read(case.binary, step.names_only, scope).same(got)
    pattern = b""
    for is_pattern, line in step.expected:
        if is_pattern:
            pattern += template.expand(line.text, scope, plain=re.escape)
            pattern += b"\r\n"
        else:
            pattern += re.escape(text_bytes(line, scope))
    return re.fullmatch(pattern, got.raw, re.S) is not None


class Player:
    """One run: connections of its own, keys with a prefix of their own."""

    def __init__(self, server, case, prefix, mode, variant):
        self._server = server
        self._case = case
        self._mode = mode if case.split else split.WHOLE
        self._variant = variant
        self._links = {}
        self.scope = template.Scope(prefix, server.limit, symbols.Symbols())
        self.sent = []  # bytes of each step

    def play(self):
        """Yields (step, answer, whether it is as the file says)."""
        try:
            for step in self._case.steps:
                yield (step, *self._play_step(step))
        finally:
            for one in self._links.values():
                one.close()
        if sum(len(data) for data in self.sent) > LARGE_BYTES:
            self._delete_all()

    def _delete_all(self):
        cleaner = link.Link(self._server.address, self._server.timeout_s)
        cleaner.send([b"".join(b"delete %s noreply\r\n" % key
                               for key in self.scope.keys) + FENCE])
        cleaner.read_until(text_fence)
        cleaner.close()

    def _play_step(self, step):
        deadline = time.monotonic() + REPEAT_S
        while True:
            got = self._once(step)
            expected = as_expected(self._case, step, got, self.scope)
            if (not step.repeat or expected or got.end != "complete"
                    or time.monotonic() > deadline):
                return got, expected
            # Time itself is waited for: no server says when it has passed.
            time.sleep(REPEAT_POLL_S)

    def _once(self, step):
        connection = self._links.get(step.connection)
        if connection is None:
            connection = link.Link(self._server.address,
                                   self._server.timeout_s)
            self._links[step.connection] = connection
        data = step_bytes(self._case, step, self.scope)
        self.sent.append(data)
        connection.send(split.pieces(self._mode, self._variant, data))
        if step.half_close:
            connection.half_close()
        got = answer.Answer(*self._read(step, connection))
        return got.read(self._case.binary, step.names_only, self.scope)

    def _read(self, step, connection):
        if step.ends == case_file.NOTHING:
            return b"", "complete"
        if step.ends == case_file.CLOSED:
            return connection.read_until(lambda data: None)
        if step.ends == case_file.UNTIL:
            last = text_bytes(step.until, self.scope)
            return connection.read_until(
                lambda data: (len(data), len(data)) if data.endswith(last)
                else None)
        if self._case.binary:
            connection.send([frame.encode(
                f"opcode=noop opaque={BINARY_FENCE_OPAQUE}", self.scope, 1)])
            return connection.read_until(binary_fence)
        connection.send([FENCE])
        return connection.read_until(text_fence)


def text_fence(data):
    # Its own line, and the last: a value that holds one goes on behind it.
    if data == FENCED or data.endswith(b"\n" + FENCED):
        return len(data) - len(FENCED), len(data)
    return None


def binary_fence(data):
    frames, rest = frame.decode(data)
    if rest or not frames or frames[-1].opaque != BINARY_FENCE_OPAQUE:
        return None
    return len(data) - frames[-1].length, len(data)
