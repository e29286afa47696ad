"""The request for a table with answers: what `cactus batch` is told about rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from cactus_actors.batch import BatchRequest
from cactus_actors.batch.batch_errors import InputInvalid, OutputRefused
from cactus_actors.batch.batch_journal import BatchJournal
from cactus_actors.data.answer_columns import AnswerColumns
from cactus_actors.data.readers import TableReader, table_reader
from cactus_actors.data.remote_files import is_url, url_exists
from cactus_actors.data.row_prompts import check_columns, row_prompt
from cactus_actors.data.row_source import RowSource
from cactus_actors.data.table_files import format_of_files, matching_files
from cactus_actors.data.table_format import TableFormat, named_format
from cactus_actors.data.table_output import TableOutput, write_table
from cactus_actors.protocol.options import Options


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The rows and the columns of a table.

    `inputs` are names, URLs and globs; `form` and `output_form` None follow from the names of files. `template` makes
    the prompt of a row; without it the column `messages` or `prompt` does. `columns` are those of the input in the
    output, all of them if None; those of the answers begin with `prefix`. `limit` is the most rows.
    """

    inputs: Sequence[str]
    output: str
    form: TableFormat | None = None
    output_form: TableFormat | None = None
    template: str | None = None
    columns: Sequence[str] | None = None
    prefix: str = ""
    limit: int | None = None


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
            raise OutputRefused(f"{output.path}: is a directory")
        if run.overwrite or ((run.resume or run.retry_failed or run.second_pass) and run.paths.journal.exists()):
            return
        if output.path.exists() if output.url is None else url_exists(output.url):
            raise OutputRefused(f"{output}: exists already; --overwrite replaces it")

    async def write(self) -> TableReport:
        """Write the table of the finished run, whole or not at all; can be repeated after a kill.

        Raises OutputRefused without a finished run, OutputLocked, OutputFailed, InputInvalid and InputChanged.
        """
        return await asyncio.to_thread(self._write)

    def _write(self) -> TableReport:
        paths = self.run.paths
        answers = AnswerColumns(self.run.options.json_schema, self.prefix)
        journal = BatchJournal(paths.journal)  # no other run may change the results meanwhile
        try:
            run, is_complete = journal.read()
            if run is None or not is_complete:
                raise OutputRefused(f"{paths.journal}: the run is not finished; continue it with --resume")
            num_rows = write_table(self.output, self.source, answers, run.input_sha256, paths)
        finally:
            journal.close()
        return TableReport(path=str(self.output), num_rows=num_rows, num_misfits=answers.num_misfits)


def table_request(options: TableOptions, run: BatchRequest) -> TableRequest:
    """The request for a table; the lines of `run` become its rows.

    Raises InputInvalid, OutputRefused, and TemplateInvalid for a template that does not compile.
    """
    files = matching_files(options.inputs)
    form = options.form or format_of_files(files)
    table = table_reader(files, form)
    source = RowSource(
        name=", ".join(options.inputs),
        files=[Path(name) for name in files if not is_url(name)],
        table=table,
        prompt=row_prompt(table.schema, form, options.template),
        template=options.template,
        limit=options.limit,
        shares_answers=_has_equal_answers(run.options),
    )
    output = _output(options, table, run.options, files)
    return TableRequest(
        run=replace(run, source=source, output=output.results, form="jsonl"),
        source=source,
        output=output,
        prefix=options.prefix,
    )


def _has_equal_answers(options: Options) -> bool:
    """True if equal prompts have equal answers: a line without a seed of its own gets one, which matters above 0."""
    return options.temperature == 0 or options.seed is not None


def _output(options: TableOptions, table: TableReader, answers: Options, files: Sequence[str]) -> TableOutput:
    url = options.output if is_url(options.output) else None
    path = Path(options.output if url is None else PurePosixPath(options.output).name)
    path = path.resolve() if path.is_symlink() else path
    form, packing = named_format(path.name)
    form = options.output_form or form
    if form is None:
        raise OutputRefused(f"{path}: its name does not say its format; give --output-format")
    if packing is not None and form in ("parquet", "arrow"):
        raise OutputRefused(f"{path}: a file of {form} is compressed within; its name needs no .{packing}")
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in files):
        raise OutputRefused(f"{path}: is the input; choose another output")
    if url is not None and (url in files or url.startswith("http")):
        raise OutputRefused(f"{url}: {'is the input' if url in files else 'cannot be written'}; choose another output")
    carried = table.schema.names if options.columns is None else list(dict.fromkeys(options.columns))
    check_columns(carried, table.schema, "--columns")
    added = AnswerColumns(answers.json_schema, options.prefix).schema.names
    if twice := next((name for name in carried if name in added), None):
        raise InputInvalid(
            f"the column {twice!r} of the input has the name of one of the answers: {', '.join(added)}. "
            "Leave it out with --columns, or give the answers' columns a --prefix"
        )
    return TableOutput(path=path, url=url, form=form, packing=packing, carried=carried)
