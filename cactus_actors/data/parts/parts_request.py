"""The request for a table in parts, and its run by one process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.batch import BatchRequest
from cactus_actors.batch.batch_errors import OutputRefused, naming_file
from cactus_actors.batch.batch_request import Observer
from cactus_actors.batch.batch_runner import first_error
from cactus_actors.batch.locked_file import open_locked
from cactus_actors.batch.second_pass.pass_record import PassObserver
from cactus_actors.client import AsyncClient
from cactus_actors.data.answer_columns import misfit_of
from cactus_actors.data.parts.manifest import SUFFIXES, InputFile, Manifest, decoded_manifest
from cactus_actors.data.parts.part_answers import AskedPart, ask_part, check_part, finish_part
from cactus_actors.data.parts.part_store import OWN, PartStore, part_store
from cactus_actors.data.parts.parts_plan import PartsPlan, PartsReport
from cactus_actors.data.parts.parts_progress import PartsProgress, PassesProgress
from cactus_actors.data.remote_files import is_url, url_exists
from cactus_actors.data.row_source import RowSource
from cactus_actors.data.table_columns import carried_columns
from cactus_actors.data.table_format import TableFormat
from cactus_actors.data.table_input import TableInput, TableOptions, table_input

MANIFEST = f"{OWN}/run.json"
LOCK = "lock"
MAX_IN_CLOUD = 16
"""Parts whose rows are in memory while the cloud has their second pass."""


def is_parts_name(output: str) -> bool:
    """True for the name of a folder or a URL prefix."""
    return output.endswith("/")


@dataclass(frozen=True, kw_only=True)
class PartsRequest:
    """Rows, the run that answers them, and the folder or URL prefix of the parts."""

    run: BatchRequest
    source: RowSource
    rows: TableInput
    target: str
    output_form: TableFormat
    carried: list[str]
    prefix: str
    rows_per_part: int

    def check(self) -> None:
        """Raise OutputRefused if parts would replace others."""
        if is_url(self.target):
            url_exists(self.target)  # refuses a place that is none
        elif Path(self.target).exists() and not Path(self.target).is_dir():
            raise OutputRefused(f"{self.target}: is no directory")
        if self.run.overwrite or (self.run.resume and not self.run.retry_failed):
            return
        store = part_store(self.target)
        is_begun = store.read(MANIFEST) is not None
        if self.run.retry_failed:
            if not is_begun:
                raise OutputRefused(f"{self.target}: there is no run to retry")
            return
        if is_begun:
            raise OutputRefused(f"{self.target}: a run is there; continue it with --resume, or --overwrite replaces it")
        if any(name.startswith("part-") for name in store.names()):
            raise OutputRefused(f"{self.target}: has parts of another program; choose another output")

    async def answer(
        self, client: AsyncClient, observe: Observer, observe_pass: PassObserver = lambda _: None
    ) -> PartsReport:
        """Answer every row that is in no part yet, or is run again, part by part; raises what a run raises.

        While the cloud has the second pass of some parts, the next ones are asked.
        """
        status = await client.status()
        manifest = await asyncio.to_thread(self.manifest, status.model_names)
        with self.begun(manifest) as plan:
            progress = PartsProgress(plan, observe)
            try:
                async with asyncio.TaskGroup() as finishing:
                    await self._answer_parts(plan, client, progress, PassesProgress(observe_pass), finishing)
            except BaseExceptionGroup as group:
                raise first_error(group) from None
            return await asyncio.to_thread(finished_report, plan)

    async def _answer_parts(
        self,
        plan: PartsPlan,
        client: AsyncClient,
        progress: PartsProgress,
        passes: PassesProgress,
        finishing: asyncio.TaskGroup,
    ) -> None:
        free = asyncio.Semaphore(MAX_IN_CLOUD)

        async def finish(asked: AskedPart) -> None:
            progress.add(asked.part, await finish_part(plan, asked, client, passes.of(asked.part)))
            free.release()

        for file in range(len(plan.manifest.files)):
            parts = plan.rows(file)
            while (rows := await asyncio.to_thread(next, parts, None)) is not None:
                if rows.part in progress.settled:
                    await asyncio.to_thread(check_part, plan, rows)
                    continue
                await free.acquire()
                asked = await ask_part(plan, rows, client, plan.store.scratch, progress.of(rows.part))
                finished = finishing.create_task(finish(asked))
                if not self.asks_cloud:
                    await finished

    @property
    def asks_cloud(self) -> bool:
        """True if the cloud answers in a second pass."""
        return self.run.second_pass and self.run.second_pass_model is None

    @contextlib.contextmanager
    def begun(self, manifest: Manifest) -> Iterator[PartsPlan]:
        """The plan of the run that is there, or of a new one, which is recorded before anything is asked.

        No other process of this machine runs it within the context. Raises OutputRefused, OutputLocked, InputChanged,
        OptionsChanged and OutputFailed.
        """
        store = part_store(self.target)
        with _locked(store.scratch):
            recorded = None if self.run.overwrite else store.read(MANIFEST)
            if recorded is None:
                _clear(store)
                store.write(MANIFEST, msgspec.json.encode(manifest))
            else:
                begun = decoded_manifest(recorded, self.target)
                if self.run.retry_failed and self._plan(begun).is_finished():
                    begun.retried_as(manifest).check_same(manifest, self.target)
                else:
                    begun.check_same(manifest, self.target)
                manifest = begun
            yield self._plan(manifest)

    def _plan(self, manifest: Manifest) -> PartsPlan:
        retries = self.run.retry_failed and not self.run.overwrite
        return PartsPlan(
            manifest=manifest,
            directory=Path.cwd(),
            run=replace(self.run, source=Path(), retry_failed=retries, overwrite=False, misfit=None),
            table=self.rows.table,
            form=self.rows.form,
            template=self.source.template,
            shares_answers=self.source.shares_answers,
            target=self.target,
            output_form=self.output_form,
            carried=self.carried,
            prefix=self.prefix,
        )

    def manifest(self, model: str) -> Manifest:
        """The manifest of a new run, for which the rows of all files are counted; raises InputInvalid."""
        files = [InputFile(name, num_rows) for name, num_rows in self._counted() if num_rows]
        files = files or [InputFile(self.rows.files[0], 0)]
        parameters: dict[str, Any] = {
            **self.run.parameters("jsonl"),
            "columns": self.carried,
            "prefix": self.prefix or None,
            "output_format": self.output_form,
        }
        return Manifest(
            run_id=secrets.token_hex(8),
            created=int(time.time()),
            files=files,
            rows_per_part=self.rows_per_part,
            parameters=parameters,
            model=model,
        )

    def _counted(self) -> Iterator[tuple[str, int]]:
        """The files, and how many of their rows are answered."""
        left = self.source.limit
        for name in self.rows.files:
            if left == 0:
                return
            num_rows = self.rows.table.num_rows(name)
            if left is not None:
                num_rows = min(num_rows, left)
                left -= num_rows
            yield name, num_rows


def parts_request(options: TableOptions, run: BatchRequest, rows_per_part: int) -> PartsRequest:
    """The request for a table in parts.

    Raises InputInvalid, OutputRefused, and TemplateInvalid for a template that does not compile.
    """
    rows = table_input(options, run.options)
    if options.output.startswith("http"):
        raise OutputRefused(f"{options.output}: cannot be written; choose another output")
    if inside := next((name for name in rows.files if _is_below(name, options.output)), None):
        raise OutputRefused(f"{options.output}: has the input {inside}; choose another output")
    form = options.output_form or "parquet"
    return PartsRequest(
        run=replace(run, source=rows.source, form="jsonl", misfit=misfit_of(run.options.json_schema)),
        source=rows.source,
        rows=rows,
        target=options.output,
        output_form=form,
        carried=carried_columns(options, rows.table, run.options, form),
        prefix=options.prefix,
        rows_per_part=rows_per_part,
    )


def finished_report(plan: PartsPlan) -> PartsReport:
    """The report of a run whose parts are all there; what it has left in its scratch folder is removed."""
    shutil.rmtree(plan.store.scratch, ignore_errors=True)
    return plan.report()


@contextlib.contextmanager
def _locked(scratch: Path) -> Iterator[None]:
    """Make the scratch folder, for one process at a time; raises OutputLocked and OutputFailed."""
    with naming_file(scratch):
        scratch.mkdir(parents=True, exist_ok=True)
        lock = open_locked(scratch / LOCK)
    try:
        yield
    finally:
        os.close(lock)


def _clear(store: PartStore) -> None:
    """Remove the manifest of another run, then its parts and its unfinished rows."""
    if store.read(MANIFEST) is not None:
        store.remove([MANIFEST])
    store.remove(sorted(name for name in store.names() if _is_part(name)))
    with naming_file(store.scratch):
        for path in store.scratch.iterdir():
            if path.name != LOCK:
                path.unlink()


def _is_part(name: str) -> bool:
    return name.startswith("part-") and name.rpartition(".")[2] in SUFFIXES.values()


def _is_below(file: str, target: str) -> bool:
    if is_url(file) or is_url(target):
        return file.startswith(target)
    return Path(file).resolve().is_relative_to(Path(target).resolve())
