"""Shows lines as they would be sent, and asks a sample of them to estimate a run; nothing is written."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import secrets
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from cactus_actors.api.option_rules import with_seed
from cactus_actors.batch.batch_journal import BatchRun
from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.batch_runner import first_error
from cactus_actors.batch.input_scan import InputScan, scan
from cactus_actors.batch.line_runner import LineOutcome, LineRunner
from cactus_actors.batch.prompt_lines import PromptLine, decode_line, request_of_line
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options

NUM_SHOWN = 3
NUM_SAMPLED = 32
_NUM_AHEAD = 1000  # a table gives lines of at most so many rows in the order of their prompts
_SHOWN = ("prompt", "messages", "tools", "model", "images", "options")
_JOB_ID = "0" * 32


class RunEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """A run in proportion to `num_sampled` of its `num_lines`; `cost` is None if the cloud's answers have none."""

    num_lines: int
    num_sampled: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    num_failed: int
    num_handed_off: int
    cost: float | None = None
    currency: str | None = None


def lines_as_sent(request: BatchRequest, num_lines: int = NUM_SHOWN) -> list[dict[str, Any]]:
    """The first lines by their numbers: their jobs without ids and computed seeds, or their errors."""
    with request.open_source() as source:
        form = request.form or source.format()
        first = heapq.nsmallest(num_lines, itertools.islice(source.lines(), _NUM_AHEAD), key=lambda raw: raw.number)
        lines = [decode_line(raw, form) for raw in first]
    return [_as_sent(line, request) for line in lines]


def _as_sent(line: PromptLine, request: BatchRequest) -> dict[str, Any]:
    try:
        job = request_of_line(
            line,
            lambda *_: _JOB_ID,
            request.options,
            None,
            as_chat=line.is_plain and not request.raw,
            system=request.system,
            model=request.model,
            pictures=request.pictures,
        )
    except InvalidRequest as error:
        return {"line": line.number, "error": error.message}
    return {"line": line.number, **_without_identity(job.submits[0])}


def _without_identity(submit: Submit) -> dict[str, Any]:
    options = submit.options
    if options.seed == with_seed(Options(), _JOB_ID).seed:
        options = msgspec.structs.replace(options, seed=None)
    fields: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(submit, options=options))
    return {name: value for name, value in fields.items() if name in _SHOWN}


async def estimate(request: BatchRequest, client: AsyncClient, num_sampled: int = NUM_SAMPLED) -> RunEstimate:
    """Ask lines from all parts of the source, at most `max_in_flight` at once, and compute what all would take.

    Raises what ends a run.
    """
    with request.open_source() as source:
        form = request.form or source.format()
        scanned = await scan(source, form)
    lines = await asyncio.to_thread(lambda: [*_sample(request, scanned, num_sampled)])
    status = await client.status()
    run = BatchRun(
        run_id=secrets.token_hex(8),
        created=int(time.time()),
        input_sha256=scanned.sha256,
        num_lines=scanned.num_lines,
        parameters={},
    )
    runner = LineRunner(client, request, run, None if status.models else scanned.model)
    free = asyncio.Semaphore(request.max_in_flight)

    async def answer(line: PromptLine) -> LineOutcome:
        async with free:
            return await runner.answer(line)

    began = time.monotonic()
    try:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(answer(line)) for line in lines]
    except BaseExceptionGroup as group:
        raise first_error(group) from None
    return _scaled([task.result() for task in asked], scanned.num_lines, time.monotonic() - began)


def _sample(request: BatchRequest, scanned: InputScan, num_sampled: int) -> Iterator[PromptLine]:
    """Lines at equal distances."""
    distance = max(1, scanned.num_lines // num_sampled)
    with request.open_source() as source:
        form = request.form or source.format()
        for raw in itertools.islice(source.lines(), 0, distance * num_sampled, distance):
            yield decode_line(raw, form)


def _scaled(outcomes: list[LineOutcome], num_lines: int, seconds: float) -> RunEstimate:
    results = [result for outcome in outcomes for result in outcome.results]
    costs = [result.handoff.cost for result in results if result.handoff.cost is not msgspec.UNSET]
    currencies = {result.handoff.currency for result in results} - {msgspec.UNSET}
    factor = num_lines / max(1, len(outcomes))
    return RunEstimate(
        num_lines=num_lines,
        num_sampled=len(outcomes),
        prompt_tokens=round(factor * sum(result.usage.prompt_tokens for result in results)),
        completion_tokens=round(factor * sum(result.usage.completion_tokens for result in results)),
        seconds=factor * seconds,
        num_failed=round(factor * sum(not outcome.succeeded for outcome in outcomes)),
        num_handed_off=round(factor * sum(result.handoff.status != "none" for result in results)),
        cost=factor * sum(costs) if costs else None,
        currency=str(currencies.pop()) if currencies else None,
    )
