"""Serves the parts of models: numpy arrays under names.

    python3 serve_model.py HOST:PORT,HOST:PORT,...   (six servers or more)

Stores a model, loads it into arrays that are there already, makes it wide when
it is cold, and loads it again.

What it leaves out, for shortness:
  - A name is stored again part by part: a reader may meet old parts and new
    ones. Put a number of the version into the name.
  - It knows of loads by this process alone. Policies of an ersproxy know how
    long each object was idle, whoever read it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import ers
import numpy
from ers.aio import AsyncClient

Array = numpy.ndarray[Any, Any]
Model = dict[str, Array]


class Models:
    """Models by name, on the servers of a client."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self._loaded: dict[str, float] = {}

    @staticmethod
    def _key(name: str, part: str) -> str:
        return f"model/{name}/{part}"

    async def store(self, name: str, model: Model) -> None:
        """The arrays first, then the list of them."""
        parts = {part: (array.dtype.str, array.shape)
                 for part, array in model.items()}
        async with asyncio.TaskGroup() as tasks:
            for part, array in model.items():
                tasks.create_task(
                    self.client.put(self._key(name, part), array))
        await self.client.put(self._key(name, ""), json.dumps(parts).encode())

    async def allocate(self, name: str) -> Model:
        """Arrays for the model's parts; what is in them is undefined."""
        parts = json.loads(await self.client.get(self._key(name, "")))
        return {part: numpy.empty(shape, dtype)
                for part, (dtype, shape) in parts.items()}

    async def load(self, name: str, into: Model) -> None:
        """The bytes go from the servers into the arrays, of all parts at the
        same time."""
        async with asyncio.TaskGroup() as tasks:
            for part, array in into.items():
                tasks.create_task(
                    self.client.get_into(self._key(name, part), array))
        self._loaded[name] = time.monotonic()

    async def cool(self, idle_s: float) -> dict[str, int]:
        """Makes the models wide that were not loaded for so long, which saves
        memory: how many blocks it read of each."""
        read = {}
        for name, loaded in self._loaded.items():
            if time.monotonic() - loaded >= idle_s:
                read[name] = await self._widen(name)
        return read

    async def _widen(self, name: str) -> int:
        blocks = 0
        for part in await self.allocate(name):
            try:
                moved = await self.client.transition(
                    self._key(name, part), "wide")
            except ers.AlreadyThere:
                continue
            blocks += moved.data_reads + moved.parity_reads
        return blocks


async def main(servers: str) -> None:
    random = numpy.random.default_rng(1)
    model: Model = {
        "embedding": random.random((4096, 512), numpy.float32),
        "attention": random.random((512, 1536), numpy.float32),
        "output": random.random((512, 4096), numpy.float32)}
    async with AsyncClient(servers, scheme="ers2:4,1,5") as client:
        models = Models(client)
        await models.store("small", model)
        arrays = await models.allocate("small")
        for width in ("narrow", "wide"):
            await models.load("small", arrays)
            for part, array in arrays.items():
                if not numpy.array_equal(array, model[part]):
                    raise SystemExit(f"{part}: other numbers than stored")
            print(f"loaded {len(arrays)} parts, {width}")
            if width == "narrow":
                read = await models.cool(idle_s=0)
                print(f"made wide: {read['small']} blocks read")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} HOST:PORT,HOST:PORT,...")
    try:
        asyncio.run(main(sys.argv[1]))
    except* ers.Error as failed:
        sys.exit(str(failed.exceptions[0]))
