"""What cffi makes of the C header. Its types are C's, so nothing is known of
them here; the other modules give it types."""

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

class _FFI:
    def def_extern(self, *, error: object = ...,
                   onerror: Callable[[Any, Any, Any], None] = ...
                   ) -> Callable[[_Function], _Function]: ...
    def __getattr__(self, name: str) -> Any: ...

ffi: _FFI
lib: Any
