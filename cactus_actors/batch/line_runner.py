"""Runs single lines: submits their jobs, waits for the results and renders them."""

from __future__ import annotations

import asyncio
import hashlib
from functools import partial
from typing import NamedTuple

from cactus_actors.api.field_names import errors_name_fields_as_given
from cactus_actors.api.openai.body_request import BodyRequest
from cactus_actors.batch.batch_journal import BatchRun
from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.left_lines import left_to_second_pass, may_be_left, without_cloud
from cactus_actors.batch.line_client import LineClient
from cactus_actors.batch.line_jobs import SERVICE_FAILURES, JobIdOf, LineJobs, in_background
from cactus_actors.batch.prompt_lines import PromptLine, request_of_line
from cactus_actors.batch.result_lines import render_error, render_misfit, render_result
from cactus_actors.batch.system_fingerprints import SystemFingerprints
from cactus_actors.protocol.errors import CactusError, NotSupported
from cactus_actors.protocol.results import Result


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
        self, client: LineClient, request: BatchRequest, run: BatchRun, model: str | None, round_: int = 0
    ) -> None:
        """`model` is the only one that lines may name, None for any; `round_` separates jobs that are run again."""
        self._client = client
        self._run = run
        self._system = request.system
        self._default_model = request.model
        self._pictures = request.pictures
        self._model = model
        self._jobs = LineJobs(client, request.limits, request.account, round_)
        self._plain_is_chat = not request.raw
        self._leaves_handoffs = request.second_pass
        self._misfit = request.misfit
        self._options = in_background(request.options)
        self._fingerprints = SystemFingerprints(client)

    async def answer(self, line: PromptLine) -> LineOutcome:
        """The outcome of `line`, failed or not; raises SERVICE_FAILURES, which are not caused by the line."""
        try:
            return await self._outcome(line, as_chat=line.is_plain and self._plain_is_chat)
        except NotSupported:
            self._plain_is_chat = False
            return await self._outcome(line, as_chat=False)

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
                model=self._default_model,
                pictures=self._pictures,
            )
            with errors_name_fields_as_given(request.field_names):
                leaves_handoffs = self._leaves_handoffs and line.has_second_pass
                results = await self._results(request, job_id_of, leaves_handoffs=leaves_handoffs)
            if self._misfit is not None and (why := self._misfit(results[0].text, results[0].finish_reason)):
                rendered = render_misfit(line, request, results, self._run.created, why)
                return LineOutcome(rendered, results, succeeded=False)
            fingerprint = await self._fingerprints.of(results[0].model)
            rendered = render_result(line, request, results, self._run.created, fingerprint)
            return LineOutcome(rendered, results, succeeded=True)
        except SERVICE_FAILURES:
            raise
        except CactusError as error:
            if as_chat and isinstance(error, NotSupported) and error.param == "messages":
                raise
            results = [] if error.result is None else [error.result]
            return LineOutcome(render_error(line, job_id_of(0), error), results, succeeded=False)

    async def _results(self, request: BodyRequest, job_id_of: JobIdOf, *, leaves_handoffs: bool) -> list[Result]:
        """The results of all choices of a line; the first failure fails the line and cancels the others."""
        submits, frames = request.submits, request.frames
        if len(submits) == 1:
            if leaves_handoffs and may_be_left(submits[0].options):
                result = await self._jobs.result(without_cloud(submits[0]), frames, job_id_of, 0)
                return [left_to_second_pass(result)]
            return [await self._jobs.result(submits[0], frames, job_id_of, 0)]
        try:
            async with asyncio.TaskGroup() as tasks:
                choices = [
                    tasks.create_task(self._jobs.result(submit, frames, job_id_of, choice))
                    for choice, submit in enumerate(submits)
                ]
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        return [choice.result() for choice in choices]

    def _job_id(self, line: PromptLine, choice: int, attempt: int = 0, *, as_chat: bool) -> str:
        """The job id, equal in every process of this run, so that a resumed run finds its jobs in the router."""
        form = "chat" if as_chat else "as written"
        name = f"{self._run.run_id}/{self._run.input_sha256}/{line.number}/{form}/{attempt}/{choice}"
        return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
