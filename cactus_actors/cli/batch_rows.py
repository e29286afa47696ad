"""The options of `cactus batch` for the rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cactus_actors.data import TableFormat, is_table_name, require_pyarrow

TABLES = "Rows of tables"
"""Heading in the help."""

if TYPE_CHECKING:
    from cactus_actors.batch import BatchRequest
    from cactus_actors.data.parts import PartsRequest
    from cactus_actors.data.table_request import TableRequest


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """The options as they were given."""

    form: TableFormat | None
    output_form: TableFormat | None
    template: str | None
    columns: str | None
    prefix: str
    limit: int | None
    part_rows: int

    def make_a_table(self, inputs: Sequence[str], output: str) -> bool:
        """True if the output is a table; otherwise it has OpenAI batch lines."""
        of_rows = (self.output_form, self.template, self.columns, self.prefix or None)
        return (
            any(option is not None for option in of_rows)
            or len(inputs) > 1
            or output.endswith("/")
            or self.form not in (None, "jsonl", "text")
            or any("://" in name or is_table_name(name) for name in (*inputs, output))
            or not (inputs == ["-"] or Path(inputs[0]).exists() or not set("*?[") & set(inputs[0]))
        )

    @property
    def line_form(self) -> Literal["jsonl", "text"] | None:
        """The format of a prompt file."""
        return self.form if self.form == "jsonl" or self.form == "text" else None

    def request(self, inputs: Sequence[str], output: str, run: BatchRequest) -> TableRequest | PartsRequest:
        """The request for a table; raises what `table_request` and `parts_request` raise."""
        require_pyarrow()
        from cactus_actors.data.parts import is_parts_name, parts_request
        from cactus_actors.data.table_input import TableOptions
        from cactus_actors.data.table_request import table_request

        options = TableOptions(
            inputs=inputs,
            output=output,
            form=self.form,
            output_form=self.output_form,
            template=self.template,
            columns=None if self.columns is None else self.columns.split(","),
            prefix=self.prefix,
            limit=self.limit,
        )
        if is_parts_name(output):
            return parts_request(options, run, self.part_rows)
        return table_request(options, run)
