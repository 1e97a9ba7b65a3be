"""The blocking client."""

from __future__ import annotations

import io
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Union

from . import _callbacks, _info
from ._callbacks import Begin, Sink, Source, Visit
from ._errors import InvalidArgument, error_of
from ._info import ClusterInfo, ObjectDetail, ObjectInfo, TransitionInfo
from ._memory import Buffer, readable, writable
from ._native import ffi, lib
from ._pool import Pool
from ._reader import ObjectReader

Key = Union[str, bytes]


def _chars(text: str) -> Any:
    return ffi.new("char[]", text.encode())


def _name(key: Key) -> tuple[bytes, int]:
    name = key.encode() if isinstance(key, str) else key
    if not isinstance(name, bytes):
        raise TypeError(f"key must be str or bytes, not {type(key).__name__}")
    return name, len(name)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _unsigned(name: str, value: int) -> int:
    if value < 0:
        raise InvalidArgument(f"{name} is {value}: at least 0")
    return value


class Client:
    """Values on a cluster of memcached servers.

    Any thread may call, also at the same time: calls do not hold the GIL, up
    to `parallel` of them run at once, and further ones wait. Each has its own
    connections, opened when they are first needed.

    Every change is atomic: whatever dies in the middle, readers see the old
    value or the new one, whole. Calls raise what is derived from Error; an
    OutcomeUnknown means one or the other.

    Keys are 1 to 250 bytes without spaces or control characters; a str is
    taken as UTF-8. Buffers (bytes, bytearray, memoryview, numpy arrays and
    the like) must be contiguous. They are read and written where they are, and
    must not be changed while the call runs.

    Close it, or use it in a `with` statement. After a fork, open another one
    in the child.
    """

    def __init__(self, servers: str | Iterable[str], *,
                 scheme: str | None = None, parallel: int = 8,
                 state_file: str | None = None,
                 max_failures: int | None = None,
                 min_redundancy: int | None = None,
                 connect_timeout: float | None = None,
                 request_timeout: float | None = None,
                 operation_timeout: float | None = None,
                 hedge_percent: int | None = None,
                 through: str | None = None,
                 through_token: str | None = None,
                 inline_below: int | None = None,
                 column_below: int | None = None,
                 cached_manifests: int | None = None,
                 log: Callable[[int, str], object] | None = None) -> None:
        """Checks the options; does not connect.

        servers: every server of the cluster, as "host:port[:weight]", in any
            order: a list, or a str with commas between.
        scheme: of values that name none: "ers2:4,1,5", "rs:4,2", "rep:2".
        parallel: how many calls may run at the same time.
        connect_timeout, request_timeout, operation_timeout: seconds.
        through: "host:port", the admin address of an ersproxy by which the
            servers are reached; through_token: the token of that port.
        log: takes (level, line), as Logger.log of the logging module does, on
            the thread of any call.
        All others: as ClusterOptions and ClientOptions of ers/options.h.
        """
        cluster = ffi.new("ers_cluster_options*")
        lib.ers_cluster_options_init(cluster)
        client = ffi.new("ers_client_options*")
        lib.ers_client_options_init(client)
        if not isinstance(servers, str):
            servers = ",".join(servers)
        self._kept = [cluster, client]  # what the options point to
        for options, name, value in (
                (cluster, "servers", servers),
                (cluster, "state_file", state_file),
                (cluster, "max_failures", max_failures),
                (cluster, "min_redundancy", min_redundancy),
                (cluster, "connect_timeout_ms", connect_timeout),
                (cluster, "request_timeout_ms", request_timeout),
                (cluster, "operation_timeout_ms", operation_timeout),
                (cluster, "hedge_percent", hedge_percent),
                (cluster, "through", through),
                (cluster, "through_token", through_token),
                (client, "scheme", scheme),
                (client, "inline_below", inline_below),
                (client, "column_below", column_below),
                (client, "cached_manifests", cached_manifests)):
            if value is not None:
                setattr(options, name, self._option(name, value))
        self._scheme = ffi.NULL if scheme is None else client.scheme
        self._pool = Pool(cluster, client, parallel,
                          None if log is None else _callbacks.Log(log))
        self._end = weakref.finalize(self, self._pool.close, wait=False)

    def _option(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            self._kept.append(_chars(value))
            return self._kept[-1]
        return _milliseconds(value) if name.endswith("_ms") else value

    def close(self) -> None:
        """Waits for the calls that run, and ends all connections."""
        self._pool.close()
        self._end.detach()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    # What all calls share.

    def _run(self, call: Callable[..., int], *words: Any) -> None:
        """Runs a call of the library; raises what it reports."""
        def run(client: Any) -> None:
            status = call(client, *words)
            if status != lib.ERS_OK:
                raise error_of(status, lib.ers_last_error(client))
        self._pool.lend(run)

    def _run_with(self, callback: _callbacks.Callback,
                  call: Callable[..., int], *words: Any) -> None:
        """The same of a call that calls back."""
        try:
            self._run(call, *words)
        except Exception:
            callback.check()  # what it raised says more
            raise
        callback.check()

    def _changed(self, call: Callable[..., int], key: Key,
                 *words: Any) -> ObjectInfo:
        info = ffi.new("ers_object_info*")
        self._run(call, *_name(key), *words, info)
        return _info.object_info(info)

    def _changed_from(self, call: Callable[..., int], key: Key,
                      source: Source, *words: Any) -> ObjectInfo:
        parts = _callbacks.SourceParts(source)
        context = ffi.new_handle(parts)
        info = ffi.new("ers_object_info*")
        try:
            self._run_with(parts, call, *_name(key), lib.ers_py_source,
                           context, *words, info)
        finally:
            parts.release()
        return _info.object_info(info)

    def _put_options(self, scheme: str | None, width: str, client_flags: int,
                     expiry: int, expected_cas: int,
                     only_if_absent: bool) -> tuple[Any, Any]:
        """Options, and what they point to."""
        options = ffi.new("ers_put_options*")
        lib.ers_put_options_init(options)
        chars = ffi.NULL if scheme is None else _chars(scheme)
        options.scheme = chars
        number = ffi.new("ers_width*", lib.ERS_NARROW)
        if width != "narrow" and lib.ers_width_named(
                chars or self._scheme, _chars(width), number) != lib.ERS_OK:
            raise InvalidArgument(f"width is '{width}': the scheme has none of "
                                  "that name")
        options.width = number[0]
        options.client_flags = client_flags
        options.expiry = expiry
        options.expected_cas = expected_cas
        options.only_if_absent = only_if_absent
        return options, chars

    # Writing.

    def put(self, key: Key, value: Buffer, *, scheme: str | None = None,
            width: str = "narrow", client_flags: int = 0, expiry: int = 0,
            expected_cas: int = 0,
            only_if_absent: bool = False) -> ObjectInfo:
        """Stores `value`, replacing what is there.

        scheme: the client's where None.
        width: that an elastic value is born with: "narrow", "wide", or the
            data blocks of a stripe, as "6".
        expiry: Unix seconds by the servers' clocks; 0: never.
        expected_cas: Conflict unless the object has this CAS; 0: any.
        only_if_absent: Conflict where there is an object.
        """
        options, _chars_kept = self._put_options(
            scheme, width, client_flags, expiry, expected_cas, only_if_absent)
        with readable("value", value) as memory:
            return self._changed(lib.ers_put, key, memory, len(memory),
                                 options)

    def put_from(self, key: Key, source: Source, *, scheme: str | None = None,
                 width: str = "narrow", client_flags: int = 0,
                 expiry: int = 0, expected_cas: int = 0,
                 only_if_absent: bool = False) -> ObjectInfo:
        """`put` of what a file has left, or of buffers one after the other, in
        bounded memory. What they raise is raised, and nothing is changed."""
        options, _chars_kept = self._put_options(
            scheme, width, client_flags, expiry, expected_cas, only_if_absent)
        return self._changed_from(lib.ers_put_from, key, source, options)

    def update(self, key: Key, offset: int, value: Buffer) -> ObjectInfo:
        """Overwrites bytes of an existing value, from `offset` on.
        InvalidArgument where that reaches beyond its end."""
        with readable("value", value) as memory:
            return self._changed(lib.ers_update, key,
                                 _unsigned("offset", offset), memory,
                                 len(memory))

    def append(self, key: Key, value: Buffer) -> ObjectInfo:
        """Adds bytes at the end of an existing value."""
        with readable("value", value) as memory:
            return self._changed(lib.ers_append, key, memory, len(memory))

    def append_from(self, key: Key, source: Source) -> ObjectInfo:
        """`append` from a source, as `put_from` takes it."""
        return self._changed_from(lib.ers_append_from, key, source)

    def delete(self, key: Key) -> None:
        """NotFound where there was nothing."""
        self._run(lib.ers_delete, *_name(key))

    def transition(self, key: Key, to: str) -> TransitionInfo:
        """Changes an object's width, m or scheme, while reads and updates go
        on.

        to: "narrow", "wide", the data blocks of a stripe, as "6"; one of these
        and the parity blocks of a stripe, as "wide,2", or "same,2"; or a
        scheme. AlreadyThere where there is nothing to do.
        """
        info = ffi.new("ers_transition_info*")
        self._run(lib.ers_transition, *_name(key), _chars(to),
                  lib.ERS_OPTIMAL, info)
        return _info.transition_info(info)

    def export(self, key: Key, *, check_only: bool = False) -> ObjectInfo:
        """Turns an object into the plain memcached item that clients without
        this library find, whole and without redundancy."""
        mode = lib.ERS_CHECK_ONLY if check_only else lib.ERS_EXPORT
        return self._changed(lib.ers_export, key, mode)

    # Reading.

    def get(self, key: Key) -> bytes:
        """The whole value. NotFound where there is none."""
        return self.get_with_info(key)[0]

    def get_with_info(self, key: Key) -> tuple[bytes, ObjectInfo]:
        """The same, and what it is: its CAS, for example."""
        return self._get_bytes(key, 0, lib.ERS_MAX_VALUE_BYTES)

    def get_range(self, key: Key, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset` on, cut at the value's end.
        InvalidArgument where `offset` is beyond it."""
        return self._get_bytes(key, offset, length)[0]

    def _get_bytes(self, key: Key, offset: int,
                   length: int) -> tuple[bytes, ObjectInfo]:
        value = _callbacks.NewBytes()
        context = ffi.new_handle(value)
        size, info = ffi.new("size_t*"), ffi.new("ers_object_info*")
        self._run_with(value, lib.ers_get_by, *_name(key),
                       _unsigned("offset", offset),
                       _unsigned("length", length), lib.ers_py_memory, context,
                       size, info)
        return value.take(size[0]), _info.object_info(info)

    def get_into(self, key: Key, into: Buffer) -> ObjectInfo:
        """Reads the whole value into a buffer, which may be longer; the
        `length` of what it returns says how many bytes came. TooLarge where it
        is shorter. After an error the buffer has any bytes."""
        size, info = ffi.new("size_t*"), ffi.new("ers_object_info*")
        with writable("into", into) as memory:
            self._run(lib.ers_get_into, *_name(key), memory, len(memory), size,
                      info)
        return _info.object_info(info)

    def get_range_into(self, key: Key, offset: int, into: Buffer) -> int:
        """Reads as many bytes as `into` has room for, from `offset` on, cut at
        the value's end; returns how many."""
        return self._read_at(key, offset, into)[0]

    def _read_at(self, key: Key, offset: int,
                 into: Buffer) -> tuple[int, ObjectInfo]:
        size, info = ffi.new("size_t*"), ffi.new("ers_object_info*")
        with writable("into", into) as memory:
            self._run(lib.ers_get_range_into, *_name(key),
                      _unsigned("offset", offset), memory, len(memory), size,
                      info)
        return int(size[0]), _info.object_info(info)

    def get_to(self, key: Key, sink: Sink,
               begin: Begin | None = None) -> ObjectInfo:
        """Hands the value over in order, part by part, in bounded memory.

        sink: a file, or a function of bytes. What it raises ends the call and
            is raised.
        begin: called once, before the first part.
        Where the value is changed meanwhile, so that it cannot be read to its
        end, Conflict is raised: what came is a part of the old one.
        """
        parts = _callbacks.SinkParts(sink, begin)
        context = ffi.new_handle(parts)
        info = ffi.new("ers_object_info*")
        self._run_with(parts, lib.ers_get_to, *_name(key), lib.ers_py_begin,
                       lib.ers_py_sink, context, info)
        return _info.object_info(info)

    def open(self, key: Key, buffer_bytes: int = 1 << 20) -> io.BufferedReader:
        """The value as a file to read, with seek: for what reads parts of it.
        Conflict where its content is changed meanwhile."""
        return io.BufferedReader(
            ObjectReader(lambda offset, into:
                         self._read_at(key, offset, into)), buffer_bytes)

    # Inspection.

    def stat(self, key: Key) -> ObjectDetail:
        """Where the object's blocks and manifests are, and whether they are
        there."""
        detail = ffi.new("ers_object_detail**")
        self._run(lib.ers_stat, *_name(key), detail)
        try:
            return _info.object_detail(detail[0])
        finally:
            lib.ers_object_detail_free(detail[0])

    def visit(self, visit: Visit) -> None:
        """Calls `visit(key, info)` for every object, in no order, until it
        returns False. Objects that change meanwhile may be seen or not."""
        visitor = _callbacks.Visitor(visit)
        context = ffi.new_handle(visitor)
        self._run_with(visitor, lib.ers_list, lib.ers_py_visit, context)

    def servers(self) -> ClusterInfo:
        """The cluster, and which servers answer now."""
        info = ffi.new("ers_cluster_info**")
        self._run(lib.ers_servers, info)
        try:
            return _info.cluster_info(info[0])
        finally:
            lib.ers_cluster_info_free(info[0])
