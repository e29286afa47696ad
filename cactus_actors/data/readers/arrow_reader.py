"""Reads Arrow files (Feather), and files of Arrow's stream format."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from cactus_actors.data.readers.table_reader import common_schema, counted_rows, selected, with_columns
from cactus_actors.data.row_batch import MAX_ROWS, RowBatch
from cactus_actors.data.table_files import opened_file, reading

_MAGIC = b"ARROW1"


class ArrowReader:
    """The rows of Arrow files, which are mapped into memory if they are on this machine."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        schemas: dict[str, pa.Schema] = {}
        for name in files:
            with _opened(name) as (schema, _):
                schemas[name] = schema
        self.schema = common_schema(schemas)

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:
        """All rows, or those of some of the files, with these columns."""
        schema = selected(self.schema, columns)
        for name in files or self._files:
            with _opened(name) as (_, batches):
                for batch in batches:
                    for begin in range(0, batch.num_rows, MAX_ROWS):
                        yield RowBatch(with_columns(batch.slice(begin, MAX_ROWS), schema))

    def num_rows(self, file: str) -> int:
        """The number of rows of a file, which is read for that."""
        return counted_rows(self, file)


@contextlib.contextmanager
def _opened(name: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    with contextlib.ExitStack() as stack:
        if Path(name).is_file():
            stack.enter_context(reading(name))
            stream: Any = stack.enter_context(pa.memory_map(name))
        else:
            stream = stack.enter_context(opened_file(name))
        head = stream.read(len(_MAGIC))
        stream.seek(0)
        if head == _MAGIC:
            file = pa.ipc.open_file(stream)
            yield file.schema, (file.get_batch(place) for place in range(file.num_record_batches))
        else:
            batches = pa.ipc.open_stream(stream)
            yield batches.schema, iter(batches)
