"""Reads the lines of text files of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.batch.prompt_file import MAX_LINE_BYTES, UTF8_BOM
from cactus_actors.data.table_files import unpacked_file
from cactus_actors.protocol.errors import InvalidRequest


class FileLine(NamedTuple):
    """A line that is not blank, without its line end, or the error of one that is too long."""

    where: str
    content: bytes
    error: InvalidRequest | None = None

    def refused(self, message: str) -> InvalidRequest:
        """An error that names the line."""
        return InvalidRequest(f"{self.where}: {message}", param="row")


def file_lines(files: Sequence[str]) -> Iterator[FileLine]:
    """The lines of all files; raises InputInvalid."""
    for name in files:
        with unpacked_file(name) as stream:
            number = 0
            while chunk := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                where = f"line {number} of {name}"
                if b"\0" in chunk:
                    raise InputInvalid(f"{name}: not_text: a zero byte in line {number}")
                if len(chunk) > MAX_LINE_BYTES:
                    while not chunk.endswith(b"\n") and (chunk := stream.readline(MAX_LINE_BYTES)):
                        pass
                    line = FileLine(where, b"")
                    yield line._replace(error=line.refused(f"longer than {MAX_LINE_BYTES} bytes"))
                    continue
                content = chunk.removeprefix(UTF8_BOM) if number == 1 else chunk
                content = content.rstrip(b"\r\n")
                if content.strip():
                    yield FileLine(where, content)
