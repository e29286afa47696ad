"""Writes Parquet and Arrow files, whose columns keep their types."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

MAX_GROUP_ROWS = 1 << 16
MAX_GROUP_BYTES = 64 << 20


class ParquetWriter:
    """Collects rows for row groups of a useful size."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._clear()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write these rows with their row group."""
        self._batches.append(batch)
        self._num_rows += batch.num_rows
        self._num_bytes += batch.nbytes
        if self._num_rows >= MAX_GROUP_ROWS or self._num_bytes >= MAX_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write the last row group."""
        if self._batches:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        self._file.write_table(pa.Table.from_batches(self._batches))
        self._clear()

    def _clear(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._num_rows = self._num_bytes = 0


class ArrowWriter:
    """An Arrow file, which is Feather of version 2."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = pa.ipc.new_file(str(path), schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write these rows."""
        self._file.write_batch(batch)

    def close(self) -> None:
        """End the file."""
        self._file.close()
