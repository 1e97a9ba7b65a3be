"""Large values on plain memcached servers, so that servers may die.

    import ers

    with ers.Client("10.0.0.1:11211,10.0.0.2:11211,...") as client:
        client.put("key", array)
        client.get_into("key", array)

`ers.aio` has the same for asyncio. The guide is docs/guides/python.md of
libers.
"""

from ._callbacks import Begin, Reader, Sink, Source, Visit, Writer
from ._client import Client, Key
from ._errors import (AlreadyThere, Conflict, Corruption, Error, Incompatible,
                      InvalidArgument, NoMemory, NotFound, NotManaged,
                      OutcomeUnknown, TooLarge, Unavailable,
                      UnsupportedFormat)
from ._info import (BlockState, ClusterInfo, ObjectDetail, ObjectInfo,
                    ServerInfo, TransitionInfo)
from ._memory import Buffer
from ._native import ffi as _ffi
from ._native import lib as _lib

# Of the library that runs.
__version__: str = _ffi.string(_lib.ers_version()).decode()

__all__ = [
    "AlreadyThere", "Begin", "BlockState", "Buffer", "Client", "ClusterInfo",
    "Conflict", "Corruption", "Error", "Incompatible", "InvalidArgument",
    "Key", "NoMemory", "NotFound", "NotManaged", "ObjectDetail", "ObjectInfo",
    "OutcomeUnknown", "Reader", "ServerInfo", "Sink", "Source", "TooLarge",
    "TransitionInfo", "Unavailable", "UnsupportedFormat", "Visit", "Writer",
]
