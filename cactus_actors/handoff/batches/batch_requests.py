"""Creates batches at the cloud and reports on them: nothing that a client cannot ask for again is kept."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.batches.batch_endpoint import BatchEndpoint, CloudBatchRecord
from cactus_actors.handoff.batches.batch_lines import answers_of, input_lines
from cactus_actors.handoff.batches.settled_batches import SettledBatches
from cactus_actors.handoff.cloud_access import CloudAccess, check_base_url
from cactus_actors.handoff.cloud_failures import CloudFailure
from cactus_actors.handoff.cloud_key import CloudKey
from cactus_actors.handoff.metering import Prices
from cactus_actors.handoff.spending import Amount, Spending
from cactus_actors.protocol.cloud_batches import BatchAnswer, BatchQuestion
from cactus_actors.protocol.messages import AskCloudBatch, CloudBatch
from cactus_actors.protocol.results import Usage
from cactus_actors.protocol.worker_messages import AskBatch, BatchReply

LOOK_INTERVAL_S = 0.5
"""The cloud is asked about one batch no more often than this."""
REFUSAL_SHOWN_S = 20.0
"""A refusal is the reply for this time, although the cloud is asked again."""
UNCERTAIN_S = 10.0
"""After a creation that may have succeeded, a cloud may take this time to list the batch."""
MAX_BACKOFF_S = 30.0
MAX_KNOWN = 1000
MAX_READ = 4
"""The most batches whose answers are in memory."""
MAX_REPLY_BYTES = 1024 * 1024
LOG = logging.getLogger(__name__)
_UNCERTAIN = frozenset({"cloud_connection", "cloud_protocol_error", "cloud_server_error", "cloud_timeout"})


class _Batch:
    """What is known of one batch; `expected` is about what it will cost, until it is settled.

    It `is_denied` while the cloud may not be used at all.
    """

    def __init__(self, tenant: str, created: float, batch: CloudBatch) -> None:
        self.tenant = tenant
        self.created = created
        self.batch = batch
        self.record: CloudBatchRecord | None = None
        self.answers: list[BatchAnswer] | None = None
        self.expected = Amount()
        self.task: asyncio.Task[None] | None = None
        self.looked_at = self.uncertain_until = self.retry_at = float("-inf")
        self.num_failures = 0
        self.is_denied = False

    @property
    def mark(self) -> str:
        return self.batch.mark

    @property
    def owner(self) -> str:
        """A name of the tenant that says nothing about it, for the cloud."""
        return hashlib.blake2b(self.tenant.encode(), digest_size=8).hexdigest()

    @property
    def is_refused(self) -> bool:
        return self.batch.state in ("refused", "over_budget")

    def changed(self, **changes: object) -> None:
        self.batch = msgspec.structs.replace(self.batch, **changes)


class CloudBatches:
    """Used on one event loop only; `wake` is called when a reply is ready to be sent."""

    def __init__(self, settings: HandoffSettings, spending: Spending, wake: Callable[[], None]) -> None:
        self._settings = settings
        self._spending = spending
        self._wake = wake
        prices = Prices.of(settings)
        self._prices = None if prices is None else prices.in_batch()
        self._endpoint = BatchEndpoint(settings)
        file = settings.spending_file if settings.budgets else None
        self._settled = SettledBatches(None if file is None else Path(file).with_name("cloud-batches.json"))
        self._provider = f"{check_base_url(settings.base_url).host}/{settings.model}"
        self._known: dict[tuple[str, str], _Batch] = {}
        self.replies: list[BatchReply] = []

    def take(self, command: AskBatch, access: CloudAccess, now: float) -> None:
        """Reply with what is known now, and find out more if that is due."""
        ask, key = command.ask, (command.tenant, command.ask.mark)
        known = self._known.pop(key, None) or _Batch(command.tenant, ask.created, self._unknown(ask))
        self._known[key] = known  # in the order of the last questions about them
        self._forget_old()
        if access.refusal is not None:
            known.changed(state="refused", reason=access.refusal, is_temporary=False)
            known.is_denied = True
        elif known.task is None and (known.is_denied or _is_due(known, ask, now)):
            if ask.questions and known.record is None:
                known.changed(state="creating", reason="")
            elif known.is_refused and (known.is_denied or now - known.looked_at >= REFUSAL_SHOWN_S):
                known.changed(state="unknown")
            known.is_denied = False
            known.task = asyncio.create_task(self._work(known, ask, access.key))
            known.task.add_done_callback(lambda task: self._ended(known, task))
        self.replies.append(BatchReply(command.number, _with_answers(known, ask)))
        self._wake()

    async def aclose(self) -> None:
        """Leave the batches to the cloud, and close every connection."""
        tasks = [known.task for known in self._known.values() if known.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._endpoint.aclose()

    def _unknown(self, ask: AskCloudBatch) -> CloudBatch:
        return CloudBatch(
            mark=ask.mark,
            state="unknown",
            batch_id=ask.batch_id,
            provider=self._provider,
            model=self._settings.model,
            currency=self._settings.currency,
        )

    def _forget_old(self) -> None:
        """Forget the batches beyond MAX_KNOWN; the cost of one that nobody has read is what was expected."""
        if len(self._known) <= MAX_KNOWN:
            return
        key, known = next((key, known) for key, known in self._known.items() if known.task is None)
        if known.expected != Amount():
            self._settle(known, known.batch.batch_id, known.expected)
        del self._known[key]

    def _ended(self, known: _Batch, task: asyncio.Task[None]) -> None:
        known.task, known.looked_at = None, time.monotonic()
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("a batch failed unexpectedly: %s", type(error).__name__)
            known.changed(reason=f"failed unexpectedly ({type(error).__name__})")
        self._wake()

    async def _work(self, known: _Batch, ask: AskCloudBatch, key: CloudKey | None) -> None:
        try:
            record = await self._look(known, ask, key)
            if record is None and time.monotonic() < known.uncertain_until:
                known.changed(state="unknown")
                return
            if record is None and ask.questions:
                record = await self._create(known, ask.questions, key)
            if record is None:
                if known.batch.state != "over_budget":
                    known.changed(state="absent")
                return
            self._on_record(known, record)
            if record.has_ended and known.answers is None and ask.answers_from is not None:
                await self._read_answers(known, record, key)
        except CloudFailure as failure:
            known.changed(state="refused", reason=failure.message, is_temporary=failure.retriable)
            backoff_s = min(MAX_BACKOFF_S, self._settings.retry_backoff_s * 2**known.num_failures)
            known.retry_at = time.monotonic() + max(failure.retry_after or 0.0, backoff_s)
            known.num_failures = min(known.num_failures + 1, 10)
        else:
            known.num_failures = 0

    async def _look(self, known: _Batch, ask: AskCloudBatch, key: CloudKey | None) -> CloudBatchRecord | None:
        """The batch at the cloud; None if there is none, or it is another's."""
        if known.record is not None and known.record.has_ended:
            return known.record
        batch_id = known.batch.batch_id or ask.batch_id
        if not batch_id:
            return await self._endpoint.find(known.mark, known.owner, known.created, key)
        record = await self._endpoint.retrieve(batch_id, key)
        return record if record is not None and record.is_of(known.mark, known.owner) else None

    async def _create(
        self, known: _Batch, questions: Sequence[BatchQuestion], key: CloudKey | None
    ) -> CloudBatchRecord | None:
        """A new batch of the first questions that the budgets allow; None if they allow none."""
        taken, expected, refusal = self._affordable(known.tenant, questions)
        if not taken:
            known.changed(state="over_budget", reason=refusal or "")
            return None
        self._expect(known, expected)
        try:
            content = input_lines(taken, self._settings.model)
            record = await self._endpoint.create(known.mark, known.owner, content, key)
        except BaseException as error:
            self._expect(known, Amount())
            if isinstance(error, CloudFailure) and error.kind in _UNCERTAIN:
                known.uncertain_until = time.monotonic() + UNCERTAIN_S
            raise
        self._spending.add(known.tenant, requests=len(taken))
        self._expect(known, expected._replace(requests=0))
        known.changed(num_questions=len(taken))
        return record

    def _affordable(
        self, tenant: str, questions: Sequence[BatchQuestion]
    ) -> tuple[Sequence[BatchQuestion], Amount, str | None]:
        """The first questions that the budgets allow, what they will cost, and the budget that forbids more."""
        total = Amount()
        for number, question in enumerate(questions):
            usage = Usage(prompt_tokens=question.prompt_tokens, completion_tokens=question.completion_tokens)
            cost = 0.0 if self._prices is None else self._prices.cost(usage)
            more = total.plus(Amount(1, usage.total_tokens, cost))
            if (refusal := self._spending.refusal(tenant, more)) is not None:
                return questions[:number], total, refusal
            total = more
        return questions, total, None

    def _expect(self, known: _Batch, expected: Amount) -> None:
        """Change what this batch will cost, and so the sum of its tenant's."""
        known.expected = expected
        total = Amount()
        for other in self._known.values():
            if other.tenant == known.tenant:
                total = total.plus(other.expected)
        self._spending.expect(known.tenant, total)

    def _settle(self, known: _Batch, batch_id: str, amount: Amount) -> None:
        """Count the cost of a batch, unless that was done."""
        if not self._settled.has(batch_id):
            self._spending.add(known.tenant, tokens=amount.tokens, cost=amount.cost)
            self._settled.add(batch_id)
        self._expect(known, Amount())

    def _on_record(self, known: _Batch, record: CloudBatchRecord) -> None:
        known.record = record
        counts = record.counts
        known.changed(
            state="ended" if record.has_ended else "running",
            batch_id=record.id,
            status=record.status,
            reason=record.error,
            num_questions=max(counts.total, known.batch.num_questions),
            num_ended=counts.completed + counts.failed,
        )

    async def _read_answers(self, known: _Batch, record: CloudBatchRecord, key: CloudKey | None) -> None:
        """Read the answers, and count their cost, unless that was done."""
        contents = [
            await self._endpoint.content(file_id, key) for file_id in (record.output_file_id, record.error_file_id)
        ]
        read = await asyncio.to_thread(answers_of, contents, str if key is None else key.redact)
        answers = [self._with_cost(answer) for answer in read]
        uncounted = sum(answer.usage is None and not answer.error for answer in answers)
        share = uncounted / max(1, known.batch.num_questions)  # they cost what was expected
        tokens = sum(answer.usage.total_tokens for answer in answers if answer.usage is not None)
        cost = sum(answer.cost for answer in answers if answer.cost is not None)
        tokens, cost = tokens + round(known.expected.tokens * share), cost + known.expected.cost * share
        self._settle(known, record.id, Amount(tokens=tokens, cost=cost))
        known.answers = answers
        loaded = [other for other in self._known.values() if other.answers is not None]
        for other in loaded[:-MAX_READ]:
            other.answers = None

    def _with_cost(self, answer: BatchAnswer) -> BatchAnswer:
        if self._prices is None or answer.usage is None:
            return answer
        return msgspec.structs.replace(answer, cost=self._prices.cost(answer.usage))


def _is_due(known: _Batch, ask: AskCloudBatch, now: float) -> bool:
    """True if the cloud has more to say."""
    has_waited = now - known.looked_at >= LOOK_INTERVAL_S and now >= known.retry_at
    if known.record is not None and known.record.has_ended:
        lacks_answers = known.answers is None and ask.answers_from is not None
        return lacks_answers and (has_waited or not known.is_refused)
    return has_waited or (known.batch.state == "absent" and bool(ask.questions))


def _with_answers(known: _Batch, ask: AskCloudBatch) -> CloudBatch:
    """The state of the batch, with the next answers, or still `running` if they are asked for and not read yet."""
    if ask.answers_from is None or known.batch.state != "ended":
        return known.batch
    if known.answers is None:
        return msgspec.structs.replace(known.batch, state="running")
    answers: list[BatchAnswer] = []
    num_bytes = 0
    for answer in known.answers[max(0, ask.answers_from) :]:
        num_bytes += len(msgspec.json.encode(answer))
        if answers and num_bytes > MAX_REPLY_BYTES:
            break
        answers.append(answer)
    return msgspec.structs.replace(known.batch, answers=answers, num_answers=len(known.answers))
