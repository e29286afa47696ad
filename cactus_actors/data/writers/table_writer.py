"""What writes the rows of a table to one file."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa


class TableWriter(Protocol):
    """Writes batches of one schema, in their order."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write these rows; raises OSError."""

    def close(self) -> None:
        """Write what is left, and end the file; raises OSError."""
