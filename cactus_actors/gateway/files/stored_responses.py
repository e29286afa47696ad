"""Stored responses: kept before their jobs are submitted, and followed to their end, also by the next gateway."""

from __future__ import annotations

import asyncio
import logging
import time

import msgspec

from cactus_actors.api.responses import EndedAnswer, Item, ResponseEvents, response_of_item
from cactus_actors.client import AsyncClient
from cactus_actors.client.router_connection import JobHandle
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.gateway.files.response_store import ResponseRecord, ResponseStore, StoredResponse
from cactus_actors.protocol.errors import (
    CactusError,
    InvalidRequest,
    JobNotFound,
    Overloaded,
    ResourceNotFound,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.results import Result

RETRY_S = 2.0
FORGET_EVERY_S = 600.0

TRANSIENT = (Unavailable, Overloaded, StorageFailure)
"""The job is asked for again: the router may be starting."""
_log = logging.getLogger(__name__)


class StoredResponses:
    """The responses of a store and their jobs; belongs to one event loop.

    `unix_offset` converts the monotonic clock to Unix time, by which a response ages across restarts.
    """

    def __init__(self, store: ResponseStore, client: AsyncClient, *, max_age_s: float, unix_offset: float) -> None:
        self.store = store
        self._client = client
        self._max_age_s = max_age_s
        self._unix_offset = unix_offset
        self._following: dict[str, asyncio.Task[None]] = {}

    def now(self) -> float:
        """Unix time that setting the clock does not change."""
        return time.monotonic() + self._unix_offset

    async def run(self) -> None:
        """Follow what the last gateway left, and forget responses whose retention is over, forever."""
        for stored in await asyncio.to_thread(self.store.unended):
            self.follow(stored)
        while True:
            try:
                await asyncio.to_thread(self.store.forget_before, self.now() - self._max_age_s)
            except StorageFailure as error:
                _log.warning("old responses stay for now: %s", error)
            await asyncio.sleep(FORGET_EVERY_S)

    async def close(self) -> None:
        """Stop following; the jobs go on."""
        tasks = [*self._following.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.store.close()

    async def begin(self, record: ResponseRecord, job: EncodedSubmit) -> StoredResponse:
        """Keep a response before its job is submitted; returns the one that has its id already, if there is one.

        Its input is on the disk only.
        """
        stored = await asyncio.to_thread(self.store.begin, record, job)
        if self._is_over(stored):
            await asyncio.to_thread(self.store.delete, record.name)
            stored = await asyncio.to_thread(self.store.begin, record, job)
        return msgspec.structs.replace(stored, record=msgspec.structs.replace(stored.record, items=[]))

    async def get(self, response_id: str, tenant: str) -> StoredResponse:
        """A tenant's response; raises like `find`."""
        return await asyncio.to_thread(self.find, response_id, tenant)

    def find(self, response_id: str, tenant: str, param: str | None = None) -> StoredResponse:
        """The same, for any thread; raises ResourceNotFound, also for a foreign one and after the retention."""
        stored = self.store.get(response_id)
        if stored is None or stored.record.tenant != tenant or self._is_over(stored):
            raise ResourceNotFound(f"no response {response_id[:64]!r}", param=param)
        return stored

    def follow(self, stored: StoredResponse, job: JobHandle | None = None) -> asyncio.Task[None]:
        """Have the answer kept when the job ends, whoever else waits for it; the task ends then."""
        record = stored.record
        task = self._following.get(record.name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._follow(stored, job))
            self._following[record.name] = task
            task.add_done_callback(lambda _: self._following.pop(record.name, None))
        return task

    async def submitted(self, stored: StoredResponse) -> None:
        """Submit the job of a new response, and return when it is accepted; raises the error of a refused one."""
        assert stored.job is not None
        job = await self._client.begin(stored.job)
        await job.accepted()
        self.follow(stored, job)

    async def cancel(self, stored: StoredResponse) -> None:
        """End the job, and return when that is kept; an ended response does not change."""
        if stored.job is None:
            return
        following = self.follow(stored)
        try:
            await self._client.cancel(stored.job.job_id)
        except JobNotFound:
            await self.end(stored.record, EndedAnswer(result=Result(finish_reason="cancelled")))
            following.cancel()
        await asyncio.wait((following,))

    async def end(self, record: ResponseRecord, answer: EndedAnswer) -> None:
        """Keep an answer."""
        await asyncio.to_thread(self.store.end, record.name, answer)

    async def delete(self, response_id: str) -> None:
        """Remove a response."""
        await asyncio.to_thread(self.store.delete, response_id)

    def _is_over(self, stored: StoredResponse) -> bool:
        """True if the retention of an ended response is over, though it is not removed yet."""
        return stored.answer is not None and stored.record.begins_at + self._max_age_s <= self.now()

    async def _follow(self, stored: StoredResponse, job: JobHandle | None) -> None:
        assert stored.job is not None
        while True:
            try:
                job = job or await self._client.begin(stored.job)
                answer = await answer_of(self._client, job)
                break
            except TRANSIENT:
                await asyncio.sleep(RETRY_S)
                job = None
            except CactusError as error:
                answer = EndedAnswer(error=error.info())
                break
        while True:
            try:
                return await self.end(stored.record, answer)
            except StorageFailure as error:
                _log.warning("response %s: %s", stored.record.name, error)
                await asyncio.sleep(RETRY_S)


class TenantResponses:
    """The stored responses of one tenant, as the input of new ones."""

    def __init__(self, responses: StoredResponses, tenant: str) -> None:
        self._responses = responses
        self._tenant = tenant

    def conversation(self, response_id: str) -> list[Item]:
        """The input and the output; raises ResourceNotFound, and InvalidRequest before the end."""
        stored = self._responses.find(response_id, self._tenant, "previous_response_id")
        return [*stored.record.items, *self._output(stored, "previous_response_id")]

    def item(self, item_id: str) -> Item:
        """An item of the input or the output; raises the same."""
        response_id = response_of_item(item_id)
        if response_id is not None:
            stored = self._responses.find(response_id, self._tenant, "input")
            for item in [*stored.record.items, *self._output(stored, "input")]:
                if item["id"] == item_id:
                    return item
        raise ResourceNotFound(f"no item {item_id[:80]!r} of a stored response", param="input")

    @staticmethod
    def _output(stored: StoredResponse, param: str) -> list[Item]:
        record = stored.record
        if stored.answer is None:
            raise InvalidRequest(f"the response {record.name!r} has not ended", param=param)
        output: list[Item] = rendered(record, stored.answer).body["output"]
        return output


def rendered(record: ResponseRecord, answer: EndedAnswer) -> ResponseEvents:
    """The events of an ended response after the last one: its `body` is whole."""
    events = ResponseEvents(record.head, record.asked)
    events.replayed(answer)
    return events


async def answer_of(client: AsyncClient, job: JobHandle) -> EndedAnswer:
    """How a job ended; it is cancelled if the wait is. Raises the error of one that was refused, or is not heard of."""
    try:
        await job.accepted()
        return EndedAnswer(tool_markup=_markup(job), result=await job.outcome())
    except CactusError as error:
        if error.result is None:
            raise
        return EndedAnswer(tool_markup=_markup(job), result=error.result, error=error.info())
    finally:
        client.abandon(job)


def _markup(job: JobHandle) -> str | None:
    accepted = job.follower.accepted
    return None if accepted is None else accepted.tool_markup
