"""What reads the rows of tables, and how the columns of several files become those of one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.data.row_batch import RowBatch


class TableReader(Protocol):
    """Files of one format as one table, which can be read several times, in bounded memory."""

    @property
    def schema(self) -> pa.Schema: ...

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:
        """All rows, or those of some of the files, with these columns in this order; the same batches each time.

        Raises InputInvalid.
        """

    def num_rows(self, file: str) -> int:
        """The number of rows of one of the files; raises InputInvalid."""


class EmptyTable:
    """Files of text without a line, whose columns are not known, as a table with these ones."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.schema = pa.schema([pa.field(name, pa.string()) for name in columns])

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:  # noqa: ARG002
        """No row."""
        return iter(())

    def num_rows(self, file: str) -> int:  # noqa: ARG002
        """None."""
        return 0


def counted_rows(reader: TableReader, file: str) -> int:
    """The number of rows of one of the files, all of which are read."""
    return sum(batch.columns.num_rows for batch in reader.batches(reader.schema.names[:1], [file]))


def common_schema(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The columns of all files, by the name of each file; raises InputInvalid if two types do not fit."""
    common = pa.schema([])
    for name, schema in schemas.items():
        if twice := next((one for one in schema.names if schema.names.count(one) > 1), None):
            raise InputInvalid(f"{name}: has two columns {twice!r}")
        schema = schema.remove_metadata()
        try:
            common = pa.unify_schemas([common, schema])
        except pa.ArrowException:
            raise InputInvalid(f"{name}: {_difference(common, schema)} in the files before it") from None
    return common


def with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns of `schema`; those that it lacks are null. Raises ArrowInvalid for damaged values."""
    batch.validate(full=True)
    names = batch.schema.names
    arrays = [
        batch.column(names.index(field.name)).cast(field.type)
        if field.name in names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def selected(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """These columns of the schema, in this order."""
    return pa.schema([schema.field(name) for name in columns])


def _difference(common: pa.Schema, schema: pa.Schema) -> str:
    for field in schema:
        if field.name in common.names and (before := common.field(field.name).type) != field.type:
            return f"the column {field.name!r} is of type {field.type}, and {before}"
    return "its columns do not fit those"
