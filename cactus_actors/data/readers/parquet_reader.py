"""Reads Parquet files, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from cactus_actors.data.readers.table_reader import common_schema, selected, with_columns
from cactus_actors.data.row_batch import MAX_ROWS, RowBatch
from cactus_actors.data.table_files import opened_file


class ParquetReader:
    """The rows of Parquet files; only the columns that are asked for are read."""

    def __init__(self, files: Sequence[str]) -> None:
        self._schemas = {name: _schema_of(name) for name in files}
        self.schema = common_schema(self._schemas)

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:
        """All rows, or those of some of the files, with these columns."""
        schema = selected(self.schema, columns)
        for name in files or self._schemas:
            own = self._schemas[name]
            present = [column for column in columns if column in own.names] or own.names[:1]
            with opened_file(name) as stream:
                file = pq.ParquetFile(stream)
                for batch in file.iter_batches(batch_size=MAX_ROWS, columns=present):
                    yield RowBatch(with_columns(batch, schema))

    def num_rows(self, file: str) -> int:
        """The number of rows of a file, from its end."""
        with opened_file(file) as stream:
            return int(pq.ParquetFile(stream).metadata.num_rows)


def _schema_of(name: str) -> pa.Schema:
    with opened_file(name) as stream:
        return pq.ParquetFile(stream).schema_arrow
