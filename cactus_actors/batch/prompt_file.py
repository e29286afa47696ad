"""Reads a prompt file line by line, in constant memory."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Self

from cactus_actors.batch.batch_errors import InputInvalid, naming_file
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES

Format = Literal["jsonl", "text"]
MAX_LINE_BYTES = MAX_MESSAGE_BYTES
GZIP = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
# first bytes -> the kind of such a file
_NOT_TEXT = {
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class RawLine(NamedTuple):
    """A line that is not blank; `content` is None when it is longer than MAX_LINE_BYTES.

    `number` counts all lines from 1, `offset` is the position of its first byte in the file. A line with an `error`
    has no prompt.
    """

    number: int
    offset: int
    content: bytes | None
    error: InvalidRequest | None = None


class PromptFile:
    """An open prompt file, plain or gzip; `digest` is the SHA-256 of the text read so far.

    `stamp` changes with most modifications, and sometimes without one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hash = hashlib.sha256()
        self._stored = _open_regular(path)
        self._file: BinaryIO | gzip.GzipFile = self._stored
        self._num_whole = 0
        status = os.fstat(self._stored.fileno())
        self.stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        try:
            self._head = self._file.peek(4096)[:4096]  # type: ignore[attr-defined]
            if self._head.startswith(GZIP):
                self._file = gzip.GzipFile(fileobj=self._stored)
                self._head = self._file.peek(4096)[:4096]
            elif path.suffix.lower() == ".gz":
                raise InputInvalid(
                    f"{path}: not_gzip: the name ends in .gz and the content is not gzip; "
                    "a file that is not packed needs another name"
                )
            _check_text(path, self._head)
        except (OSError, EOFError, zlib.error) as error:
            self._close()
            raise self._unreadable(error) from None
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._file.close()
        self._stored.close()

    @property
    def name(self) -> str:
        return str(self.path)

    def reopened(self) -> PromptFile:
        """Another pass over the file."""
        return PromptFile(self.path)

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the bytes read so far; of the whole file once `lines` is exhausted."""
        return self._hash.hexdigest()

    def format(self) -> Format:
        """JSON lines or plain text, by the suffix of the file, otherwise by its first line."""
        name = self.path.with_suffix("") if self.path.suffix.lower() == ".gz" else self.path
        match name.suffix.lower():
            case ".jsonl" | ".ndjson" | ".json":
                return "jsonl"
            case ".txt" | ".text" | ".md":
                return "text"
        first = self._head.removeprefix(UTF8_BOM).lstrip()[:1]
        return "jsonl" if first in (b"{", b'"') else "text"

    def lines(self) -> Iterator[RawLine]:
        """Every line that is not blank, without its line end; can be read once."""
        number = offset = 0
        while chunk := self._read(MAX_LINE_BYTES + 1):
            number += 1
            begin, offset = offset, offset + len(chunk)
            is_too_long = len(chunk) > MAX_LINE_BYTES
            self._check_no_hole(begin, chunk)
            while not chunk.endswith(b"\n") and (chunk_end := self._read(MAX_LINE_BYTES + 1)):
                is_too_long = True
                self._check_no_hole(offset, chunk_end)
                offset += len(chunk_end)
                chunk = chunk_end
            if is_too_long:
                yield RawLine(number, begin, None)
                continue
            content = chunk.removeprefix(UTF8_BOM) if begin == 0 else chunk
            content = content.rstrip(b"\r\n")
            if content.strip():
                yield RawLine(number, begin + chunk.find(content), content)

    def _check_no_hole(self, offset: int, chunk: bytes) -> None:
        """Refuse sparse files, which may continue for terabytes."""
        if len(chunk) > MAX_LINE_BYTES and chunk.endswith(b"\0") and not chunk.strip(b"\0"):
            raise InputInvalid(f"{self.path}: not_text: nothing but zero bytes from offset {offset} on")

    def _read(self, limit: int) -> bytes:
        try:
            chunk = self._file.readline(limit)
        except (OSError, EOFError, zlib.error) as error:
            raise self._unreadable(error) from None
        self._hash.update(chunk)
        self._num_whole += chunk.endswith(b"\n")
        return chunk

    def _unreadable(self, error: Exception) -> InputInvalid:
        if isinstance(error, OSError) and error.strerror:
            return InputInvalid(f"{self.path}: {error.strerror}")
        what = "cut short" if isinstance(error, EOFError) else "damaged"
        whole = f"lines 1 to {self._num_whole} were read before it" if self._num_whole else "no line of it is whole"
        return InputInvalid(f"{self.path}: the gzip file is {what}; {whole}, and nothing was run")


def _open_regular(path: Path) -> BinaryIO:
    with naming_file(path, InputInvalid):
        # O_NONBLOCK: opening a FIFO without a writer would block
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise InputInvalid(f"{path}: is {kind}")
    return os.fdopen(descriptor, "rb")


def _check_text(path: Path, head: bytes) -> None:
    for magic, kind in _NOT_TEXT.items():
        if head.startswith(magic):
            raise InputInvalid(f"{path}: not_text: this is {kind}; prompts are UTF-8 text")
    if (place := head.find(b"\0")) >= 0:
        raise InputInvalid(f"{path}: not_text: a zero byte at offset {place}; prompts are UTF-8 text")
