"""The request for a table with answers: what `cactus batch` is told about rows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from cactus_actors.batch import BatchRequest
from cactus_actors.batch.batch_errors import OutputRefused
from cactus_actors.batch.batch_journal import BatchJournal
from cactus_actors.data.answer_columns import misfit_of
from cactus_actors.data.remote_files import is_url, local_name, url_exists
from cactus_actors.data.row_source import RowSource
from cactus_actors.data.table_columns import carried_columns
from cactus_actors.data.table_format import named_format
from cactus_actors.data.table_input import TableInput, TableOptions, table_input
from cactus_actors.data.table_output import TableOutput, publish_table, write_table
from cactus_actors.protocol.options import Options

FOLDER_HINT = "the name of a folder, for a table in parts, ends with /"


@dataclass(frozen=True, kw_only=True)
class TableReport:
    """The table and its number of rows; an answer that does not obey the schema is a misfit."""

    path: str
    num_rows: int
    num_misfits: int

    @property
    def in_words(self) -> str:
        rows = "1 row" if self.num_rows == 1 else f"{self.num_rows} rows"
        misfits = f", {self.num_misfits} without an answer that obeys the schema" if self.num_misfits else ""
        return f"{rows} in {self.path}{misfits}"


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """Rows, the run that answers them as its lines, and the table that is made of both."""

    run: BatchRequest
    source: RowSource
    output: TableOutput
    prefix: str

    def check(self) -> None:
        """Raise OutputRefused if the table would replace another file."""
        output, run = self.output, self.run
        if output.path.is_dir():
            raise OutputRefused(f"{output.path}: is a directory; {FOLDER_HINT}")
        exists = output.path.exists() if output.url is None else url_exists(output.url)  # refuses a place that is none
        if run.overwrite or ((run.resume or run.retry_failed or run.second_pass) and run.paths.journal.exists()):
            return
        if exists:
            raise OutputRefused(f"{output}: exists already; --overwrite replaces it")

    async def write(self) -> TableReport:
        """Write the table of the finished run, whole or not at all; can be repeated after a kill.

        Raises OutputRefused without a finished run, OutputLocked, OutputFailed, InputInvalid and InputChanged.
        """
        return await asyncio.to_thread(self._write)

    def _write(self) -> TableReport:
        paths = self.run.paths
        answers = self.output.answers(self.run.options.json_schema, self.prefix)
        journal = BatchJournal(paths.journal)  # no other run may change the results meanwhile
        try:
            run, is_complete = journal.read()
            if run is None or not is_complete:
                raise OutputRefused(f"{paths.journal}: the run is not finished; continue it with --resume")
            num_rows = write_table(self.output, self.source, answers, run.input_sha256, paths)
            publish_table(self.output)
        finally:
            journal.close()
        return TableReport(path=str(self.output), num_rows=num_rows, num_misfits=answers.num_misfits)


def table_request(options: TableOptions, run: BatchRequest) -> TableRequest:
    """The request for a table; the lines of `run` become its rows.

    Raises InputInvalid, OutputRefused, and TemplateInvalid for a template that does not compile.
    """
    rows = table_input(options, run.options)
    output = _output(options, rows, run.options)
    return TableRequest(
        run=replace(
            run,
            source=rows.source,
            output=output.results,
            form="jsonl",
            misfit=misfit_of(run.options.json_schema),
        ),
        source=rows.source,
        output=output,
        prefix=options.prefix,
    )


def _output(options: TableOptions, rows: TableInput, answers: Options) -> TableOutput:
    files = rows.files
    url = options.output if is_url(options.output) else None
    path = Path(options.output if url is None else local_name(url))
    path = path.resolve() if path.is_symlink() else path
    form, packing = named_format(path.name)
    form = options.output_form or form
    if form is None:
        raise OutputRefused(
            f"{path}: its name does not say its format; give --output-format, or a folder: {FOLDER_HINT}"
        )
    if packing is not None and form in ("parquet", "arrow"):
        raise OutputRefused(f"{path}: a file of {form} is compressed within; its name needs no .{packing}")
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in files):
        raise OutputRefused(f"{path}: is the input; choose another output")
    if url is not None and (url in files or url.startswith("http")):
        raise OutputRefused(f"{url}: {'is the input' if url in files else 'cannot be written'}; choose another output")
    carried = carried_columns(options, rows.table, answers, form)
    return TableOutput(path=path, url=url, form=form, packing=packing, carried=carried)
