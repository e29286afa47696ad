"""Where the parts of a table are: a folder of this machine, or a URL prefix, at which nothing can be appended."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Protocol

from cactus_actors.batch.batch_errors import naming_file
from cactus_actors.batch.paths import sync_directory
from cactus_actors.data.remote_files import (
    is_url,
    local_name,
    read_url,
    remove_urls,
    upload,
    url_exists,
    urls_below,
    write_url,
)

OWN = "_cactus"
"""The folder of manifest and records, which readers of whole folders pass over, as for all names with this begin."""


class PartStore(Protocol):
    """Files by their names: each is written as a whole, and is complete or not there. Raises OutputFailed.

    `scratch` is a folder of this machine for files that the next run may continue; from it a file can be put.
    """

    @property
    def scratch(self) -> Path: ...

    def names(self) -> set[str]:
        """The names of all files that are there, without folders."""

    def has(self, name: str) -> bool:
        """True if the file is there."""

    def read(self, name: str) -> bytes | None:
        """The content of a file, None if it is not there."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, or replace it."""

    def put(self, file: Path, name: str) -> None:
        """Move a file of `scratch` to its place, or replace the one that is there."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove files."""


def part_store(target: str) -> PartStore:
    """The store at a URL prefix or a folder, which need not exist."""
    return _UrlStore(target.rstrip("/")) if is_url(target) else _FolderStore(Path(target))


class _FolderStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def scratch(self) -> Path:
        return self._folder / OWN / "unfinished"

    def names(self) -> set[str]:
        with naming_file(self._folder):
            return {path.name for path in self._folder.iterdir() if path.is_file()} if self._folder.is_dir() else set()

    def has(self, name: str) -> bool:
        with naming_file(self._folder):
            return (self._folder / name).exists()

    def read(self, name: str) -> bytes | None:
        path = self._folder / name
        with naming_file(path):
            return path.read_bytes() if path.exists() else None

    def write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with naming_file(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        self.put(part, name)

    def put(self, file: Path, name: str) -> None:
        path = self._folder / name
        with naming_file(path):
            file.replace(path)
            sync_directory(path.parent)

    def remove(self, names: Iterable[str]) -> None:
        with naming_file(self._folder):
            for name in names:
                (self._folder / name).unlink(missing_ok=True)


class _UrlStore:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    @property
    def scratch(self) -> Path:
        return Path(f"{local_name(self._prefix)}.unfinished")

    def names(self) -> set[str]:
        return {PurePosixPath(url).name for url in urls_below(self._prefix)}

    def has(self, name: str) -> bool:
        return url_exists(f"{self._prefix}/{name}")

    def read(self, name: str) -> bytes | None:
        return read_url(f"{self._prefix}/{name}")

    def write(self, name: str, content: bytes) -> None:
        write_url(f"{self._prefix}/{name}", content)

    def put(self, file: Path, name: str) -> None:
        upload(file, f"{self._prefix}/{name}")
        file.unlink()

    def remove(self, names: Iterable[str]) -> None:
        remove_urls([f"{self._prefix}/{name}" for name in names])
