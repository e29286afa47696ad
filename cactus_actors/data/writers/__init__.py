"""Writers of tables, one for each format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from cactus_actors.data.table_format import Packing, TableFormat
from cactus_actors.data.writers.table_writer import TableWriter

__all__ = ["TableWriter", "table_writer", "why_no_parquet"]


def table_writer(
    path: Path, schema: pa.Schema, form: TableFormat, packing: Packing | None, text_column: str
) -> TableWriter:
    """A writer of a new file; one of text writes `text_column` alone. Raises OSError."""
    from cactus_actors.data.writers.arrow_writers import ArrowWriter, ParquetWriter
    from cactus_actors.data.writers.text_writers import CsvWriter, JsonLinesWriter, TextWriter

    match form:
        case "parquet":
            return ParquetWriter(path, schema)
        case "arrow":
            return ArrowWriter(path, schema)
        case "csv":
            return CsvWriter(path, schema, packing)
        case "tsv":
            return CsvWriter(path, schema, packing, "\t")
        case "jsonl":
            return JsonLinesWriter(path, packing)
        case "text":
            return TextWriter(path, text_column, packing)


def why_no_parquet(schema: pa.Schema) -> str | None:
    """The reason why no Parquet file can have these columns; None if one can."""
    import pyarrow.parquet as pq

    try:
        pq.ParquetWriter(pa.BufferOutputStream(), schema).close()
    except pa.ArrowException as error:
        return str(error).splitlines()[0]
    return None
