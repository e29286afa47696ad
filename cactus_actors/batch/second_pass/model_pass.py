"""A second pass by a model of the service: it answers in ordinary jobs what another one was unsure of."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.batch_runner import first_error
from cactus_actors.batch.left_lines import LeftLine, left_to_second_pass, may_be_left, without_cloud
from cactus_actors.batch.line_jobs import SERVICE_FAILURES, LineJobs
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.prompt_lines import PromptLine
from cactus_actors.batch.second_model import SecondModel
from cactus_actors.batch.second_pass.left_jobs import first_job, wanted_lines
from cactus_actors.batch.second_pass.model_answers import REASON, body_of_model
from cactus_actors.batch.second_pass.pass_outcomes import PassOutcome
from cactus_actors.batch.second_pass.pass_record import PassObserver, PassRecord, SecondPassProgress
from cactus_actors.batch.system_fingerprints import SystemFingerprints
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError, ModelNotFound


class ModelPass:
    """Runs the lines as the first pass did, with another model, and never asks the cloud.

    A job has the same id whenever it is asked for, so that an interrupted pass finds its answers in the router.
    """

    def __init__(
        self,
        request: BatchRequest,
        client: AsyncClient,
        second: SecondModel,
        form: Format,
        record: PassRecord,
        observe: PassObserver | None,
    ) -> None:
        self._request = request
        self._second = second
        self._form: Format = form
        self._record = record
        self._observe = observe
        self._fingerprints = SystemFingerprints(client)
        self._jobs = LineJobs(client, request.limits, request.account)
        self._reading = asyncio.Lock()
        self._progress = SecondPassProgress()

    async def run(self, lines: Mapping[str, LeftLine]) -> None:
        """Ask until every line that the model has not answered yet has an outcome; raises SERVICE_FAILURES."""
        lines = {name: left for name, left in lines.items() if not self._second.has_answered(left.model)}
        waiting = self._record.without_outcome(lines)
        self._progress.num_lines = self._record.num_done + len(waiting)
        self._show()
        with self._request.open_source() as file:
            wanted = wanted_lines(file, self._form, waiting)
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(min(self._request.max_in_flight, len(waiting))):
                        tasks.create_task(self._work(wanted))
            except BaseExceptionGroup as group:
                raise first_error(group) from None

    async def _work(self, wanted: Iterator[tuple[PromptLine, LeftLine]]) -> None:
        while True:
            async with self._reading:
                one = await asyncio.to_thread(next, wanted, None)
            if one is None:
                return
            self._record.add(await self._outcome(*one))
            self._show()

    async def _outcome(self, line: PromptLine, left: LeftLine) -> PassOutcome:
        try:
            request = first_job(self._request, line, left)
            [submit] = request.submits
            if refusal := self._second.refusal(submit):
                return PassOutcome(custom_id=line.custom_id, status="suppressed", reason=refusal)
            may_be_left_again = may_be_left(submit.options)
            submit = without_cloud(msgspec.structs.replace(submit, model=self._second.name))
            result = await self._jobs.result(submit, request.frames, lambda _, attempt: self._job_id(left, attempt), 0)
        except (*SERVICE_FAILURES, ModelNotFound):
            raise
        except CactusError as error:
            reason = f"{self._second.name}: {error.message}"
            return PassOutcome(custom_id=line.custom_id, status="failed", reason=reason)
        if may_be_left_again:
            result = left_to_second_pass(result)
        fingerprint = await self._fingerprints.of(self._second.name)
        body = body_of_model(request, result, self._second.name, fingerprint)
        return PassOutcome(custom_id=line.custom_id, status="completed", reason=REASON, body=body)

    def _job_id(self, left: LeftLine, attempt: int) -> str:
        name = f"{left.job_id}/second pass/{self._second.name}/{attempt}"
        return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()

    def _show(self) -> None:
        self._progress.num_done = self._record.num_done
        if self._observe is not None:
            self._observe(self._progress)
