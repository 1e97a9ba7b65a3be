"""asyncio: the same calls, which leave the loop free; cancelled, they leave no
buffer in use."""

import asyncio
import contextlib
import io

import ers
from ers.aio import AsyncClient
from package_case import (DEADLINE_S, MiB, PackageCase, RelayedCase,
                          random_bytes, unittest)


class AioCase(unittest.IsolatedAsyncioTestCase):
    """Clients are opened by tests, on their loops."""

    async def opened(self, **options):
        client = AsyncClient(options.pop("servers", self.servers), **options)
        self.addAsyncCleanup(client.close)
        return client


class CallsTest(PackageCase, AioCase):

    async def test_every_call_is_that_of_the_client(self):
        client = await self.opened()
        value = bytearray(random_bytes(MiB, 1))
        info = await client.put("all", value, scheme="ers2:4,1,5",
                                client_flags=3)
        self.assertEqual(info.client_flags, 3)
        self.assertTrue(await client.get("all") == value)
        self.assertEqual((await client.get_with_info("all"))[1], info)
        self.assertEqual(await client.get_range("all", 5, 5), value[5:10])
        into = bytearray(MiB)
        self.assertEqual((await client.get_into("all", into)).length, MiB)
        self.assertTrue(into == value)
        self.assertEqual(
            await client.get_range_into("all", MiB - 3, into), 3)
        await client.update("all", 0, b"new")
        await client.append("all", b"end")
        await client.append_from("all", io.BytesIO(b"!"))
        value[:3] = b"new"
        self.assertTrue(await client.get("all") == value + b"end!")
        moved = await client.transition("all", "wide")
        self.assertEqual(moved.object.width, "wide")
        self.assertTrue((await client.stat("all")).blocks)
        self.assertEqual(len((await client.servers()).servers), 6)
        keys = []
        await client.visit(lambda key, _info: keys.append(key))
        self.assertEqual(keys, [b"all"])
        await client.export("all")
        with self.assertRaises(ers.NotManaged):
            await client.get("all")
        with self.assertRaises(ers.AlreadyThere):
            await client.export("all", check_only=True)
        await client.put("short", b"")
        await client.delete("short")
        with self.assertRaisesRegex(ers.NotFound, "short"):
            await client.delete("short")
        # The same client for threads.
        with self.assertRaises(ers.NotFound):
            client.blocking.get("short")

    async def test_many_calls_at_once(self):
        client = await self.opened(parallel=3)
        values = {f"many{n}": random_bytes(100_000, n) for n in range(20)}
        await asyncio.gather(*(client.put(key, value)
                               for key, value in values.items()))
        got = await asyncio.gather(*map(client.get, values))
        self.assertTrue(got == list(values.values()))

    async def test_the_end_of_a_with_statement_closes(self):
        async with AsyncClient(self.servers) as client:
            await client.put("with", b"x")
        with self.assertRaises(RuntimeError):
            await client.get("with")


