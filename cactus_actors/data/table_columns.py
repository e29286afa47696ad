"""The columns of the input in a table of answers."""

from __future__ import annotations

import pyarrow as pa

from cactus_actors.batch.batch_errors import InputInvalid, OutputRefused
from cactus_actors.data.answer_columns import AnswerColumns
from cactus_actors.data.readers import TableReader
from cactus_actors.data.row_prompts import check_columns
from cactus_actors.data.table_format import TableFormat
from cactus_actors.data.table_input import TableOptions
from cactus_actors.data.writers import why_no_parquet
from cactus_actors.protocol.options import Options


def carried_columns(options: TableOptions, table: TableReader, answers: Options, form: TableFormat) -> list[str]:
    """The columns of the input that the output of that format has.

    Raises InputInvalid if one is missing, or has a name of answers, and OutputRefused if the format cannot hold one.
    """
    carried = list(table.schema.names if options.columns is None else dict.fromkeys(options.columns))
    check_columns(carried, table.schema, "--columns")
    added = AnswerColumns(answers.json_schema, options.prefix, are_whole=form == "text").schema
    if twice := next((name for name in carried if name in added.names), None):
        raise InputInvalid(
            f"the column {twice!r} of the input has the name of one of the answers: {', '.join(added.names)}. "
            "Leave it out with --columns, or give the answers' columns a --prefix"
        )
    schema = pa.schema([*(table.schema.field(name) for name in carried), *added])
    if form == "parquet" and (why := why_no_parquet(schema)):
        raise OutputRefused(f"{options.output}: {why}; leave the column out with --columns, or choose another format")
    return carried
