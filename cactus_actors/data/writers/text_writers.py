"""Writes CSV, JSON lines and text, plain or compressed."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import pyarrow as pa

from cactus_actors.data.row_batch import plain_rows
from cactus_actors.data.table_format import Packing


class CsvWriter:
    """Missing values are empty; lists and objects are JSON text, bytes are base64."""

    def __init__(self, path: Path, schema: pa.Schema, packing: Packing | None, delimiter: str = ",") -> None:
        self._stream = packed_stream(path, packing)
        self._text = io.TextIOWrapper(self._stream, encoding="utf-8", newline="")
        self._rows = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        self._rows.writerow(schema.names)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a line for each row."""
        for row in plain_rows(batch, str):
            self._rows.writerow(_cell(value) for value in row.values())

    def close(self) -> None:
        """End the file."""
        self._text.close()


class JsonLinesWriter:
    """An object for each row, with every column."""

    def __init__(self, path: Path, packing: Packing | None) -> None:
        self._stream = packed_stream(path, packing)
        self._encode = msgspec.json.Encoder().encode

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a line for each row."""
        for row in plain_rows(batch, lambda text: msgspec.Raw(text.encode())):
            self._stream.write(self._encode(row) + b"\n")

    def close(self) -> None:
        """End the file."""
        self._stream.close()


class TextWriter:
    """One column alone, a line for each row; line breaks within it become spaces."""

    def __init__(self, path: Path, column: str, packing: Packing | None) -> None:
        self._stream = packed_stream(path, packing)
        self._column = column

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a line for each row."""
        for row in plain_rows(batch.select([self._column]), str):
            text = " ".join(_text(row[self._column]).splitlines())
            self._stream.write(text.encode() + b"\n")

    def close(self) -> None:
        """End the file."""
        self._stream.close()


def packed_stream(path: Path, packing: Packing | None) -> BinaryIO:
    """A new file, whose bytes are compressed."""
    match packing:
        case "gz":
            return cast("BinaryIO", gzip.open(path, "wb", compresslevel=6))
        case "zst":
            return cast("BinaryIO", pa.CompressedOutputStream(str(path), "zstd"))
    return path.open("wb")


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, str | int | float) else _json(value)


def _text(value: Any) -> str:
    cell = _cell(value)
    return "" if cell is None else str(cell)


def _json(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
