"""Runs single lines: submits their jobs, waits for the results and renders them."""

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
from cactus_actors.api.openai.body_request import BodyRequest
from cactus_actors.batch.batch_journal import BatchRun
from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.left_lines import left_to_second_pass, may_be_left, without_cloud
from cactus_actors.batch.prompt_lines import PromptLine, request_of_line
from cactus_actors.batch.result_lines import render_error, render_result
from cactus_actors.client import AsyncClient
from cactus_actors.client.submit import encoded
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

BATCH_PRIORITY = 10  # after interactive jobs, whose priority is 0
MAX_ATTEMPTS = 100  # each interrupted run of a line counts, and the router remembers all of them
REPEAT_NOTICE_S = 10.0
MAX_RETRY_S = 30.0
_log = logging.getLogger(__name__)

SERVICE_FAILURES = (Overloaded, Unavailable, StorageFailure, AuthenticationFailed)  # not caused by a line

JobIdOf = Callable[..., str]


class LineOutcome(NamedTuple):
    """A finished line, ready to be written, and its results, if any."""

    rendered: bytes
    results: list[Result]
    succeeded: bool


class LineRunner:
    """Runs the lines of one run, any number concurrently.

    A plain line is a user message, unless the run is raw or the model has no chat template: the refusal of the first
    line decides for all. That depends on the model alone, so a resumed run decides the same.
    """

    def __init__(
        self, client: AsyncClient, request: BatchRequest, run: BatchRun, model: str | None, round_: int = 0
    ) -> None:
        """`model` is the only one that lines may name, None for any; `round_` separates jobs that are run again."""
        self._client = client
        self._run = run
        self._round = round_
        self._system = request.system
        self._pictures = request.pictures
        self._model = model
        self._account = request.account
        self._limits = request.limits
        self._plain_is_chat = not request.raw
        self._leaves_handoffs = request.second_pass
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
        """The outcome of `line`, failed or not; raises SERVICE_FAILURES, which are not caused by the line."""
        try:
            outcome = await self._outcome(line, as_chat=line.is_plain and self._plain_is_chat)
        except NotSupported:
            self._plain_is_chat = False
            outcome = await self._outcome(line, as_chat=False)
        self._on_reply()
        return outcome

    async def _outcome(self, line: PromptLine, *, as_chat: bool) -> LineOutcome:
        """The outcome of `line`; raises NotSupported for one `as_chat` if the model has no template."""
        job_id_of = partial(self._job_id, line, as_chat=as_chat)
        try:
            request = request_of_line(
                line,
                job_id_of,
                self._options,
                self._model,
                as_chat=as_chat,
                system=self._system,
                pictures=self._pictures,
            )
            with errors_name_fields_as_given(request.field_names):
                results = await self._results(request, job_id_of)
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
        """The system_fingerprint of the service; None while it is unknown."""
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

    async def _results(self, request: BodyRequest, job_id_of: JobIdOf) -> list[Result]:
        """The results of all choices of a line; the first failure fails the line and cancels the others."""
        submits, frames = request.submits, request.frames
        if len(submits) == 1:
            if self._leaves_handoffs and may_be_left(submits[0].options):
                result = await self._result(without_cloud(submits[0]), frames, job_id_of, 0)
                return [left_to_second_pass(result)]
            return [await self._result(submits[0], frames, job_id_of, 0)]
        try:
            async with asyncio.TaskGroup() as tasks:
                choices = [
                    tasks.create_task(self._result(submit, frames, job_id_of, choice))
                    for choice, submit in enumerate(submits)
                ]
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        return [choice.result() for choice in choices]

    async def _result(self, submit: Submit, frames: list[bytes], job_id_of: JobIdOf, choice: int) -> Result:
        """The result of one choice. Its seed, and so its tokens, are the same at every attempt.

        Raises DeadlineExceeded if the service has no room for it within the job's timeout.
        """
        attempt, first_tried_at = 0, time.monotonic()
        while attempt < MAX_ATTEMPTS:
            job_id = job_id_of(choice, attempt + MAX_ATTEMPTS * self._round)
            submit = msgspec.structs.replace(submit, job_id=job_id, account=self._account)
            try:
                result = await self._client.run(encoded(submit, frames))
            except JobConflict:  # an earlier run used another priority
                attempt += 1
            except Overloaded as error:
                self._on_reply()
                _check_time(submit, first_tried_at, error)
                await self._pause(error)
            except (Unavailable, StorageFailure) as error:
                # An unreachable service may have the result.
                if error.result is not None or isinstance(error, StorageFailure):
                    _check_time(submit, first_tried_at, error)
                if time.monotonic() - self._last_reply_at > self._limits.service_lost_s:
                    raise
                self._on_unavailable(error)
                attempt += error.result is not None  # an ended job stays ended
                await self._pause(error)
            else:
                # An interrupted run cancelled its jobs in flight, and the router remembers.
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
        """Log once that the service is unreachable; a draining service still answers in between."""
        now = time.monotonic()
        if not self._is_unavailable and now - self._notice_at >= REPEAT_NOTICE_S:
            _log.warning("%s; waiting up to %.0f s for the service", error, self._limits.service_lost_s)
            self._notice_at = now
        self._is_unavailable = True

    def _job_id(self, line: PromptLine, choice: int, attempt: int = 0, *, as_chat: bool) -> str:
        """The job id, equal in every process of this run, so that a resumed run finds its jobs in the router."""
        form = "chat" if as_chat else "as written"
        name = f"{self._run.run_id}/{self._run.input_sha256}/{line.number}/{form}/{attempt}/{choice}"
        return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()


def _check_time(submit: Submit, first_tried_at: float, error: CactusError) -> None:
    """Raise DeadlineExceeded for a job that was refused with `error` beyond its own timeout."""
    timeout_ms = submit.options.timeout_ms
    if timeout_ms is not None and time.monotonic() - first_tried_at >= timeout_ms / 1000:
        message = f"the service had no room for this line within {timeout_ms} ms: {error.message}"
        raise DeadlineExceeded(message, param="timeout_ms") from error
