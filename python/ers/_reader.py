"""A value as a file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from ._errors import Conflict
from ._info import ObjectInfo
from ._memory import Buffer


class ObjectReader(io.RawIOBase):
    """Reads ranges of one version of a value.

    `read_at(offset, into)` returns how many bytes it put into the buffer, and
    what the object is. One thread at a time.
    """

    def __init__(self, read_at: Callable[[int, Buffer],
                                         tuple[int, ObjectInfo]]) -> None:
        super().__init__()
        self._read_at = read_at
        self._place = 0
        self._info = read_at(0, bytearray())[1]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place,
                os.SEEK_END: self._info.length}
        if whence not in base:
            raise ValueError(f"whence is {whence}: 0, 1 or 2")
        place = base[whence] + offset
        if place < 0:
            raise ValueError(f"the place to seek is {place}: at least 0")
        self._place = place
        return place

    def readinto(self, into: Any, /) -> int:
        if self._place >= self._info.length:
            return 0
        count, now = self._read_at(self._place, into)
        if now.cas != self._info.cas:
            raise Conflict("the value was changed while it was read as a "
                           "file: open it again")
        self._place += count
        return count
