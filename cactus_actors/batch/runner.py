"""A prompt file run to its end: bounded in flight, written as it finishes, resumable at any point."""

from __future__ import annotations

import asyncio
import hashlib
import random
import secrets
import time
from collections.abc import Iterator

import msgspec

from cactus_actors.batch.failures import InputChanged, OutputRefused
from cactus_actors.batch.journal import Journal, Run
from cactus_actors.batch.lines import PromptLine, decode_line, submit_of_line
from cactus_actors.batch.output import BatchOutput, discard_partial, publish
from cactus_actors.batch.reader import Format, PromptFile
from cactus_actors.batch.rendering import render_error, render_result
from cactus_actors.batch.request import BatchProgress, BatchRequest, Observer
from cactus_actors.batch.result_file import read_keys
from cactus_actors.batch.scan import id_key, scan
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError, Overloaded, ServerFailure, Unavailable
from cactus_actors.protocol.messages import Result, Submit

BATCH_PRIORITY = 10  # behind those who wait at a screen, whose priority is 0
MAX_CANCELLATIONS = 100  # each interrupted run of a line is one, and the router remembers them all
STALLED_S = 120.0
MAX_RETRY_S = 30.0


async def run_batch(
    request: BatchRequest,
    client: AsyncClient,
    observe: Observer | None = None,
) -> BatchProgress:
    """Run every line of the source that is not done yet; the final files are there when this returns.

    `observe` is called at the start and after each line, with its result if it has one. Raises InputInvalid,
    InputChanged, OutputRefused, OutputLocked before anything runs; OutputFailed or Unavailable in the middle,
    after which the run can be resumed.
    """
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
        parameters={"form": form, "options": msgspec.to_builtins(request.options)},
    )
    journal = Journal(paths.journal)
    try:
        begun, is_complete = (None, False) if request.overwrite else journal.read()
        if is_complete:
            publish(paths)
            journal.remove()
            begun = None
        if begun is None and paths.output.exists() and not request.overwrite:
            return _finished_before(request, form, scanned.num_lines)
        if begun is None:
            await client.status()  # nothing is written for a service that is not there
            discard_partial(paths)
            journal.begin(wanted)
        elif not request.resume:
            raise OutputRefused(
                f"{paths.journal}: an unfinished run is there; continue it with --resume, "
                "or start again with --overwrite"
            )
        else:
            begun.check_same(wanted, request.source)
        output = BatchOutput(paths)
        try:
            runner = _Runner(request, form, begun or wanted, scanned.model, client, output, observe)
            progress = await runner.run()
            output.sync()
        finally:
            output.close()
        journal.mark_complete()
        publish(paths)
        journal.remove()
        return progress
    finally:
        journal.close()


def _finished_before(request: BatchRequest, form: Format, num_lines: int) -> BatchProgress:
    """The finished run that is to be resumed; raises OutputRefused unless it holds every input line."""
    paths = request.paths
    if not request.resume:
        raise OutputRefused(f"{paths.output}: exists already; --overwrite replaces it")
    keys: list[set[int]] = []
    for path in (paths.output, paths.errors):
        if not path.exists():
            keys.append(set())
            continue
        with path.open("rb") as results:
            keys.append(read_keys(results)[0])
    with PromptFile(request.source) as file:
        for raw in file.lines():
            key = id_key(decode_line(raw, form).custom_id)
            if not any(key in known for known in keys):
                raise OutputRefused(
                    f"{paths.output}: is finished and has no line {raw.number} of {request.source}; "
                    "--overwrite replaces it"
                )
    return BatchProgress(
        num_lines=num_lines,
        num_succeeded=len(keys[0]),
        num_failed=len(keys[1]),
        num_resumed=num_lines,
        completion_tokens=0,
        started=time.monotonic(),
    )


class _Runner:
    def __init__(
        self,
        request: BatchRequest,
        form: Format,
        run: Run,
        model: str | None,
        client: AsyncClient,
        output: BatchOutput,
        observe: Observer | None,
    ) -> None:
        self._request = request
        self._form = form
        self._run = run
        self._model = model
        self._client = client
        self._output = output
        self._observe = observe
        self._advanced_at = time.monotonic()
        options = request.options
        if options.priority is None:
            options = msgspec.structs.replace(options, priority=BATCH_PRIORITY)
        self._options = options
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
        job_id = self._job_id(line, 0)
        result: Result | None = None
        try:
            for attempt in range(MAX_CANCELLATIONS):
                job_id = self._job_id(line, attempt)
                submit = submit_of_line(line, job_id, self._options, self._model)
                result = await self._answer(submit)
                # An interrupted run has cancelled what it had in flight, and the router remembers.
                if result.finish_reason != "cancelled":
                    break
            else:
                raise ServerFailure("the job was cancelled again and again")
            rendered = render_result(line, submit, result, self._run.created)
        except (Overloaded, Unavailable):
            raise  # the service's state, not this line's fault
        except CactusError as error:
            result = error.result
            self._finish(line, render_error(line, job_id, error), result, succeeded=False)
        else:
            self._finish(line, rendered, result, succeeded=True)

    async def _answer(self, submit: Submit) -> Result:
        while True:
            try:
                return await self._client.run(submit)
            except (Overloaded, Unavailable) as error:
                if time.monotonic() - self._advanced_at > STALLED_S or error.retry_after is None:
                    raise
                wait_s = min(error.retry_after, MAX_RETRY_S)
                await asyncio.sleep(wait_s * random.uniform(1.0, 1.5))  # noqa: S311  (spreads retries)

    def _finish(self, line: PromptLine, rendered: bytes, result: Result | None, *, succeeded: bool) -> None:
        self._output.add(line.custom_id, rendered, succeeded=succeeded)
        self._advanced_at = time.monotonic()
        self._progress.num_succeeded += succeeded
        self._progress.num_failed += not succeeded
        if result is not None:
            self._progress.completion_tokens += result.usage.completion_tokens
        self._tell(line, result)

    def _tell(self, line: PromptLine | None, result: Result | None) -> None:
        if self._observe is not None:
            self._observe(self._progress, line, result)

    def _job_id(self, line: PromptLine, attempt: int) -> str:
        """The same in every process of this run, so that a resumed run finds its jobs in the router."""
        name = f"{self._run.run_id}/{self._run.input_sha256}/{line.number}/{attempt}"
        return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
