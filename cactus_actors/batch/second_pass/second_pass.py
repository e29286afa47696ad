"""Asks a larger model the lines of a finished run of which the first model was unsure."""

from __future__ import annotations

import asyncio

import msgspec

from cactus_actors.batch.batch_errors import OutputRefused
from cactus_actors.batch.batch_journal import BatchJournal, BatchRun
from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.input_scan import scan
from cactus_actors.batch.left_lines import left_lines
from cactus_actors.batch.patience import Patience
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.second_model import second_model
from cactus_actors.batch.second_pass.cloud_pass import CloudPass
from cactus_actors.batch.second_pass.model_pass import ModelPass
from cactus_actors.batch.second_pass.pass_outcomes import SecondPassReport, merge
from cactus_actors.batch.second_pass.pass_record import PassObserver, PassRecord
from cactus_actors.batch.second_pass.question_source import QuestionSource
from cactus_actors.client import AsyncClient


async def run_second_pass(
    request: BatchRequest, client: AsyncClient, observe: PassObserver | None = None
) -> SecondPassReport:
    """Ask the cloud, or a model of the service, the lines that a finished run left; put its answers into the output.

    An interrupted second pass is continued, with what it has asked for. Raises OutputRefused without a finished run,
    InputChanged for another input, OutputLocked, InvalidRequest if the service has no such model, and Unavailable if
    the cloud or the service cannot be asked; the answers of the first pass stay until all answers are there.
    """
    paths = request.paths
    journal = BatchJournal(paths.journal)
    try:
        run, is_complete = journal.read()
        if run is None or not is_complete or not paths.output.exists():
            raise OutputRefused(f"{paths.output}: the run is not finished; a second pass comes after it")
        with request.open_source() as file:
            form = request.form or file.format()
            scanned = await scan(file, form)
        run.check_same(
            msgspec.structs.replace(
                run, input_sha256=scanned.sha256, num_lines=scanned.num_lines, parameters=request.parameters(form)
            ),
            paths,
        )
        await _ask(request, client, run, form, observe)
        return await asyncio.to_thread(merge, paths, request.misfit)
    finally:
        journal.close()


async def _ask(
    request: BatchRequest, client: AsyncClient, run: BatchRun, form: Format, observe: PassObserver | None
) -> None:
    """Record an outcome for every line that was left."""
    patience = Patience(request.limits)
    lines = await asyncio.to_thread(left_lines, request.paths.output)
    second = None
    if request.second_pass_model is not None:
        second = second_model(request.second_pass_model, await patience.result(client.status))
    record = PassRecord(request.paths, run.run_id, "" if second is None else second.name)
    try:
        if second is None:
            source = QuestionSource(client, request, form, patience)
            await CloudPass(request, client, source, patience, lines, record, observe).run()
        else:
            await ModelPass(request, client, second, form, record, observe).run(lines)
        record.sync()
    finally:
        record.close()
