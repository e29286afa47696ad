"""One line through the service: submitted, waited for, and made ready to be written."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec

from cactus_actors.api.field_names import errors_name_fields_as_given
from cactus_actors.batch.batch_journal import BatchRun
from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.prompt_lines import PromptLine, request_of_line
from cactus_actors.batch.result_lines import render_error, render_result
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import (
    AuthenticationFailed,
    CactusError,
    DeadlineExceeded,
    JobConflict,
    NotSupported,
    Overloaded,
    ServerFailure,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Result

BATCH_PRIORITY = 10  # behind those who wait at a screen, whose priority is 0
MAX_ATTEMPTS = 100  # each interrupted run of a line is one, and the router remembers them all
REPEAT_NOTICE_S = 10.0
MAX_RETRY_S = 30.0
_log = logging.getLogger(__name__)

SERVICE_FAILURES = (Overloaded, Unavailable, StorageFailure, AuthenticationFailed)  # no line's fault

JobIdOf = Callable[..., str]


class LineOutcome(NamedTuple):
    """A finished line as it is to be written, and the results behind it if there are any."""

    rendered: bytes
    results: list[Result]
    succeeded: bool


class LineRunner:
    """Answers the lines of one run, any number at once.

    A plain line is a user message, unless the run is raw or the model has no chat template: the refusal of
    the first one says so for all. That follows from the model alone, so a resumed run comes to the same.
    """

    def __init__(
        self, client: AsyncClient, request: BatchRequest, run: BatchRun, model: str | None, round_: int = 0
    ) -> None:
        """`round_` keeps apart the jobs of lines that failed and are run again."""
        self._client = client
        self._run = run
        self._round = round_
        self._system = request.system
        self._model = model
        self._account = request.account
        self._limits = request.limits
        self._plain_is_chat = not request.raw
        options = request.options
        if options.priority is None:
            options = msgspec.structs.replace(options, priority=BATCH_PRIORITY)
        self._options = options
        self._last_reply_at = time.monotonic()
        self._is_unavailable = False
        self._notice_at = float("-inf")
        self._fingerprint: str | None = None
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")

    async def answer(self, line: PromptLine) -> LineOutcome:
        """The outcome of `line`, failed or not; raises SERVICE_FAILURES, which are not its own."""
        try:
            outcome = await self._outcome(line, as_chat=line.is_plain and self._plain_is_chat)
        except NotSupported:
            self._plain_is_chat = False
            outcome = await self._outcome(line, as_chat=False)
        self._on_reply()
        return outcome

    async def _outcome(self, line: PromptLine, *, as_chat: bool) -> LineOutcome:
        """What became of `line`; raises NotSupported for one `as_chat` where the model has no template."""
        job_id_of = partial(self._job_id, line, as_chat=as_chat)
        try:
            request = request_of_line(line, job_id_of, self._options, self._model, as_chat=as_chat, system=self._system)
            with errors_name_fields_as_given(request.field_names):
                results = await self._results(request.submits, job_id_of)
            fingerprint = await self._system_fingerprint()
            rendered = render_result(line, request, results, self._run.created, fingerprint)
            return LineOutcome(rendered, results, succeeded=True)
        except SERVICE_FAILURES:
            raise
        except CactusError as error:
            if as_chat and isinstance(error, NotSupported) and error.param == "messages":
                raise
            results = [] if error.result is None else [error.result]
            return LineOutcome(render_error(line, job_id_of(0), error), results, succeeded=False)

    async def _system_fingerprint(self) -> str | None:
        """Of the service whose workers answer; None while it does not say."""
        async with self._asking:
            now = time.monotonic()
            if self._fingerprint is None and now - self._asked_at >= REPEAT_NOTICE_S:
                self._asked_at = now
                try:
                    status = await self._client.status()
                except CactusError:
                    return None
                if status.workers:
                    self._fingerprint = status.system_fingerprint
        return self._fingerprint

    async def _results(self, submits: list[Submit], job_id_of: JobIdOf) -> list[Result]:
        """Of all choices of a line; the first failure is the line's, and the others are cancelled."""
        if len(submits) == 1:
            return [await self._result(submits[0], job_id_of, 0)]
        try:
            async with asyncio.TaskGroup() as tasks:
                choices = [
                    tasks.create_task(self._result(submit, job_id_of, choice)) for choice, submit in enumerate(submits)
                ]
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        return [choice.result() for choice in choices]

    async def _result(self, submit: Submit, job_id_of: JobIdOf, choice: int) -> Result:
        """Of one choice, whose seed, and so its tokens, are the same at every attempt.

        Raises DeadlineExceeded where the service has no room for it within its own timeout.
        """
        attempt, first_tried_at = 0, time.monotonic()
        while attempt < MAX_ATTEMPTS:
            job_id = job_id_of(choice, attempt + MAX_ATTEMPTS * self._round)
            submit = msgspec.structs.replace(submit, job_id=job_id, account=self._account)
            try:
                result = await self._client.run(submit)
            except JobConflict:  # an earlier run asked at another priority
                attempt += 1
            except Overloaded as error:
                self._on_reply()
                _check_time(submit, first_tried_at, error)
                await self._pause(error)
            except (Unavailable, StorageFailure) as error:
                # One that cannot be asked may have the result.
                if error.result is not None or isinstance(error, StorageFailure):
                    _check_time(submit, first_tried_at, error)
                if time.monotonic() - self._last_reply_at > self._limits.service_lost_s:
                    raise
                self._on_unavailable(error)
                attempt += error.result is not None  # a job that was ended so stays so
                await self._pause(error)
            else:
                # An interrupted run has cancelled what it had in flight, and the router remembers.
                if result.finish_reason != "cancelled":
                    return result
                attempt += 1
        raise ServerFailure("the job was cancelled again and again")

    async def _pause(self, error: CactusError) -> None:
        wait_s = min(error.retry_after or self._limits.retry_s, MAX_RETRY_S)
        await asyncio.sleep(wait_s * random.uniform(1.0, 1.5))  # noqa: S311  (spreads retries)

    def _on_reply(self) -> None:
        self._last_reply_at = time.monotonic()
        self._is_unavailable = False

    def _on_unavailable(self, error: CactusError) -> None:
        """Say once what is waited for, and how long; a service that drains still answers in between."""
        now = time.monotonic()
        if not self._is_unavailable and now - self._notice_at >= REPEAT_NOTICE_S:
            _log.warning("%s; waiting up to %.0f s for the service", error, self._limits.service_lost_s)
            self._notice_at = now
        self._is_unavailable = True

    def _job_id(self, line: PromptLine, choice: int, attempt: int = 0, *, as_chat: bool) -> str:
        """The same in every process of this run, so that a resumed run finds its jobs in the router."""
        form = "chat" if as_chat else "as written"
        name = f"{self._run.run_id}/{self._run.input_sha256}/{line.number}/{form}/{attempt}/{choice}"
        return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()


def _check_time(submit: Submit, first_tried_at: float, error: CactusError) -> None:
    """Raise DeadlineExceeded for a job that was refused, by `error`, after its own timeout."""
    timeout_ms = submit.options.timeout_ms
    if timeout_ms is not None and time.monotonic() - first_tried_at >= timeout_ms / 1000:
        message = f"the service had no room for this line within {timeout_ms} ms: {error.message}"
        raise DeadlineExceeded(message, param="timeout_ms") from error
