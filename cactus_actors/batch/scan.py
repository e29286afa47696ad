"""The pass over a prompt file before anything runs: what it is, and that its lines can be told apart."""

from __future__ import annotations

import hashlib

import msgspec

from cactus_actors.batch.failures import InputInvalid
from cactus_actors.batch.lines import decode_line
from cactus_actors.batch.reader import Format, PromptFile


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """`num_lines` counts lines that are not blank; `model` is the first that a line names."""

    sha256: str
    num_lines: int
    model: str | None


def scan(file: PromptFile, form: Format) -> Scan:
    """Read all of `file`; raises InputInvalid naming both lines of a custom_id that is used twice."""
    line_of_id: dict[int, int] = {}
    model: str | None = None
    num_lines = 0
    for raw in file.lines():
        try:
            line = decode_line(raw, form)
        except InputInvalid as error:
            raise InputInvalid(f"{file.path}: {error.message}") from None
        num_lines += 1
        model = model or line.model
        earlier = line_of_id.setdefault(id_key(line.custom_id), line.number)
        if earlier != line.number:
            raise InputInvalid(
                f"{file.path}: custom_id {line.custom_id[:60]!r} is on line {earlier} "
                f"and on line {line.number}"
            )
    return Scan(sha256=file.digest, num_lines=num_lines, model=model)


def id_key(custom_id: str) -> int:
    """64 bits that stand for a custom_id, so that a million of them fit in little memory."""
    return int.from_bytes(hashlib.blake2b(custom_id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
