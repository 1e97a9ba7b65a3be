"""The library's clients of one cluster, one for each call that runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
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
        self._log = log
        self._log_handle = None if log is None else ffi.new_handle(log)
        if self._log_handle is not None:
            cluster_options.log = lib.ers_py_log
            cluster_options.log_context = self._log_handle
        self._process = os.getpid()
        self._options = client_options
        self._parallel = parallel
        self._cluster = _open(lib.ers_cluster_open, cluster_options,
                              "ers_cluster")
        # Entered itself, in place of the condition: a signal's handler may
        # raise in the midst of Condition.__enter__.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._closed = False
        self._clients: list[Any] = []
        self._lent: dict[int, Any] = {}  # by the thread that is in a call
        try:
            # Shows what is wrong with the options, and connects nowhere.
            self._clients.append(self._open_client())
        except BaseException:
            lib.ers_cluster_close(self._cluster)
            raise

    def _open_client(self) -> Any:
        return _open(
            lambda *words: lib.ers_client_open(self._cluster, *words),
            self._options, "ers_client")

    def lend(self, call: Callable[[Any], None]) -> None:
        """Calls with a client; waits for one where all are in use."""
        if os.getpid() != self._process:
            raise RuntimeError("this client was opened before fork: open one "
                               "in each process")
        self._refuse_callbacks()
        try:
            call(self._take())
        finally:
            try:
                self._give_back()
            except BaseException:
                self._give_back()  # a signal's handler had cut it off
                raise
            self._raise_of_log()

    def _take(self) -> Any:
        with self._lock:
            while True:
                if self._closed:
                    raise RuntimeError("this client is closed")
                if len(self._lent) < len(self._clients):
                    break
                if len(self._clients) < self._parallel:
                    self._clients.append(self._open_client())
                    break
                self._changed.wait()
            lent = self._lent.values()
            client = [one for one in self._clients if one not in lent][0]
            # From here on, whatever is raised, _give_back finds it.
            self._lent[threading.get_ident()] = client
            return client

    def _give_back(self) -> None:
        """What this thread has, if it has one."""
        with self._lock:
            self._lent.pop(threading.get_ident(), None)
            self._changed.notify_all()

    def _raise_of_log(self) -> None:
        # It stopped no call, but a Ctrl-C is not to be lost with a line.
        if self._log is not None:
            self._log.check()

    def _refuse_callbacks(self) -> None:
        # With few clients it could wait for itself.
        if threading.get_ident() in self._lent:
            raise RuntimeError("a function that is called by a client's call "
                               "must not use that client")

    def close(self, wait: bool = True) -> None:
        """Ends all connections, once the calls that run have ended. Without
        `wait` it leaves everything as it is where some run."""
        # The library's parts may not be touched in a child process.
        if os.getpid() != self._process:
            return
        with self._lock:
            if wait:
                self._refuse_callbacks()
            elif self._lent:
                return
            self._closed = True
            self._changed.notify_all()
            while self._lent:
                self._changed.wait()
            clients, self._clients = self._clients, []
            cluster, self._cluster = self._cluster, ffi.NULL
        for client in clients:
            lib.ers_client_close(client)
        lib.ers_cluster_close(cluster)
