"""Readers of tables, one for each format."""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.data.readers.table_reader import EmptyTable, TableReader
from cactus_actors.data.table_format import TableFormat

__all__ = ["EmptyTable", "TableReader", "table_reader"]


def table_reader(files: Sequence[str], form: TableFormat) -> TableReader:
    """The files as one table, without columns if they are text without a line; raises InputInvalid."""
    from cactus_actors.data.readers.arrow_reader import ArrowReader
    from cactus_actors.data.readers.csv_reader import CsvReader
    from cactus_actors.data.readers.jsonl_reader import JsonLinesReader
    from cactus_actors.data.readers.parquet_reader import ParquetReader
    from cactus_actors.data.readers.text_reader import TextReader

    match form:
        case "parquet":
            return ParquetReader(files)
        case "arrow":
            return ArrowReader(files)
        case "csv":
            return CsvReader(files)
        case "tsv":
            return CsvReader(files, "\t")
        case "jsonl":
            return JsonLinesReader(files)
        case "text":
            return TextReader(files)
