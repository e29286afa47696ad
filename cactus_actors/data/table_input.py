"""The rows that `cactus batch` is told to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cactus_actors.data.readers import EmptyTable, TableReader, table_reader
from cactus_actors.data.remote_files import is_url
from cactus_actors.data.row_prompts import named_columns, row_prompt
from cactus_actors.data.row_source import RowSource
from cactus_actors.data.table_files import format_of_files, matching_files
from cactus_actors.data.table_format import TableFormat
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
class TableInput:
    """The input files as one table of the format `form`, and all their rows as lines."""

    files: list[str]
    form: TableFormat
    table: TableReader
    source: RowSource


def table_input(options: TableOptions, answers: Options) -> TableInput:
    """The rows of the input; `answers` are the options of their lines.

    Raises InputInvalid, and TemplateInvalid for a template that does not compile.
    """
    files = matching_files(options.inputs)
    form = options.form or format_of_files(files)
    table = table_reader(files, form)
    if not table.schema.names and form in ("jsonl", "csv", "tsv"):
        table = EmptyTable([*dict.fromkeys([*(options.columns or ()), *named_columns(options.template)])])
    source = RowSource(
        name=", ".join(options.inputs),
        files=[Path(name) for name in files if not is_url(name)],
        table=table,
        prompt=row_prompt(table.schema, form, options.template),
        template=options.template,
        limit=options.limit,
        shares_answers=_has_equal_answers(answers),
    )
    return TableInput(files=files, form=form, table=table, source=source)


def _has_equal_answers(options: Options) -> bool:
    """True if equal prompts have equal answers: a line without a seed of its own gets one, which matters above 0."""
    return options.temperature == 0 or options.seed is not None
