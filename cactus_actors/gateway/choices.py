"""The jobs of one HTTP request: all their results, or all their streams as one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from cactus_actors.client import AsyncClient, AsyncTokenStream
from cactus_actors.protocol.messages import Accepted, Delta, Submit
from cactus_actors.protocol.results import Result


async def results_of(client: AsyncClient, submits: Sequence[Submit]) -> list[Result]:
    """The result of every job; one that fails ends all of them, and is raised."""
    if len(submits) == 1:
        return [await client.run(submits[0])]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(client.run(submit)) for submit in submits]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


@dataclass(frozen=True, slots=True)
class Happening:
    """What became of one choice: it was accepted, it grew, or it ended."""

    choice: int
    news: Accepted | Delta | Result


class ChoiceStreams:
    """The streams of several jobs, merged in the order in which things happen."""

    def __init__(self, client: AsyncClient, submits: Sequence[Submit]) -> None:
        self._streams = [client.follow(submit) for submit in submits]
        self._unread: list[Happening] = []
        self._failure: Exception | None = None
        self._num_running = len(submits)
        self._is_nudged = False
        self._changed = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._pump(choice, stream)) for choice, stream in enumerate(self._streams)
        ]

    def nudge(self) -> None:
        """Let who waits in `take` go, if nothing happens meanwhile."""
        self._is_nudged = True
        self._changed.set()

    async def take(self) -> list[Happening] | None:
        """Everything that happened since, at least one thing; empty at the end; raises a job's error.

        None after a nudge. May be cancelled and called again.
        """
        while not (self._unread or self._failure is not None or self._is_nudged) and self._num_running:
            self._changed.clear()
            await self._changed.wait()
        is_nudged, self._is_nudged = self._is_nudged, False
        if is_nudged and not self._unread and self._failure is None and self._num_running:
            return None
        if not self._unread and self._failure is not None:
            raise self._failure
        unread, self._unread = self._unread, []
        return unread

    async def close(self, *, cancel: bool) -> None:
        """Follow no longer; with `cancel` what still runs ends."""
        for task in self._tasks:
            task.cancel()
        for stream in self._streams:
            if cancel:
                await stream.close()
            else:
                stream.release()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pump(self, choice: int, stream: AsyncTokenStream) -> None:
        try:
            accepted = await stream.accepted()
            if accepted is not None:
                self._tell(choice, accepted)
            while deltas := await stream.take():
                self._tell(choice, joined(deltas))
            self._tell(choice, await stream.result())
        except Exception as failure:
            self._failure = self._failure or failure
        finally:
            self._num_running -= 1
            self._changed.set()

    def _tell(self, choice: int, news: Accepted | Delta | Result) -> None:
        self._unread.append(Happening(choice, news))
        self._changed.set()


def joined(deltas: Sequence[Delta]) -> Delta:
    """Deltas that follow one another, as one."""
    if len(deltas) == 1:
        return deltas[0]
    logprobs = [one for delta in deltas for one in delta.logprobs or ()]
    return msgspec.structs.replace(
        deltas[0],
        token_ids=[token for delta in deltas for token in delta.token_ids],
        text="".join(delta.text for delta in deltas),
        logprobs=logprobs or None,
    )
