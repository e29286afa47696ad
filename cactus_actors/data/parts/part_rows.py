"""Cuts the rows of input files into parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa

from cactus_actors.batch.batch_errors import InputChanged
from cactus_actors.data.parts.manifest import Manifest, PartId
from cactus_actors.data.readers import TableReader
from cactus_actors.data.row_batch import RowBatch
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import InvalidRequest


class PartRows(NamedTuple):
    """The rows of a part in memory, with the columns of its prompts and of its table."""

    part: PartId
    batches: list[RowBatch]


class _EncodedRows(msgspec.Struct, frozen=True):
    """Rows for another process: each batch as a stream of Arrow, with the errors of its rows."""

    part: PartId
    batches: list[tuple[bytes, dict[int, ErrorInfo]]]


def encoded_rows(rows: PartRows) -> bytes:
    """The rows of a part as bytes."""
    batches = []
    for batch in rows.batches:
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, batch.columns.schema) as writer:
            writer.write_batch(batch.columns)
        errors = {place: error.info() for place, error in batch.errors.items()}
        batches.append((stream.getvalue().to_pybytes(), errors))
    return msgspec.msgpack.encode(_EncodedRows(rows.part, batches))


def decoded_rows(content: bytes) -> PartRows:
    """The rows that `encoded_rows` has encoded."""
    encoded = msgspec.msgpack.decode(content, type=_EncodedRows)
    batches = []
    for stream, infos in encoded.batches:
        errors = {place: InvalidRequest(info.message, param=info.param) for place, info in infos.items()}
        batches.append(RowBatch(pa.ipc.open_stream(stream).read_next_batch(), errors))
    return PartRows(encoded.part, batches)


def parts_of_file(table: TableReader, manifest: Manifest, file: int, columns: Sequence[str]) -> Iterator[PartRows]:
    """All parts of a file, which is read once; raises InputInvalid, and InputChanged after the last row it has."""
    wanted = manifest.files[file]
    part, batches, num_missing = PartId(file, 0), list[RowBatch](), 0
    num_left = wanted.num_rows
    if not num_left:
        yield PartRows(part, [])
        return
    for batch in table.batches(columns, [wanted.name]):
        begin = 0
        while num_left and begin < batch.columns.num_rows:
            num_missing = num_missing or min(manifest.rows_per_part, num_left)
            piece = _slice(batch, begin, num_missing)
            batches.append(piece)
            begin += piece.columns.num_rows
            num_missing -= piece.columns.num_rows
            num_left -= piece.columns.num_rows
            if not num_missing:
                yield PartRows(part, batches)
                part, batches = PartId(file, part.number + 1), []
        if not num_left:
            return
    raise InputChanged(
        f"{wanted.name}: input_changed: it has {num_left} rows less than when the run began; "
        "restore it and continue with --resume, or start again with --overwrite"
    )


def _slice(batch: RowBatch, begin: int, num_rows: int) -> RowBatch:
    columns = batch.columns.slice(begin, num_rows)
    errors = {place - begin: error for place, error in batch.errors.items()}
    return RowBatch(columns, {place: error for place, error in errors.items() if 0 <= place < columns.num_rows})


class RowsInMemory:
    """A TableReader of the rows of a part."""

    def __init__(self, schema: pa.Schema, batches: Sequence[RowBatch]) -> None:
        self.schema = schema
        self._batches = batches

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:  # noqa: ARG002
        """All rows, with these columns."""
        for batch in self._batches:
            yield RowBatch(batch.columns.select(list(columns)), batch.errors)

    def num_rows(self, file: str) -> int:  # noqa: ARG002
        """The number of all rows."""
        return sum(batch.columns.num_rows for batch in self._batches)
