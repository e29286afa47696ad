"""Finds and opens the files of a table, on this machine and at URLs."""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.data.remote_files import is_url, opened_url, urls_matching
from cactus_actors.data.table_format import TableFormat, named_format

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def matching_files(patterns: Sequence[str]) -> list[str]:
    """The files of names and globs: the order is that of `patterns`, and by name within each. Raises InputInvalid."""
    files: dict[str, None] = {}
    for pattern in patterns:
        found = urls_matching(pattern) if is_url(pattern) else _paths_matching(pattern)
        if not found:
            raise InputInvalid(f"{pattern}: no such file")
        for name in found:
            if name in files:
                raise InputInvalid(f"{name}: is named twice")
            files[name] = None
    return list(files)


def _paths_matching(pattern: str) -> list[str]:
    if Path(pattern).exists():
        return [pattern]
    return [name for name in sorted(glob.glob(pattern, recursive=True)) if Path(name).is_file()]  # noqa: PTH207


def format_of_files(files: Sequence[str]) -> TableFormat:
    """The one format of all files, by their names or their first bytes; raises InputInvalid."""
    forms = {name: named_format(name).form or _format_of_content(name) for name in files}
    first, form = next(iter(forms.items()))
    if other := next((name for name in files if forms[name] != form), None):
        raise InputInvalid(f"{other}: is {forms[other]} and {first} is {form}; all files have one format")
    return form


def _format_of_content(name: str) -> TableFormat:
    with unpacked_file(name) as file:
        head = file.read(6)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head == b"ARROW1":
        return "arrow"
    if head.startswith(b"{"):
        return "jsonl"
    raise InputInvalid(f"{name}: its name does not say its format; give --format")


@contextlib.contextmanager
def opened_file(name: str) -> Iterator[BinaryIO]:
    """The bytes of a file; errors within the context are InputInvalid and name the file."""
    if is_url(name):
        with reading(name), opened_url(name) as file:
            yield file
    else:
        with reading(name), Path(name).open("rb") as local:
            yield local


@contextlib.contextmanager
def unpacked_file(name: str) -> Iterator[BinaryIO]:
    """The bytes of a file, plain or compressed by gzip or zstd, as its first bytes say."""
    with opened_file(name) as file:
        head = file.read(4)
        file.seek(0)
        if head.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("BinaryIO", unpacked)
        elif head == _ZSTD:
            with pa.CompressedInputStream(file, "zstd") as stream:
                yield cast("BinaryIO", io.BufferedReader(stream))
        else:
            yield file


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise what goes wrong with the file within the context as InputInvalid, with its name."""
    try:
        yield
    except pa.ArrowException as error:
        raise InputInvalid(f"{name}: {str(error).splitlines()[0]}") from None
    except EOFError:
        raise InputInvalid(f"{name}: the compressed file is cut short") from None
    except zlib.error as error:
        raise InputInvalid(f"{name}: the compressed file is damaged: {error}") from None
    except OSError as error:
        raise InputInvalid(f"{name}: {error.strerror or error}") from None
