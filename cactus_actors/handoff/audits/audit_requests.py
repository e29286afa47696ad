"""Asks the cloud again what the local model has answered, one question at a time, and compares the answers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.answer_reader import AnswerPiece
from cactus_actors.handoff.audits.agreement import verdict_of
from cactus_actors.handoff.audits.audit_files import AuditFiles, UnjudgedAnswer
from cactus_actors.handoff.audits.audit_ledger import AuditLedger
from cactus_actors.handoff.audits.tier_ledgers import TierLedgers
from cactus_actors.handoff.circuit_breaker import CircuitBreaker
from cactus_actors.handoff.cloud_access import CloudAccess
from cactus_actors.handoff.cloud_client import CloudClient
from cactus_actors.handoff.cloud_failures import CloudFailure
from cactus_actors.handoff.cloud_key import CloudKey
from cactus_actors.handoff.metering import Meter, Prices
from cactus_actors.handoff.request_budget import RequestBudget
from cactus_actors.handoff.spending import spending_of
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.totals import AuditTotals
from cactus_actors.protocol.worker_messages import Audit
from cactus_actors.tools.call_splitter import ParsedText, parse_calls

MAX_WAITING = 16
LABELS_INTERVAL_S = 1.0
LOG = logging.getLogger(__name__)


class AuditRequests:
    """Used on one event loop only; `wake` is called when an audit has ended.

    Audits have a client, a circuit breaker and a budget of their own, and are not retried. They wait while handoffs
    need the slots of the cloud, and a handoff that needs the slot of a running audit ends it. Of those that wait,
    MAX_WAITING are kept.
    """

    def __init__(self, settings: HandoffSettings, wake: Callable[[], None]) -> None:
        self._settings = settings
        self._wake = wake
        self._files = None if settings.audit_dir is None else AuditFiles(Path(settings.audit_dir))
        spending_file = None if self._files is None else str(self._files.spending)
        self._spending = spending_of(settings.audit_budgets, spending_file)
        self._prices = Prices.of(settings)
        once = msgspec.structs.replace(settings, max_concurrent=1, max_retries=0)
        breaker = CircuitBreaker(max_failures=settings.breaker_failures, open_s=settings.breaker_open_s)
        self._breaker = breaker
        self._cloud = CloudClient(once, breaker, RequestBudget(max_concurrent=1, max_requests=None))
        self._waiting: deque[tuple[Audit, AuditLedger]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._labels_read_at = 0.0
        self._is_written = True
        self._ledgers: TierLedgers | None = None
        try:
            state = None if self._files is None else self._files.read_state()
            ledgers = self._ledgers = TierLedgers(settings, state, LOG.warning)
            if self._files is not None and any(not ledgers.is_waiting(answer) for answer in self._files.unjudged()):
                self._drop_judged(self._files, ledgers)  # of other settings, or of before a crash
        except ConfigurationInvalid as error:
            LOG.error("no answer is audited: %s", error.message)

    def totals(self) -> AuditTotals | None:
        """The counts and the state of the monitor; None if the record cannot be read."""
        if self._ledgers is None:
            return None
        spent = [row for row in self._spending.report(self._settings.currency) if row.tenant is None]
        return msgspec.structs.replace(self._ledgers.totals(), spent=spent)

    def take(self, audit: Audit) -> None:
        """Add an audit; `start_next` starts it."""
        ledger = None if self._ledgers is None else self._ledgers.of(audit.tier)
        if ledger is None:
            return
        if audit.second is not None:
            self._judge(audit, ParsedText(audit.second.text, audit.second.calls), ledger)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting.append((audit, ledger))
        else:
            self._skip(ledger)

    def start_next(self, access: CloudAccess, *, has_room: bool) -> None:
        """Start the oldest waiting audit if nothing is in its way; end the running one if it has no room."""
        if not has_room:
            if self._task is not None and not self._task.cancelling():
                self._task.cancel()
            return
        while self._waiting and self._task is None:
            audit, ledger = self._waiting.popleft()
            can_ask = access.refusal is None and self._breaker.admits(time.monotonic())
            if audit.step != ledger.state.step or not can_ask or self._spending.refusal(audit.tenant) is not None:
                self._skip(ledger)
                continue
            self._task = asyncio.create_task(self._ask(audit, access.key, ledger))
            # a callback, because a task that is cancelled before its first step handles no exception
            self._task.add_done_callback(functools.partial(self._ended, ledger))

    def take_labels(self, now: float) -> None:
        """Take the labels of people, if there are any; once a second."""
        files, ledgers = self._files, self._ledgers
        if files is None or ledgers is None or now - self._labels_read_at < LABELS_INTERVAL_S or not files.has_labels:
            return
        self._labels_read_at = now
        with self._writing(), files.taken_labels() as labels:
            ledgers.take(labels)
            files.write_state(ledgers.state)
            self._drop_judged(files, ledgers)

    async def aclose(self) -> None:
        """End the running audit, forget those that wait, and close every connection."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._cloud.aclose()

    def _ended(self, ledger: AuditLedger, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():
            self._skip(ledger)
        elif (error := task.exception()) is not None:
            LOG.error("an audit failed unexpectedly: %s", type(error).__name__)
        self._wake()

    async def _ask(self, audit: Audit, key: CloudKey | None, ledger: AuditLedger) -> None:
        texts: list[str] = []

        def take(piece: AnswerPiece) -> None:
            texts.append(piece.text)

        meter = Meter(self._spending, audit.tenant, audit.num_prompt_tokens)
        try:
            answer = await self._cloud.answer(
                audit.request, audit.params, key=key, job_ends_at=None, forward=take, meter=meter
            )
        except CloudFailure:
            self._skip(ledger, has_failed=True)
        else:
            if answer.finish_reason == "length":
                self._skip(ledger, has_failed=True)
            else:
                self._judge(audit, _parsed(audit, "".join(texts)), ledger, key)
        finally:
            meter.settle(self._prices)

    def _judge(self, audit: Audit, second: ParsedText, ledger: AuditLedger, key: CloudKey | None = None) -> None:
        verdict = verdict_of(ParsedText(audit.text, audit.calls), second)
        step, is_kept = ledger.state.step, False
        if audit.step != step:  # a label has moved the threshold meanwhile
            self._skip(ledger)
            return
        with self._writing():
            if verdict == "unjudged" and self._files is not None:
                is_kept = self._files.add_unjudged(self._unjudged(audit, second, ledger.next_id, key))
        ledger.add(verdict, audit.signal, is_kept=is_kept)
        self._keep()
        if ledger.state.step != step and self._files is not None and self._ledgers is not None:
            with self._writing():
                self._drop_judged(self._files, self._ledgers)

    def _unjudged(self, audit: Audit, second: ParsedText, number: int, key: CloudKey | None) -> UnjudgedAnswer:
        request = audit.request
        answer = UnjudgedAnswer(
            id=number,
            time=round(time.time(), 3),
            question=request.prompt if request.messages is None else request.messages,
            answer=audit.text,
            calls=audit.calls,
            cloud_answer=second.text,
            cloud_calls=second.calls,
            model=self._settings.model if audit.second is None else audit.second.model,
            threshold=audit.threshold,
            signal=audit.signal,
            group=audit.group,
            tier=audit.tier,
        )
        # a cloud may echo its key
        return answer if key is None else msgspec.convert(_redacted(msgspec.to_builtins(answer), key), UnjudgedAnswer)

    def _drop_judged(self, files: AuditFiles, ledgers: TierLedgers) -> None:
        """Keep the answers that still wait for a person."""
        files.keep_unjudged(answer for answer in files.unjudged() if ledgers.is_waiting(answer))

    def _skip(self, ledger: AuditLedger, *, has_failed: bool = False) -> None:
        ledger.skip(has_failed=has_failed)
        self._keep()

    def _keep(self) -> None:
        if self._files is not None and self._ledgers is not None:
            with self._writing():
                self._files.write_state(self._ledgers.state)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Log the first of several errors of the files; audits go on in memory."""
        try:
            yield
            self._is_written = True
        except ConfigurationInvalid as error:
            if self._is_written:
                LOG.error("the record of audits cannot be kept: %s", error.message)
            self._is_written = False


def _redacted(value: Any, key: CloudKey) -> Any:
    """The value with every occurrence of the key masked."""
    match value:
        case str():
            return key.redact(value)
        case list():
            return [_redacted(item, key) for item in value]
        case dict():
            return {name: _redacted(item, key) for name, item in value.items()}
    return value


def _parsed(audit: Audit, text: str) -> ParsedText:
    """The cloud's answer, read as the local one was."""
    if audit.tool_markup is None:
        return ParsedText(text)
    parsed = parse_calls(audit.tool_markup, text, audit.tools)
    return parsed.first_call() if audit.single_call else parsed
