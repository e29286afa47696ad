"""Reads text files: a row for each line that is not blank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cactus_actors.data.readers.line_reading import file_lines
from cactus_actors.data.readers.table_reader import counted_rows
from cactus_actors.data.row_batch import MAX_BYTES, MAX_ROWS, RowBatch
from cactus_actors.protocol.errors import InvalidRequest

TEXT = "text"


class TextReader:
    """The lines of text files as the column `text`."""

    schema = pa.schema([pa.field(TEXT, pa.string())])

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:
        """All rows, or those of some of the files."""
        texts: list[str] = []
        errors: dict[int, InvalidRequest] = {}
        num_bytes = 0
        for line in file_lines(files or self._files):
            error = line.error
            try:
                text = line.content.decode()
            except UnicodeDecodeError as undecodable:
                text = line.content.decode(errors="replace")
                error = line.refused(f"encoding: not UTF-8 at byte {undecodable.start} of it")
            if error is not None:
                errors[len(texts)] = error
            texts.append(text)
            num_bytes += len(text)
            if len(texts) == MAX_ROWS or num_bytes >= MAX_BYTES:
                yield _batch(texts, columns, errors)
                texts, errors, num_bytes = [], {}, 0
        if texts:
            yield _batch(texts, columns, errors)

    def num_rows(self, file: str) -> int:
        """The number of rows of a file, which is read for that."""
        return counted_rows(self, file)


def _batch(texts: list[str], columns: Sequence[str], errors: dict[int, InvalidRequest]) -> RowBatch:
    column = pa.array(texts, pa.string())
    return RowBatch(pa.RecordBatch.from_arrays([column for _ in columns], names=list(columns)), errors)
