"""The jobs of one HTTP request: all their results, or their merged streams."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from cactus_actors.client import AsyncClient
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import Result


async def results_of(client: AsyncClient, submits: Sequence[EncodedSubmit]) -> list[Result]:
    """The result of every job; a failed job ends all of them, and its error is raised."""
    if len(submits) == 1:
        return [await client.run(submits[0])]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(client.run(submit)) for submit in submits]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event of one choice: it was accepted, has new deltas, or ended."""

    choice: int
    content: Accepted | Delta | Result


class ChoiceStreams:
    """The streams of several jobs, merged in order of arrival."""

    def __init__(self, client: AsyncClient, submits: Sequence[EncodedSubmit]) -> None:
        self._streams = [client.follow(submit) for submit in submits]
        self._is_begun = False
        self._is_accepted = [False] * len(submits)
        self._noted: dict[int, None] = {}  # choices that may have events, in order
        self._running = set(range(len(submits)))
        self._is_woken = False
        self._failure: CactusError | None = None
        self._changed = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """True if every choice has ended and was taken."""
        return not self._running

    def fail(self, error: CactusError) -> None:
        """Let the next `taken` raise this error."""
        self._failure = self._failure or error
        self._changed.set()

    def wake(self) -> None:
        """Let `wait` return, with or without an event."""
        self._is_woken = True
        self._changed.set()

    async def wait(self) -> None:
        """Return when there may be an event, or after a wake; may be cancelled and called again."""
        if not self._is_begun:
            self._is_begun = True
            for choice, stream in enumerate(self._streams):
                await stream.watch(partial(self._note, choice))
        while not (self._noted or self._failure is not None or self._is_woken or self.is_over):
            self._changed.clear()
            await self._changed.wait()
        self._is_woken = False

    def taken(self) -> list[StreamEvent]:
        """The events since the last call, possibly none; raises a job's error after its events."""
        happened: list[StreamEvent] = []
        while self._noted and self._failure is None:
            choice = next(iter(self._noted))
            del self._noted[choice]
            if choice in self._running:
                self._take(choice, happened)
        if not happened and self._failure is not None:
            raise self._failure
        return happened

    async def close(self, *, cancel: bool) -> None:
        """Stop following the jobs; with `cancel` running ones are cancelled."""
        for stream in self._streams:
            if cancel:
                await stream.close()
            else:
                stream.release()

    def _note(self, choice: int) -> None:
        self._noted[choice] = None
        self._changed.set()

    def _take(self, choice: int, happened: list[StreamEvent]) -> None:
        stream = self._streams[choice]
        # Deltas arrive on another connection than Accepted, and may overtake it.
        if not self._is_accepted[choice] and not stream.has_reply:
            return
        accepted, deltas, outcome = stream.update()
        if accepted is not None and not self._is_accepted[choice]:
            happened.append(StreamEvent(choice, accepted))
        self._is_accepted[choice] = True
        if deltas:
            happened.append(StreamEvent(choice, joined(deltas)))
        if isinstance(outcome, CactusError):
            self._failure = self._failure or outcome
        elif outcome is not None:
            self._running.discard(choice)
            happened.append(StreamEvent(choice, outcome))


def joined(deltas: Sequence[Delta]) -> Delta:
    """Consecutive deltas, joined."""
    if len(deltas) == 1:
        return deltas[0]
    logprobs = [one for delta in deltas for one in delta.logprobs or ()]
    return msgspec.structs.replace(
        deltas[0],
        token_ids=[token for delta in deltas for token in delta.token_ids],
        text="".join(delta.text for delta in deltas),
        reasoning_content="".join(delta.reasoning_content for delta in deltas),
        logprobs=logprobs or None,
    )
