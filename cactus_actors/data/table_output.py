"""Writes the table of a finished run: the columns of its rows beside those of their answers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cactus_actors.batch import BatchPaths
from cactus_actors.batch.batch_errors import InputChanged, naming_file
from cactus_actors.batch.paths import sync_directory
from cactus_actors.data.answer_columns import AnswerColumns
from cactus_actors.data.line_results import LineResults
from cactus_actors.data.remote_files import upload
from cactus_actors.data.row_batch import stored_field
from cactus_actors.data.row_source import LineDigest, RowSource, Window
from cactus_actors.data.table_format import Packing, TableFormat
from cactus_actors.data.writers import table_writer


@dataclass(frozen=True, kw_only=True)
class TableOutput:
    """The file to write; `carried` are the columns of the input in it.

    A table for a `url` is written to `path` on this machine, whose results stay, and then uploaded.
    """

    path: Path
    url: str | None = None
    form: TableFormat
    packing: Packing | None
    carried: Sequence[str]

    def __str__(self) -> str:
        return self.url or str(self.path)

    @property
    def results(self) -> Path:
        """The results of lines, of which the table is made; they stay for --resume and --retry-failed."""
        return self.path.with_name(f"{self.path.name}.results.jsonl")

    def field(self, read: pa.Field) -> pa.Field:
        """The column of the file for one that was read."""
        return stored_field(read) if self.form in ("parquet", "arrow") else read

    def answers(self, json_schema: Any, prefix: str) -> AnswerColumns:
        """The columns of answers in the file."""
        return AnswerColumns(json_schema, prefix, are_whole=self.form == "text")

    @property
    def unfinished(self) -> Path:
        """The table while it is written."""
        return self.path.with_name(f"{self.path.name}.new")


def write_table(
    output: TableOutput, source: RowSource, answers: AnswerColumns, input_sha256: str, results: BatchPaths
) -> int:
    """Write the table of a finished run to `output.unfinished`, synced, and return the number of its rows.

    Nothing is left of a table that cannot be written whole. Raises InputChanged if the rows are not those that were
    asked, InputInvalid if they cannot be read any more, and OutputFailed.
    """
    digest = LineDigest()
    num_rows = 0
    with naming_file(output.path), _removed_after_errors(output.unfinished):
        schema = pa.schema(
            [*(output.field(source.table.schema.field(name)) for name in output.carried), *answers.schema]
        )
        writer = table_writer(output.unfinished, schema, output.form, output.packing, answers.schema.names[0])
        try:
            with LineResults(results, source.first) as found:
                for window in source.windows(output.carried):
                    for line in window.lines:
                        digest.add(line)
                    writer.write(_joined(window, found, answers, schema))
                    num_rows += len(window.numbers)
        finally:
            writer.close()
        if digest.hex != input_sha256:
            raise InputChanged(
                f"{source}: input_changed: its rows are not those that were asked; "
                "restore it and continue with --resume, or start again with --overwrite"
            )
        _sync(output.unfinished)
    return num_rows


def publish_table(output: TableOutput) -> None:
    """Give the written table its name, or store it at its URL: it is complete there, or does not exist.

    Raises OutputFailed.
    """
    if output.url is not None:
        upload(output.unfinished, output.url)
        output.unfinished.unlink()
        return
    with naming_file(output.path):
        output.unfinished.replace(output.path)
        sync_directory(output.path.parent)


def _joined(window: Window, found: LineResults, answers: AnswerColumns, schema: pa.Schema) -> pa.RecordBatch:
    of_answers = answers.batch([found.answer(number) for number in window.numbers])
    carried = schema.names[: len(schema) - len(of_answers.schema)]
    columns = [*(window.rows.columns.column(name).cast(schema.field(name).type) for name in carried)]
    columns += of_answers.columns
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@contextlib.contextmanager
def _removed_after_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
