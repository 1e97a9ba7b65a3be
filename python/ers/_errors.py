"""What calls raise: a class for each outcome that the library tells apart."""

from __future__ import annotations

from typing import Any

from ._native import ffi, lib


class Error(Exception):
    """A call failed. Its text names the server or argument at fault and what
    to do; `status` is the library's name of the outcome."""

    status = "unknown"


class NotFound(Error, LookupError):
    """The key holds no object: never stored, deleted, expired, or evicted."""

    status = "not-found"


class InvalidArgument(Error, ValueError):
    """The arguments can never work; nothing was sent."""

    status = "invalid-argument"


class Unavailable(Error):
    """More servers are silent than the call can do without. The stored object
    is unchanged."""

    status = "unavailable"


class OutcomeUnknown(Error):
    """A change was cut off before its end could be learned: the object is the
    old or the new one, whole. Read it."""

    status = "outcome-unknown"


class NoMemory(Error):
    """A server, or this process, has no memory for it."""

    status = "no-memory"


class TooLarge(Error, ValueError):
    """The value is over a limit, or longer than the buffer for it."""

    status = "too-large"


class Corruption(Error):
    """Stored bytes contradict each other beyond what redundancy repairs."""

    status = "corruption"


class UnsupportedFormat(Error):
    """The object was written by a newer version of the library."""

    status = "unsupported-format"


class NotManaged(Error):
    """The key holds a plain memcached item, which the library did not write."""

    status = "not-managed"


class Conflict(Error):
    """The object changed meanwhile, or has another CAS than was expected."""

    status = "conflict"


class AlreadyThere(Error):
    """The object already has the width or scheme asked for."""

    status = "already-there"


class Incompatible(Error):
    """The cluster was set up otherwise, or the state file cannot be used."""

    status = "incompatible"


_BY_STATUS = {kind.status: kind for kind in Error.__subclasses__()}


def error_of(status: int, text: Any) -> Error:
    """The exception for a status that is not OK; `text` is C's."""
    name = ffi.string(lib.ers_status_name(status)).decode()
    message = ffi.string(text).decode(errors="replace")
    return _BY_STATUS.get(name, Error)(message or name)
