"""Python functions that the library calls in the midst of a call, on the thread
of that call. What they raise goes to the call, which then raises it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, Union

from ._info import ObjectInfo, object_info
from ._memory import Buffer, new_bytes, readable
from ._native import ffi, lib


class Reader(Protocol):
    """A file, or what is read like one."""

    def read(self, size: int, /) -> bytes:
        ...


class Writer(Protocol):
    """A file, or what is written to like one."""

    def write(self, part: bytes, /) -> object:
        ...


Source = Union[Reader, Iterable[Buffer]]
Sink = Union[Writer, Callable[[bytes], object]]
Begin = Callable[[ObjectInfo], object]
Visit = Callable[[bytes, ObjectInfo], object]


class Callback:
    """What a call of the library is given as context, by ffi.new_handle."""

    def __init__(self) -> None:
        self.failure: BaseException | None = None

    def guarded(self, stop: Any, body: Callable[[], Any]) -> Any:
        """What `body` returns; `stop` where it raises."""
        try:
            return body()
        except BaseException as failure:  # pylint: disable=broad-except
            self.failure = failure
            return stop

    def check(self) -> None:
        """Raises what was raised meanwhile."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure


class NewBytes(Callback):
    """Memory for a value whose length is not known: new bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = b""
        self._memory: Any = None

    def give(self, size: int) -> Any:
        self._bytes = new_bytes(size)
        self._memory = ffi.from_buffer(self._bytes)
        return self._memory

    def take(self, size: int) -> bytes:
        # An empty value may follow one that was not.
        return self._bytes if size else b""


class SourceParts(Callback):
    """Bytes from a file, or from parts of any size."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        parts: Any = source
        self._read = getattr(parts, "read", None)
        self._parts: Iterator[Buffer] = iter(() if self._read else parts)
        self._part: Any = ffi.from_buffer(b"")
        self._used = 0

    def give(self, into: Any, size: int) -> int:
        while self._used == len(self._part):
            # The source may want to use that memory again.
            self.release()
            try:
                part = self._read(size) if self._read else next(self._parts)
            except StopIteration:
                return 0
            self._part, self._used = readable("a part of the source", part), 0
            if self._read and not len(self._part):
                return 0
        taken = min(size, len(self._part) - self._used)
        ffi.memmove(into, self._part + self._used, taken)
        self._used += taken
        return taken

    def release(self) -> None:
        """Lets go of the last part's memory."""
        done, self._part, self._used = self._part, ffi.from_buffer(b""), 0
        ffi.release(done)


class SinkParts(Callback):
    """Bytes to a file or a function, each part as bytes of its own."""

    def __init__(self, sink: Sink, begin: Begin | None) -> None:
        super().__init__()
        write: Any = getattr(sink, "write", sink)
        self.write: Callable[[bytes], object] = write
        self.begin: Begin = begin or (lambda info: None)


class Visitor(Callback):

    def __init__(self, visit: Visit) -> None:
        super().__init__()
        self.visit = visit


class Log(Callback, threading.local):
    """Log lines, for a function such as Logger.log of the logging module. Many
    threads' calls have the same one: the failure is each thread's own."""

    LEVELS = {lib.ERS_LOG_DEBUG: 10, lib.ERS_LOG_INFO: 20,
              lib.ERS_LOG_WARNING: 30, lib.ERS_LOG_ERROR: 40}

    def __init__(self, log: Callable[[int, str], object]) -> None:
        super().__init__()
        self.log = log


def _failed(_kind: Any, failure: Any, trace: Any) -> None:
    """Keeps for the call what `guarded` could not: a signal's handler may raise
    in the callback itself, before its first line. The call then gets the
    `error` of the callback, which ends it."""
    if trace is not None:
        callback: Callback = ffi.from_handle(trace.tb_frame.f_locals["context"])
        callback.failure = failure


@ffi.def_extern(error=ffi.NULL, onerror=_failed)
def ers_py_memory(context: Any, size: int) -> Any:
    memory: NewBytes = ffi.from_handle(context)
    return memory.guarded(ffi.NULL, lambda: memory.give(size))


@ffi.def_extern(error=-1, onerror=_failed)
def ers_py_source(context: Any, into: Any, size: int) -> Any:
    source: SourceParts = ffi.from_handle(context)
    return source.guarded(-1, lambda: source.give(into, size))


@ffi.def_extern(onerror=_failed)
def ers_py_begin(context: Any, info: Any) -> None:
    sink: SinkParts = ffi.from_handle(context)
    sink.guarded(None, lambda: sink.begin(object_info(info)))


@ffi.def_extern(error=1, onerror=_failed)
def ers_py_sink(context: Any, part: Any, size: int) -> int:
    sink: SinkParts = ffi.from_handle(context)
    if sink.failure is None:  # of begin, which cannot stop the library
        sink.guarded(None, lambda: sink.write(ffi.buffer(part, size)[:]))
    return int(sink.failure is not None)


@ffi.def_extern(error=1, onerror=_failed)
def ers_py_visit(context: Any, key: Any, size: int, info: Any) -> int:
    visitor: Visitor = ffi.from_handle(context)
    wanted = visitor.guarded(
        False, lambda: visitor.visit(ffi.buffer(key, size)[:],
                                     object_info(info)))
    return int(wanted is False)


@ffi.def_extern(onerror=_failed)
def ers_py_log(context: Any, level: int, line: Any) -> None:
    log: Log = ffi.from_handle(context)
    try:
        log.log(log.LEVELS.get(level, 40),
                ffi.string(line).decode(errors="replace"))
    except Exception:  # pylint: disable=broad-except
        pass  # a log that fails stops no call
