"""Memory of Python objects, as the library reads and writes it: no copy."""

from __future__ import annotations

import array
import ctypes
import mmap
import sys
from typing import TYPE_CHECKING, Any, Protocol, Union

from ._native import ffi

if TYPE_CHECKING and sys.version_info >= (3, 12):
    from collections.abc import Buffer as Buffer
else:

    class _Array(Protocol):
        """numpy.ndarray, and what is like it."""

        @property
        def __array_interface__(self) -> Any:
            ...

    Buffer = Union[bytes, bytearray, memoryview, mmap.mmap,
                   "array.array[Any]", _Array]

# Room for as many bytes as it is given, to be set before any other code sees
# them: this is what the C interface of Python is for.
_new_bytes = ctypes.pythonapi.PyBytes_FromStringAndSize
_new_bytes.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t]
_new_bytes.restype = ctypes.py_object


def new_bytes(size: int) -> bytes:
    """Bytes that are not set yet."""
    made: bytes = _new_bytes(None, size)
    return made


def _memory(what: str, value: Any, must: str, writable: bool) -> Any:
    try:
        return ffi.from_buffer(value, require_writable=writable)
    except TypeError:
        raise TypeError(f"{what} must be {must}, not "
                        f"{type(value).__name__}") from None
    except (BufferError, ValueError) as error:
        raise BufferError(f"{what} must be {must}: {error}") from None


def readable(what: str, value: Buffer) -> Any:
    """Its bytes, to be used as a context: they stay where they are until its
    end. `what` names it in errors: TypeError, BufferError."""
    return _memory(what, value, "bytes or another contiguous buffer", False)


def writable(what: str, value: Buffer) -> Any:
    """The same of a buffer that is written to."""
    return _memory(what, value, "a contiguous buffer that may be written to",
                   True)
