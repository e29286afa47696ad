"""The columns of the input in a table of answers."""

from __future__ import annotations

from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.data.answer_columns import AnswerColumns
from cactus_actors.data.readers import TableReader
from cactus_actors.data.row_prompts import check_columns
from cactus_actors.data.table_input import TableOptions
from cactus_actors.protocol.options import Options


def carried_columns(options: TableOptions, table: TableReader, answers: Options) -> list[str]:
    """The columns of the input that the output has; raises InputInvalid if one is missing, or has a name of answers."""
    carried = list(table.schema.names if options.columns is None else dict.fromkeys(options.columns))
    check_columns(carried, table.schema, "--columns")
    added = AnswerColumns(answers.json_schema, options.prefix).schema.names
    if twice := next((name for name in carried if name in added), None):
        raise InputInvalid(
            f"the column {twice!r} of the input has the name of one of the answers: {', '.join(added)}. "
            "Leave it out with --columns, or give the answers' columns a --prefix"
        )
    return carried
