"""A second pass by the cloud: it is asked in batches what the local model was unsure of."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import msgspec

from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.batch_runner import first_error
from cactus_actors.batch.left_lines import LeftLine
from cactus_actors.batch.patience import Patience
from cactus_actors.batch.second_pass.model_answers import REASON
from cactus_actors.batch.second_pass.pass_journal import Part
from cactus_actors.batch.second_pass.pass_outcomes import PassOutcome
from cactus_actors.batch.second_pass.pass_record import PassObserver, PassRecord, SecondPassProgress
from cactus_actors.batch.second_pass.question_source import LineQuestion, QuestionSource
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.cloud_batches import MAX_QUESTION_BYTES, BatchAnswer, BatchQuestion
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import AskCloudBatch, CloudBatch
from cactus_actors.protocol.results import HandoffStatus

FIRST_POLL_S = 0.25


class CloudPass:
    """Asks the cloud these lines, in batches that are followed at the same time."""

    def __init__(
        self,
        request: BatchRequest,
        client: AsyncClient,
        source: QuestionSource,
        patience: Patience,
        lines: Mapping[str, LeftLine],
        record: PassRecord,
        observe: PassObserver | None,
    ) -> None:
        self._limits = request.limits
        self._refusal = ""
        self._client = client
        self._source = source
        self._patience = patience
        self._lines = lines
        self._record = record
        self._journal = record.journal
        self._observe = observe
        self._num_ended: dict[str, int] = {}
        self._reading = asyncio.Lock()
        self._progress = SecondPassProgress(num_lines=len(lines))

    async def run(self) -> None:
        """Ask until every line has an outcome; raises Unavailable if the cloud cannot be asked."""
        open_parts = [part for part in self._journal.parts.values() if not part.is_done]
        asked = {custom_id for part in self._journal.parts.values() for custom_id in part.custom_ids}
        waiting = self._record.without_outcome(self._lines)
        new = {custom_id: left for custom_id, left in waiting.items() if custom_id not in asked}
        self._show()
        try:
            async with asyncio.TaskGroup() as tasks:
                for part in open_parts:
                    tasks.create_task(self._follow(part))
                await self._ask_new(new, tasks)
        except BaseExceptionGroup as group:
            raise first_error(group) from None

    async def _ask_new(self, lines: Mapping[str, LeftLine], tasks: asyncio.TaskGroup) -> None:
        """Ask for batches of these lines, one after the other, and follow each."""
        waiting: list[LineQuestion] = []
        num_bytes = 0
        async for line in self._source.questions(lines):
            size = 0 if line.question is None else len(msgspec.json.encode(line.question))
            if refusal := line.refusal or self._refusal or _too_long(size):
                self._keep(line.custom_id, refusal)
                continue
            if len(waiting) == self._limits.max_questions or num_bytes + size > MAX_QUESTION_BYTES:
                await self._begin(waiting, tasks)
                waiting, num_bytes = [], 0
            waiting.append(line)
            num_bytes += size
        if waiting:
            await self._begin(waiting, tasks)

    async def _begin(self, lines: Sequence[LineQuestion], tasks: asyncio.TaskGroup) -> None:
        part = self._journal.begin([line.custom_id for line in lines])
        if await self._create(part, _questions(part, lines)):
            tasks.create_task(self._follow(part))

    async def _create(self, part: Part, questions: Sequence[BatchQuestion]) -> bool:
        """Have the cloud make the batch, unless it has one of this mark; False if the budgets do not allow it."""
        sent = questions
        refused_at: float | None = None
        while True:
            batch = await self._ask(part, questions=list(sent))
            match batch.state:
                case "running" | "ended":
                    return True
                case "over_budget":
                    self._refusal = batch.reason
                    for custom_id in part.custom_ids:
                        self._keep(custom_id, batch.reason)
                    self._end(part)
                    return False
                case "refused":
                    refused_at = refused_at or time.monotonic()
                    if time.monotonic() - refused_at > self._limits.service_lost_s:
                        raise Unavailable(f"the cloud cannot be asked: {batch.reason}")
                case _:
                    refused_at = None
            sent = questions if batch.state == "absent" else ()
            await self._wait(batch, FIRST_POLL_S)

    async def _follow(self, part: Part) -> None:
        """Wait for the end of a batch, and record its answers."""
        pause_s = FIRST_POLL_S
        while True:
            batch = await self._ask(part)
            self._num_ended[part.mark] = batch.num_ended
            self._show(batch.reason)
            if batch.state == "ended":
                break
            if batch.state == "absent":
                wanted = {name: self._lines[name] for name in part.custom_ids if name in self._lines}
                lines = [line async for line in self._source.questions(wanted)]
                if not await self._create(part, _questions(part, lines)):
                    return
            pause_s = 2 * pause_s if batch.state in ("running", "refused") else FIRST_POLL_S
            await self._wait(batch, min(self._limits.poll_s, pause_s))
        async with self._reading:  # the service has the answers of a few batches in memory
            await self._take_answers(part)

    async def _take_answers(self, part: Part) -> None:
        """Record all answers of a batch that has ended, and the reasons of the lines that have none."""
        latency_ms = round(1000 * max(0.0, time.time() - part.created), 3)
        batch = await self._answers(part, 0)
        answered: set[str] = set()
        num_read = 0
        while batch.answers:
            for answer in batch.answers:
                if answer.place < len(part.custom_ids):
                    custom_id = part.custom_ids[answer.place]
                    answered.add(custom_id)
                    self._record.add(_outcome(custom_id, answer, batch, latency_ms))
            num_read += len(batch.answers)
            batch = await self._answers(part, num_read)
        for place, custom_id in enumerate(part.custom_ids):
            if custom_id in answered:
                continue
            if place < batch.num_questions or not batch.num_questions:
                self._keep(custom_id, _missing(batch), "failed")
            else:
                self._keep(custom_id, "budget spent")
        self._end(part)

    async def _answers(self, part: Part, first: int) -> CloudBatch:
        """The answers of a batch that has ended, from that one on, as many as fit into a message."""
        while True:
            batch = await self._ask(part, answers_from=first)
            if batch.state == "ended":
                return batch
            await self._wait(batch, FIRST_POLL_S)

    async def _ask(self, part: Part, **given: object) -> CloudBatch:
        """The state of a batch; its id is on disk when this returns.

        Raises Unavailable for a lasting refusal, and for a batch that the cloud does not know any more.
        """
        ask = AskCloudBatch(mark=part.mark, created=part.created, batch_id=part.batch_id)
        ask = msgspec.structs.replace(ask, **given)
        batch = await self._patience.result(lambda: self._client.cloud_batch(ask))
        if batch.batch_id and not part.batch_id:
            self._journal.set_batch_id(part, batch.batch_id)
        if batch.state == "refused" and not batch.is_temporary:
            raise Unavailable(f"the cloud cannot be asked: {batch.reason}")
        if batch.state == "absent" and part.batch_id:
            raise Unavailable(
                f"the cloud does not know the batch {part.batch_id} of the second pass: configure the cloud that was "
                f"asked, or remove {self._journal.path} to ask again"
            )
        return batch

    async def _wait(self, batch: CloudBatch, seconds: float) -> None:
        if batch.state == "refused":
            self._show(batch.reason)
        await self._patience.pause(seconds)

    def _keep(self, custom_id: str, reason: str, status: HandoffStatus = "suppressed") -> None:
        """Record that a line keeps its local answer."""
        self._record.add(PassOutcome(custom_id=custom_id, status=status, reason=reason))

    def _end(self, part: Part) -> None:
        """Record that a batch is through; its outcomes are on disk before."""
        self._record.sync()
        self._journal.mark_done(part)
        self._num_ended.pop(part.mark, None)
        self._show()

    def _show(self, notice: str = "") -> None:
        progress = self._progress
        progress.num_done = self._record.num_done
        progress.num_ended = sum(self._num_ended.values())
        progress.num_batches = sum(not part.is_done for part in self._journal.parts.values())
        progress.notice = notice
        if self._observe is not None:
            self._observe(progress)


def _outcome(custom_id: str, answer: BatchAnswer, batch: CloudBatch, latency_ms: float) -> PassOutcome:
    return PassOutcome(
        custom_id=custom_id,
        status="failed" if answer.error else "completed",
        reason=answer.error or REASON,
        answer=answer,
        batch_id=batch.batch_id,
        provider=batch.provider,
        model=batch.model,
        currency=batch.currency,
        latency_ms=latency_ms,
    )


def _missing(batch: CloudBatch) -> str:
    """The reason why a question has no answer."""
    return f"the batch ended as {batch.status}, without this answer" + (f": {batch.reason}" if batch.reason else "")


def _too_long(size: int) -> str:
    return f"the question has {size} bytes, {MAX_QUESTION_BYTES} are allowed" if size > MAX_QUESTION_BYTES else ""


def _questions(part: Part, lines: Sequence[LineQuestion]) -> list[BatchQuestion]:
    places = {custom_id: place for place, custom_id in enumerate(part.custom_ids)}
    return [
        BatchQuestion(places[line.custom_id], line.question, line.prompt_tokens, line.completion_tokens)
        for line in lines
        if line.question is not None
    ]
