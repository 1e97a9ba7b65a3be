"""The client for asyncio.

    from ers.aio import AsyncClient

    async with AsyncClient("10.0.0.1:11211,...") as client:
        await client.put("key", array)

The library's calls block, so each runs on a thread: `parallel` threads, no more,
which calls take in turns.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from ._callbacks import Source, Visit
from ._client import Client, Key
from ._info import ClusterInfo, ObjectDetail, ObjectInfo, TransitionInfo
from ._memory import Buffer

__all__ = ["AsyncClient"]

_T = TypeVar("_T")
# Parts of a value that wait for the reader of a stream.
_PARTS_AHEAD = 2


class _Stopped(Exception):
    """The other end of a stream is gone."""


class _PartsOut:
    """A sink on a thread, whose parts the loop takes."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(_PARTS_AHEAD)
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._stopped = False

    def write(self, part: bytes) -> None:
        """On the thread."""
        self._room.acquire()
        if self._stopped:
            raise _Stopped
        self._loop.call_soon_threadsafe(self._parts.put_nowait, part)

    def end(self, _done: object) -> None:
        self._parts.put_nowait(None)

    async def take(self) -> bytes | None:
        """None: that was the last one."""
        part = await self._parts.get()
        self._room.release()
        return part

    def stop(self) -> None:
        self._stopped = True
        self._room.release()


class _PartsIn:
    """A source on a thread, whose parts the loop makes."""

    def __init__(self, parts: AsyncIterable[Buffer]) -> None:
        self._loop = asyncio.get_running_loop()
        self._parts = aiter(parts)
        self._next: Future[Buffer | None] | None = None
        self._stopped = False

    def __iter__(self) -> _PartsIn:
        return self

    def __next__(self) -> Buffer:
        """On the thread."""
        part = asyncio.run_coroutine_threadsafe(self._make(), self._loop)
        self._next = part
        if self._stopped:
            part.cancel()
        made = part.result()
        if made is None:
            raise StopIteration
        return made

    async def _make(self) -> Buffer | None:
        return await anext(self._parts, None)

    def stop(self) -> None:
        self._stopped = True
        if self._next is not None:
            self._next.cancel()


class AsyncClient:
    """`Client` for one event loop: the same calls and errors, to be awaited.

    A call that is cancelled before a thread has taken it never happens. One
    that runs cannot be cut off: the cancelled `await` ends once it has ended,
    so that no buffer is in use, and no change under way, behind it. How long
    that may take `operation_timeout` says.
    """

    def __init__(self, servers: str | Iterable[str], *, parallel: int = 8,
                 **options: Any) -> None:
        """As Client."""
        #: The Client behind it, for threads.
        self.blocking = Client(servers, parallel=parallel, **options)
        self._threads = ThreadPoolExecutor(parallel, "ers")
        self._streams: set[_PartsOut] = set()  # that are open

    async def close(self) -> None:
        """Waits for the calls that run, and ends all connections. Streams end:
        no one may be there to take their parts."""
        for parts in self._streams:
            parts.stop()

        def end() -> None:
            self._threads.shutdown()
            self.blocking.close()
        await asyncio.to_thread(end)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None,
                        error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    async def _run(self, call: Callable[..., _T], *words: Any,
                   **options: Any) -> _T:
        return await self._wait(self._threads.submit(call, *words, **options))

    @staticmethod
    async def _wait(call: Future[_T],
                    stop: Callable[[], None] = lambda: None) -> _T:
        """What a call on a thread returns. Where it is cancelled, `stop` is
        called, and the call waited for if it has begun."""
        done = asyncio.wrap_future(call)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            stop()
            if not call.cancel():
                while not done.done():
                    try:
                        await asyncio.wait([done])
                    except asyncio.CancelledError:
                        continue  # it is raised in the end anyway
                done.exception()  # seen, and given up
            raise

    # Writing.

    async def put(self, key: Key, value: Buffer, **options: Any) -> ObjectInfo:
        return await self._run(self.blocking.put, key, value, **options)

    async def put_from(self, key: Key, source: AsyncIterable[Buffer] | Source,
                       **options: Any) -> ObjectInfo:
        """From an asynchronous iterator of buffers, in bounded memory; also
        from what Client.put_from takes, which is then read on a thread."""
        return await self._run_from(self.blocking.put_from, key, source,
                                    **options)

    async def update(self, key: Key, offset: int, value: Buffer) -> ObjectInfo:
        return await self._run(self.blocking.update, key, offset, value)

    async def append(self, key: Key, value: Buffer) -> ObjectInfo:
        return await self._run(self.blocking.append, key, value)

    async def append_from(self, key: Key,
                          source: AsyncIterable[Buffer] | Source
                          ) -> ObjectInfo:
        return await self._run_from(self.blocking.append_from, key, source)

    async def _run_from(self, call: Callable[..., ObjectInfo], key: Key,
                        source: AsyncIterable[Buffer] | Source,
                        **options: Any) -> ObjectInfo:
        if not isinstance(source, AsyncIterable):
            return await self._run(call, key, source, **options)
        parts = _PartsIn(source)
        return await self._wait(
            self._threads.submit(call, key, parts, **options), parts.stop)

    async def delete(self, key: Key) -> None:
        await self._run(self.blocking.delete, key)

    async def transition(self, key: Key, to: str) -> TransitionInfo:
        return await self._run(self.blocking.transition, key, to)

    async def export(self, key: Key, *, check_only: bool = False) -> ObjectInfo:
        return await self._run(self.blocking.export, key,
                               check_only=check_only)

    # Reading.

    async def get(self, key: Key) -> bytes:
        return await self._run(self.blocking.get, key)

    async def get_with_info(self, key: Key) -> tuple[bytes, ObjectInfo]:
        return await self._run(self.blocking.get_with_info, key)

    async def get_range(self, key: Key, offset: int, length: int) -> bytes:
        return await self._run(self.blocking.get_range, key, offset, length)

    async def get_into(self, key: Key, into: Buffer) -> ObjectInfo:
        return await self._run(self.blocking.get_into, key, into)

    async def get_range_into(self, key: Key, offset: int,
                             into: Buffer) -> int:
        return await self._run(self.blocking.get_range_into, key, offset, into)

    async def stream(self, key: Key) -> AsyncIterator[bytes]:
        """The parts of the value in order, in bounded memory:

            async for part in client.stream("key"): ...

        The thread waits while no part is taken. Where the loop is left early,
        the stream ends with the generator (contextlib.aclosing)."""
        parts = _PartsOut()
        self._streams.add(parts)
        call = self._threads.submit(self.blocking.get_to, key, parts)
        ended = asyncio.ensure_future(self._wait(call, parts.stop))
        ended.add_done_callback(parts.end)
        try:
            while (part := await parts.take()) is not None:
                yield part
            await ended
        except _Stopped:
            raise RuntimeError("this client was closed before the end of the "
                               "stream") from None
        finally:
            self._streams.discard(parts)
            ended.cancel()
            await asyncio.wait([ended])
            if not ended.cancelled():
                ended.exception()  # seen, and given up

    # Inspection.

    async def stat(self, key: Key) -> ObjectDetail:
        return await self._run(self.blocking.stat, key)

    async def visit(self, visit: Visit) -> None:
        """`visit` is called on a thread."""
        await self._run(self.blocking.visit, visit)

    async def servers(self) -> ClusterInfo:
        return await self._run(self.blocking.servers)
