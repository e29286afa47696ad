"""Runs a prompt file: limited concurrency, results written as they finish, resumable at any point."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cactus_actors.batch.batch_errors import OutputRefused
from cactus_actors.batch.batch_journal import BatchJournal, BatchRun
from cactus_actors.batch.batch_output import BatchOutput, discard_failed, discard_partial, publish, reopen_failed
from cactus_actors.batch.batch_request import BatchProgress, BatchRequest, Observer, check_for_all
from cactus_actors.batch.finished_output import finished_before
from cactus_actors.batch.input_scan import InputScan, PendingLines, check_unchanged, scan
from cactus_actors.batch.line_client import LineClient
from cactus_actors.batch.line_runner import LineRunner
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.prompt_lines import PromptLine
from cactus_actors.batch.second_model import second_model
from cactus_actors.protocol.results import Result

SYNC_EVERY_S = 1.0


async def run_batch(
    request: BatchRequest,
    client: LineClient,
    observe: Observer | None = None,
    slot: AbstractAsyncContextManager[None] | None = None,
) -> BatchProgress:
    """Run every line of the source that is not done yet; the final files exist when this returns, also without a line.

    `observe` is called at the start and after each line, with its result, if any. Every line is run within `slot`,
    which limits the lines in flight of several runs. Before anything runs it raises InvalidRequest for options out of
    range, InputInvalid, InputChanged, OutputRefused and OutputLocked; during the run InputChanged, OutputFailed or one
    of SERVICE_FAILURES. After these, and after a cancellation, which cancels the jobs in flight, the run can be
    resumed.
    """
    check_for_all(request.options, request.system)
    paths = request.paths
    with request.open_source() as file:
        paths.check()
        form = request.form or file.format()
        scanned = await scan(file, form)
    wanted = BatchRun(
        run_id=request.run_id or secrets.token_hex(8),
        created=int(time.time()),
        input_sha256=scanned.sha256,
        num_lines=scanned.num_lines,
        parameters=request.parameters(form),
    )
    journal = BatchJournal(paths.journal)
    try:
        begun, is_complete = _read(journal, request)
        if is_complete:
            publish(paths)
        is_unfinished = begun is not None and not is_complete
        retries = request.retry_failed and not request.overwrite
        if retries:
            if begun is None:
                raise OutputRefused(f"{paths.journal}: there is no run to retry")
            begun = begun.retried_as(wanted) if is_complete else begun
        if retries and is_complete and paths.errors.exists():
            is_unfinished = True
        if paths.output.exists() and not is_unfinished and not request.overwrite:
            return await asyncio.to_thread(finished_before, request, form, wanted, begun)
        if begun is None and not request.overwrite:
            paths.check_journal_exists()
        if is_unfinished and not (request.overwrite or request.resume or retries):
            raise OutputRefused(
                f"{paths.journal}: an unfinished run is there; continue it with --resume, "
                "or start again with --overwrite"
            )
        status = await client.status()  # before anything is written
        if request.second_pass_model is not None:
            second_model(request.second_pass_model, status)
        if request.one_model:
            wanted = msgspec.structs.replace(wanted, model=status.model_names)
        if begun is None or not is_unfinished or request.overwrite:
            discard_partial(paths)
            journal.begin(wanted)
            begun = wanted
        else:
            begun.check_same(wanted, paths)
            if retries:
                reopen_failed(paths)
                journal.begin_again(begun)
                discard_failed(paths)
        output = await _opened_output(paths)
        try:
            line_runner = LineRunner(client, request, begun, None if status.models else scanned.model, journal.round)
            progress = await _Runner(request, form, scanned, line_runner, output, observe, slot or nullcontext()).run()
            await asyncio.to_thread(output.sync)
        finally:
            output.close()
        journal.mark_complete()
        publish(paths)
        return progress
    finally:
        journal.close()


def _read(journal: BatchJournal, request: BatchRequest) -> tuple[BatchRun | None, bool]:
    try:
        return journal.read()
    except OutputRefused:
        if not request.overwrite:
            raise
        return None, False


async def _opened_output(paths: BatchPaths) -> BatchOutput:
    """Open the output in a thread, since it may have to read a lot; it is closed if the task is cancelled."""
    opening = asyncio.create_task(asyncio.to_thread(BatchOutput, paths))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_unwanted)
        raise


def _close_unwanted(opening: asyncio.Task[BatchOutput]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


@dataclass
class _Runner:
    request: BatchRequest
    form: Format
    scanned: InputScan
    line_runner: LineRunner
    output: BatchOutput
    observe: Observer | None
    slot: AbstractAsyncContextManager[None]

    def __post_init__(self) -> None:
        num_resumed = self.output.num_succeeded + self.output.num_failed
        self._progress = BatchProgress(
            num_lines=self.scanned.num_lines,
            num_succeeded=self.output.num_succeeded,
            num_failed=self.output.num_failed,
            num_resumed=num_resumed,
            completion_tokens=0,
            started=time.monotonic(),
        )

    async def run(self) -> BatchProgress:
        self._notify_observer(None, None)
        with self.request.open_source() as file:
            lines = PendingLines(file, self.form, self.scanned, self.output.has, self.request.limits.max_ahead_bytes)
            try:
                async with asyncio.TaskGroup() as tasks:
                    syncing = tasks.create_task(self._keep_synced())
                    async with asyncio.TaskGroup() as workers:
                        for _ in range(self.request.max_in_flight):
                            workers.create_task(self._work(lines))
                    syncing.cancel()
            except BaseExceptionGroup as group:
                raise first_error(group) from None
        if isinstance(self.request.source, Path):
            await asyncio.to_thread(check_unchanged, self.request.source, self.scanned)
        return self._progress

    async def _keep_synced(self) -> None:
        while True:
            await asyncio.sleep(SYNC_EVERY_S)
            await asyncio.to_thread(self.output.sync)

    async def _work(self, lines: PendingLines) -> None:
        while True:
            async with self.slot:
                line = await lines.next()
                if line is None:
                    return
                await self._run_line(line)

    async def _run_line(self, line: PromptLine) -> None:
        outcome = await self.line_runner.answer(line)
        self.output.add(line.custom_id, outcome.rendered, succeeded=outcome.succeeded)
        self._progress.num_succeeded += outcome.succeeded
        self._progress.num_failed += not outcome.succeeded
        self._progress.num_handed_off += any(result.cloud_handoff for result in outcome.results)
        for result in outcome.results:
            self._progress.completion_tokens += result.usage.completion_tokens
        self._notify_observer(line, outcome.results[0] if outcome.results else None)

    def _notify_observer(self, line: PromptLine | None, result: Result | None) -> None:
        if self.observe is not None:
            self.observe(self._progress, line, result)


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in a group, which may have groups in it."""
    first = group.exceptions[0]
    return first_error(first) if isinstance(first, BaseExceptionGroup) else first
