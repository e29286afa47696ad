"""Makes the cloud's questions of lines: the service prepares them as it prepares a handoff."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from cactus_actors.api.openai import BodyRequest
from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.left_lines import LeftLine
from cactus_actors.batch.patience import Patience
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.prompt_lines import PromptLine
from cactus_actors.batch.second_pass.left_jobs import first_job, wanted_lines
from cactus_actors.client import AsyncClient
from cactus_actors.client.submit import EncodedSubmit, encoded, new_job_id
from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.errors import CactusError, Overloaded, StorageFailure, Unavailable
from cactus_actors.protocol.results import Result


class LineQuestion(NamedTuple):
    """The question of a line, or the `refusal` that says why the cloud is not asked; and about how long it is."""

    custom_id: str
    question: CloudQuestion | None = None
    refusal: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class QuestionSource:
    """Reads the input again; no line leaves the machine but by a decision of the service."""

    def __init__(self, client: AsyncClient, request: BatchRequest, form: Format, patience: Patience) -> None:
        self._client = client
        self._request = request
        self._form = form
        self._patience = patience

    async def questions(self, lines: Mapping[str, LeftLine]) -> AsyncIterator[LineQuestion]:
        """The questions of these lines, in the order of the input."""
        with self._request.open_source() as file:
            wanted = wanted_lines(file, self._form, lines)
            while some := await asyncio.to_thread(lambda: list(islice(wanted, self._request.max_in_flight))):
                for question in await asyncio.gather(*(self._question(line, left) for line, left in some)):
                    yield question

    async def _question(self, line: PromptLine, left: LeftLine) -> LineQuestion:
        try:
            request = first_job(self._request, line, left)
            if request.local_reason is not None:
                return LineQuestion(line.custom_id, refusal=request.local_reason)
            submit = self._submit(request)
            result = await self._patience.result(lambda: self._client.run(submit))
        except (Overloaded, Unavailable, StorageFailure):
            raise
        except CactusError as error:
            return LineQuestion(line.custom_id, refusal=error.message)
        return self._of_result(line, left, result)

    def _submit(self, request: BodyRequest) -> EncodedSubmit:
        """The job of the first pass, with its seed, as a request for its question alone."""
        submit = msgspec.structs.replace(
            request.submits[0], job_id=new_job_id(), task="cloud_question", account=self._request.account
        )
        return encoded(submit, request.frames)

    def _of_result(self, line: PromptLine, left: LeftLine, result: Result) -> LineQuestion:
        if result.cloud_question is UNSET:
            return LineQuestion(line.custom_id, refusal=result.handoff.reason or "the cloud may not be asked")
        return LineQuestion(
            line.custom_id,
            result.cloud_question,
            prompt_tokens=result.usage.prompt_tokens,
            completion_tokens=left.completion_tokens,
        )