class StreamsTest(PackageCase, AioCase):

    async def test_parts_go_out_and_in(self):
        client = await self.opened()
        value = random_bytes(20 * MiB, 2)
        await client.put("out", value)
        parts = [part async for part in client.stream("out")]
        self.assertGreater(len(parts), 1)
        self.assertTrue(b"".join(parts) == value)
        # From one value to another one, in bounded memory.
        await client.put_from("in", client.stream("out"), scheme="rs:2,1")
        self.assertTrue(await client.get("in") == value)
        await client.append_from("in", client.stream("out"))
        self.assertTrue(await client.get("in") == value + value)
        await client.put_from("in", [b"no ", b"coroutine"])
        self.assertEqual(await client.get("in"), b"no coroutine")
        await client.put("out", b"")
        self.assertEqual([part async for part in client.stream("out")], [b""])
        with self.assertRaises(ers.NotFound):
            async for _part in client.stream("none"):
                self.fail("there is none")

    async def test_a_stream_that_is_left_gives_its_thread_back(self):
        client = await self.opened(parallel=1)
        await client.put("left", bytes(60 * MiB))
        for _ in range(3):
            async with contextlib.aclosing(client.stream("left")) as parts:
                async for _part in parts:
                    break
            # There is one thread, and it is free.
            self.assertEqual(await client.get_range("left", 0, 3), bytes(3))

    async def test_close_ends_a_stream_that_no_one_reads_on(self):
        client = AsyncClient(self.servers, parallel=1)
        await client.put("open", bytes(60 * MiB))
        parts = client.stream("open")
        self.assertTrue(await anext(parts))
        async with asyncio.timeout(DEADLINE_S):
            await client.close()
        with self.assertRaisesRegex(RuntimeError, "was closed"):
            async for _part in parts:
                pass

    async def test_what_a_source_raises_is_raised_and_the_old_value_stands(
            self):
        client = await self.opened()
        await client.put("stands", b"old")

        async def broken():
            yield bytes(10 * MiB)
            raise OSError("the cable is cut")
        with self.assertRaisesRegex(OSError, "the cable is cut"):
            await client.put_from("stands", broken())
        self.assertEqual(await client.get("stands"), b"old")

    async def test_a_put_whose_source_waits_can_be_cancelled(self):
        client = await self.opened(parallel=1)
        await client.put("stands", b"old")
        waits, cancelled = asyncio.Event(), []

        async def endless():
            yield bytes(10 * MiB)
            waits.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(True)
                raise
        putting = asyncio.create_task(client.put_from("stands", endless()))
        await waits.wait()
        putting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await putting
        self.assertEqual(cancelled, [True])
        self.assertEqual(await client.get("stands"), b"old")


class CancelTest(RelayedCase, AioCase):
    """Servers answer when the test opens the gate."""

    async def held(self, call):
        """A call that waits for servers, which the loop does not."""
        self.relay.close_gate()
        running = asyncio.create_task(call)
        self.assertTrue(await asyncio.to_thread(self.relay.held.wait,
                                                DEADLINE_S))
        self.assertFalse(running.done())
        return running

    @staticmethod
    async def turns():
        for _ in range(100):
            await asyncio.sleep(0)

    async def test_the_loop_runs_while_a_call_waits_for_servers(self):
        client = await self.opened(**self.relayed)
        await client.put("held", b"x" * MiB)
        running = await self.held(client.get("held"))
        self.relay.open_gate()
        self.assertEqual(await running, b"x" * MiB)

    async def test_a_cancelled_call_ends_behind_the_use_of_its_buffer(self):
        client = await self.opened(**self.relayed)
        value = random_bytes(MiB, 3)
        await client.put("held", value)
        into = bytearray(MiB)
        running = await self.held(client.get_into("held", into))
        for _ in range(3):  # however often
            running.cancel()
            await self.turns()
            self.assertFalse(running.done())
        with self.assertRaises(BufferError):
            into.append(1)
        self.relay.open_gate()
        with self.assertRaises(asyncio.CancelledError):
            await running
        self.assertTrue(into == value)
        into.append(1)

    async def test_a_timeout_is_one_and_a_failure_behind_it_is_dropped(self):
        client = await self.opened(**self.relayed)
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(None) as limit:
                running = await self.held(client.get("none"))
                # It is over now; the servers answer behind that.
                limit.reschedule(asyncio.get_running_loop().time())
                asyncio.get_running_loop().call_soon(self.relay.open_gate)
                await running
        self.assertTrue(running.done())

    async def test_a_cancelled_call_that_no_thread_has_taken_never_happens(
            self):
        client = await self.opened(**self.relayed, parallel=1)
        await client.put("first", b"x")
        running = await self.held(client.get("first"))
        waiting = asyncio.create_task(client.put("second", b"y"))
        await self.turns()
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting  # while the first one is still held
        self.assertFalse(running.done())
        self.relay.open_gate()
        self.assertEqual(await running, b"x")
        with self.assertRaises(ers.NotFound):
            await client.get("second")


if __name__ == "__main__":
    unittest.main()
