"""A prompt file run to its end: bounded in flight, written as it finishes, resumable at any point."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator

import msgspec

from cactus_actors.batch.answering import LineAnswerer
from cactus_actors.batch.failures import InputChanged, OutputRefused
from cactus_actors.batch.finished import finished_before
from cactus_actors.batch.journal import Journal, Run
from cactus_actors.batch.lines import PromptLine, decode_line
from cactus_actors.batch.output import BatchOutput, discard_partial, publish
from cactus_actors.batch.reader import Format, PromptFile
from cactus_actors.batch.request import BatchProgress, BatchRequest, Observer
from cactus_actors.batch.scan import scan
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.params import resolve_options
from cactus_actors.protocol.results import Result


async def run_batch(
    request: BatchRequest,
    client: AsyncClient,
    observe: Observer | None = None,
) -> BatchProgress:
    """Run every line of the source that is not done yet; the final files are there when this returns.

    `observe` is called at the start and after each line, with its result if it has one. Raises InvalidRequest
    for options out of range, InputInvalid, InputChanged, OutputRefused, OutputLocked before anything runs;
    OutputFailed or Unavailable in the middle, after which the run can be resumed.
    """
    resolve_options(request.options)
    paths = request.paths
    with PromptFile(request.source) as file:
        paths.check()
        form = request.form or file.format()
        scanned = scan(file, form)
    wanted = Run(
        run_id=secrets.token_hex(8),
        created=int(time.time()),
        input_sha256=scanned.sha256,
        num_lines=scanned.num_lines,
        parameters={"form": form, "raw": request.raw, "options": msgspec.to_builtins(request.options)},
    )
    journal = Journal(paths.journal)
    try:
        begun, is_complete = _read(journal, request)
        if is_complete:
            publish(paths)
        is_unfinished = begun is not None and not is_complete
        if paths.output.exists() and not is_unfinished and not request.overwrite:
            return finished_before(request, form, wanted, begun)
        if begun is None or is_complete or request.overwrite:
            await client.status()  # nothing is written for a service that is not there
            discard_partial(paths)
            journal.begin(wanted)
            begun = wanted
        elif not request.resume:
            raise OutputRefused(
                f"{paths.journal}: an unfinished run is there; continue it with --resume, "
                "or start again with --overwrite"
            )
        else:
            begun.check_same(wanted, request.source)
        output = BatchOutput(paths)
        try:
            answerer = LineAnswerer(client, request, begun, scanned.model)
            progress = await _Runner(request, form, begun, answerer, output, observe).run()
            output.sync()
        finally:
            output.close()
        journal.mark_complete()
        publish(paths)
        return progress
    finally:
        journal.close()


def _read(journal: Journal, request: BatchRequest) -> tuple[Run | None, bool]:
    try:
        return journal.read()
    except OutputRefused:
        if not request.overwrite:
            raise
        return None, False


class _Runner:
    def __init__(
        self,
        request: BatchRequest,
        form: Format,
        run: Run,
        answerer: LineAnswerer,
        output: BatchOutput,
        observe: Observer | None,
    ) -> None:
        self._request = request
        self._form = form
        self._run = run
        self._answerer = answerer
        self._output = output
        self._observe = observe
        self._progress = BatchProgress(
            num_lines=run.num_lines,
            num_succeeded=output.num_succeeded,
            num_failed=output.num_failed,
            num_resumed=output.num_succeeded + output.num_failed,
            completion_tokens=0,
            started=time.monotonic(),
        )

    async def run(self) -> BatchProgress:
        self._tell(None, None)
        with PromptFile(self._request.source) as file:
            lines = self._open_lines(file)
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(self._request.max_in_flight):
                        tasks.create_task(self._work(lines))
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None
            if file.digest != self._run.input_sha256:
                raise InputChanged(f"{file.path}: input_changed: it was modified while it was run")
        return self._progress

    def _open_lines(self, file: PromptFile) -> Iterator[PromptLine]:
        for raw in file.lines():
            line = decode_line(raw, self._form)
            if not self._output.has(line.custom_id):
                yield line

    async def _work(self, lines: Iterator[PromptLine]) -> None:
        for line in lines:
            await self._run_line(line)

    async def _run_line(self, line: PromptLine) -> None:
        outcome = await self._answerer.answer(line)
        self._output.add(line.custom_id, outcome.rendered, succeeded=outcome.succeeded)
        self._progress.num_succeeded += outcome.succeeded
        self._progress.num_failed += not outcome.succeeded
        for result in outcome.results:
            self._progress.completion_tokens += result.usage.completion_tokens
        self._tell(line, outcome.results[0] if outcome.results else None)

    def _tell(self, line: PromptLine | None, result: Result | None) -> None:
        if self._observe is not None:
            self._observe(self._progress, line, result)
