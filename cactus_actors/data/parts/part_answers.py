"""Answers the rows of one part, and writes it: the same in this process and in tasks of a cluster."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from cactus_actors.batch import BatchRequest, run_batch, run_second_pass
from cactus_actors.batch.batch_errors import InputChanged, OutputRefused, naming_file
from cactus_actors.batch.batch_journal import BatchJournal
from cactus_actors.batch.batch_request import Observer
from cactus_actors.batch.line_client import LineClient
from cactus_actors.batch.report import figures_of
from cactus_actors.batch.second_pass.pass_record import PassObserver
from cactus_actors.client import AsyncClient
from cactus_actors.data.answer_columns import misfit_of
from cactus_actors.data.parts.kept_results import forget_results, keep_results, restore_results
from cactus_actors.data.parts.manifest import PartId, PartRecord
from cactus_actors.data.parts.part_rows import PartRows
from cactus_actors.data.parts.parts_plan import PartsPlan, record_name
from cactus_actors.data.row_source import RowSource
from cactus_actors.data.table_output import TableOutput, write_table


def check_part(plan: PartsPlan, rows: PartRows) -> None:
    """Raise InputChanged if the rows of a finished part are not those that were asked."""
    with plan.source(rows).open() as reader:
        for _ in reader.lines():
            pass
        if reader.digest != plan.record(rows.part).sha256:
            raise InputChanged(
                f"{plan.manifest.files[rows.part.file].name}: input_changed: the rows of {rows.part} are not those "
                "that were asked; restore them and continue with --resume, or start again with --overwrite"
            )


async def answer_part(
    plan: PartsPlan, rows: PartRows, client: LineClient, scratch: Path, observe: Observer | None = None
) -> PartRecord:
    """Answer the rows of a part and write it; results so far are in `scratch`, where the same call continues.

    Of a part that is run again only failed rows are answered, and it is replaced. Raises what a run raises.
    """
    return await finish_part(plan, await ask_part(plan, rows, client, scratch, observe), client)


class AskedPart(NamedTuple):
    """A part whose rows have results."""

    part: PartId
    run: BatchRequest
    source: RowSource
    output: TableOutput


async def ask_part(
    plan: PartsPlan, rows: PartRows, client: LineClient, scratch: Path, observe: Observer | None = None
) -> AskedPart:
    """Ask the rows of a part; raises what a run raises."""
    source, output = plan.source(rows), plan.output(rows.part, scratch)
    is_again = plan.is_run_again(rows.part)
    run = replace(
        plan.run,
        source=source,
        output=output.results,
        resume=True,
        retry_failed=is_again,
        overwrite=False,
        misfit=misfit_of(plan.run.options.json_schema),
        run_id=f"{plan.manifest.run_id}-{rows.part.file}-{rows.part.number}",
    )
    if is_again:
        await asyncio.to_thread(restore_results, plan.store, rows.part, run.paths)
    await run_batch(run, client, observe)
    return AskedPart(rows.part, run, source, output)


async def finish_part(
    plan: PartsPlan, asked: AskedPart, client: LineClient, observe: PassObserver | None = None
) -> PartRecord:
    """Run the second pass over a part, if one is wanted, and write the part; raises what a second pass raises."""
    if asked.run.second_pass:
        assert isinstance(client, AsyncClient), "a second pass asks a service"
        await run_second_pass(asked.run, client, observe)
    return await asyncio.to_thread(_commit, plan, asked)


def _commit(plan: PartsPlan, asked: AskedPart) -> PartRecord:
    """Write the part with its record, and keep its results if rows have failed.

    A part that is there is finished, and a record alone means nothing; so a new part comes last. When a part is
    replaced it comes first, as a record without failures would say that it has been: until then failed rows are run
    again, with the same results.
    """
    part, run, source, output = asked
    paths, store = run.paths, plan.store
    answers = output.answers(run.options.json_schema, plan.prefix)
    journal = BatchJournal(paths.journal)
    try:
        begun, is_complete = journal.read()
        if begun is None or not is_complete:
            raise OutputRefused(f"{paths.journal}: the run is not finished; continue it with --resume")
        num_rows = write_table(output, source, answers, begun.input_sha256, paths)
        record = PartRecord(
            sha256=begun.input_sha256,
            num_rows=num_rows,
            num_misfits=answers.num_misfits,
            figures=figures_of(paths),
        )
        if run.retry_failed:
            store.put(output.unfinished, plan.name(part))
        if record.figures.num_failed:
            keep_results(store, part, paths)
        store.write(record_name(part), msgspec.json.encode(record))
        if not run.retry_failed:
            store.put(output.unfinished, plan.name(part))
        elif not record.figures.num_failed:
            forget_results(store, part)
    finally:
        journal.close()
    with naming_file(paths.output):
        for path in (paths.output, paths.errors, paths.journal):
            path.unlink(missing_ok=True)
    return record
