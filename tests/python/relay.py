"""Servers' connections by way of a thread of this process, which can be held.

A call that comes through has let this thread run: the GIL was not held."""

import asyncio
import contextlib
import threading


class Relay:

    def __init__(self, servers):
        self.held = threading.Event()  # a request waits at the closed gate
        self._loop = asyncio.new_event_loop()
        self._tasks = set()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._gate = asyncio.Event()
        self._gate.set()
        self._listeners = [self._run(self._listen(server))
                           for server in servers.split(",")]
        #: To be given to clients.
        self.servers = ",".join(
            "%s:%d" % listener.sockets[0].getsockname()
            for listener in self._listeners)

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _listen(self, server):
        host, port = server.rsplit(":", 1)

        async def accept(reader, writer):
            self._tasks.add(asyncio.current_task())
            with contextlib.suppress(OSError):
                server_reader, server_writer = \
                    await asyncio.open_connection(host, int(port))
                await asyncio.gather(
                    self._pump(reader, server_writer, self._gate),
                    self._pump(server_reader, writer, None))
            self._tasks.discard(asyncio.current_task())
        return await asyncio.start_server(accept, "127.0.0.1", 0)

    async def _pump(self, reader, writer, gate):
        try:
            while data := await reader.read(1 << 16):
                if gate and not gate.is_set():
                    self.held.set()
                    await gate.wait()
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    def close_gate(self):
        async def close():
            self._gate.clear()
            self.held.clear()
        self._run(close())

    def open_gate(self):
        self._loop.call_soon_threadsafe(self._gate.set)

    def stop(self):
        async def end():
            for listener in self._listeners:
                listener.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
