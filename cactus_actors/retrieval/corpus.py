"""The documents of a directory."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.retrieval.document_chunks import DocumentChunk, chunks_of

SUFFIXES = frozenset({".md", ".markdown", ".txt", ".text", ".rst"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CorpusLimits:
    """Limits on a corpus."""

    file_bytes: int = 4 << 20
    num_files: int = 10_000
    num_chunks: int = 100_000


@dataclass(frozen=True, slots=True)
class _State:
    """The properties of an unchanged file."""

    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class _Document:
    state: _State
    chunks: tuple[DocumentChunk, ...]


def corpus_directory(directory: Path) -> Path:
    """The absolute path of a directory; raises ConfigurationInvalid for other paths."""
    absolute = directory.expanduser().resolve()
    if not absolute.is_dir():
        raise ConfigurationInvalid(f"{directory}: not a directory", param="corpus_dir")
    return absolute


class Corpus:
    """The text and Markdown files below a directory, cut into chunks.

    Hidden files and directories are ignored. Files that are too large, not UTF-8 text, not readable, links out of
    the directory, or beyond the limits are left out with a warning.
    """

    def __init__(self, directory: Path, limits: CorpusLimits = CorpusLimits()) -> None:
        """Raises ConfigurationInvalid if `path` is not a directory."""
        self.directory = corpus_directory(directory)
        self._limits = limits
        self._documents: dict[str, _Document] = {}
        self._refused: dict[str, _State] = {}
        self.refresh()

    @property
    def chunks(self) -> list[DocumentChunk]:
        """All chunks, in the order of their files' names."""
        chunks = [chunk for _, document in sorted(self._documents.items()) for chunk in document.chunks]
        if len(chunks) > self._limits.num_chunks:
            _log.warning("%s has %d chunks; %d are used", self.directory, len(chunks), self._limits.num_chunks)
        return chunks[: self._limits.num_chunks]

    def refresh(self) -> bool:
        """Read changed files; returns True if there are any."""
        found: dict[str, _Document] = {}
        refused: dict[str, _State] = {}
        for path, state in self._files():
            name = path.relative_to(self.directory).as_posix()
            known = self._documents.get(name)
            if known is not None and known.state == state:
                found[name] = known
            elif self._refused.get(name) == state:
                refused[name] = state
            elif (text := self._text(path, state)) is not None:
                found[name] = _Document(state, tuple(chunks_of(name, text)))
            else:
                refused[name] = state
        has_changed = found != self._documents
        self._documents, self._refused = found, refused
        return has_changed

    def _files(self) -> Iterator[tuple[Path, _State]]:
        num_files = 0
        for parent, directories, names in os.walk(self.directory, onerror=_warn):
            directories[:] = sorted(name for name in directories if not name.startswith("."))
            for name in sorted(names):
                path = Path(parent, name)
                if name.startswith(".") or path.suffix.lower() not in SUFFIXES:
                    continue
                if num_files == self._limits.num_files:
                    _log.warning("%s has more than %d files; the rest is left out", parent, num_files)
                    return
                try:
                    stat = path.stat()
                except OSError as error:
                    _warn(error)
                    continue
                num_files += 1
                yield path, _State(stat.st_size, stat.st_mtime_ns)

    def _text(self, path: Path, state: _State) -> str | None:
        """The file's text, None for a file that is left out."""
        if not path.resolve().is_relative_to(self.directory):
            _log.warning("%s is a link out of the corpus and is skipped", path)
            return None
        if not path.is_file():
            _log.warning("%s is not a file and is skipped", path)
            return None
        if state.size > self._limits.file_bytes:
            _log.warning("%s has more than %d bytes and is skipped", path, self._limits.file_bytes)
            return None
        try:
            with path.open("rb") as file:
                content = file.read(self._limits.file_bytes + 1)
            text = content[: self._limits.file_bytes].decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            _log.warning("%s is skipped: %s", path, error)
            return None
        if "\0" in text:
            _log.warning("%s is binary and is skipped", path)
            return None
        return text


def _warn(error: OSError) -> None:
    _log.warning("%s cannot be read: %s", error.filename, error.strerror)
