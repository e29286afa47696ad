"""The formats of tables, by the suffixes of files."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal, NamedTuple

TableFormat = Literal["jsonl", "text", "csv", "tsv", "parquet", "arrow"]
Packing = Literal["gz", "zst"]

_FORMATS: dict[str, TableFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_PACKINGS: dict[str, Packing] = {".gz": "gz", ".zst": "zst"}


class NamedFormat(NamedTuple):
    """What the name of a file says; None if it says nothing."""

    form: TableFormat | None
    packing: Packing | None


def named_format(name: str) -> NamedFormat:
    """The format and the packing of a file or a URL of that name."""
    path = PurePosixPath(name.partition("?")[0])
    packing = _PACKINGS.get(path.suffix.lower())
    if packing is not None:
        path = path.with_suffix("")
    return NamedFormat(_FORMATS.get(path.suffix.lower()), packing)


def is_table_name(name: str) -> bool:
    """True for a name that only a table has: those of prompt files say JSON lines, text, gzip or nothing."""
    form, packing = named_format(name)
    return form not in (None, "jsonl", "text") or packing == "zst"
