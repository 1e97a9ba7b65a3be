"""The library's clients of one cluster, one for each call that runs."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ._callbacks import Log
from ._errors import error_of
from ._native import ffi, lib


def _open(call: Callable[..., int], options: Any, kind: str) -> Any:
    """What an open call of the library makes."""
    made = ffi.new(f"{kind}**")
    error = ffi.new("char[]", lib.ERS_ERROR_BYTES)
    status = call(options, made, error, len(error))
    if status != lib.ERS_OK:
        raise error_of(status, error)
    return made[0]


class Pool:
    """Opens up to `parallel` of the library's clients, as calls need them, and
    lends each to one call at a time. Any thread."""

    def __init__(self, cluster_options: Any, client_options: Any,
                 parallel: int, log: Log | None) -> None:
        if parallel < 1:
            raise ValueError(f"parallel is {parallel}: at least 1")
        self._log_handle = None if log is None else ffi.new_handle(log)
        if self._log_handle is not None:
            cluster_options.log = lib.ers_py_log
            cluster_options.log_context = self._log_handle
        self._process = os.getpid()
        self._options = client_options
        self._parallel = parallel
        self._cluster = _open(lib.ers_cluster_open, cluster_options,
                              "ers_cluster")
        self._changed = threading.Condition()
        self._closed = False
        self._opened = 0
        self._idle: list[Any] = []
        self._threads: set[int] = set()  # that are in a call
        try:
            # Shows what is wrong with the options, and connects nowhere.
            self._idle.append(self._open_client())
        except BaseException:
            lib.ers_cluster_close(self._cluster)
            raise
        self._opened = 1

    def _open_client(self) -> Any:
        return _open(
            lambda *words: lib.ers_client_open(self._cluster, *words),
            self._options, "ers_client")

    @contextlib.contextmanager
    def lend(self) -> Iterator[Any]:
        """A client; waits for one where all are in use."""
        client = self._take()
        try:
            yield client
        finally:
            with self._changed:
                self._threads.discard(threading.get_ident())
                self._idle.append(client)
                self._changed.notify_all()

    def _take(self) -> Any:
        if os.getpid() != self._process:
            raise RuntimeError("this client was opened before fork: open one "
                               "in each process")
        with self._changed:
            self._refuse_callbacks()
            while True:
                if self._closed:
                    raise RuntimeError("this client is closed")
                if self._idle:
                    client = self._idle.pop()
                    break
                if self._opened < self._parallel:
                    client = self._open_client()
                    self._opened += 1
                    break
                self._changed.wait()
            self._threads.add(threading.get_ident())
            return client

    def _refuse_callbacks(self) -> None:
        # With few clients it could wait for itself.
        if threading.get_ident() in self._threads:
            raise RuntimeError("a function that is called by a client's call "
                               "must not use that client")

    def close(self, wait: bool = True) -> None:
        """Ends all connections, once the calls that run have ended. Without
        `wait` it leaves everything as it is where some run."""
        # The library's parts may not be touched in a child process.
        if os.getpid() != self._process:
            return
        with self._changed:
            if wait:
                self._refuse_callbacks()
            elif len(self._idle) < self._opened:
                return
            self._closed = True
            self._changed.notify_all()
            while len(self._idle) < self._opened:
                self._changed.wait()
            idle, self._idle, self._opened = self._idle, [], 0
            cluster, self._cluster = self._cluster, ffi.NULL
        for client in idle:
            lib.ers_client_close(client)
        lib.ers_cluster_close(cluster)
