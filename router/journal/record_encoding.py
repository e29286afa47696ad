"""Encodes the journal's records: MessagePack, followed by a checksum that reveals damage."""

from __future__ import annotations

import zlib
from typing import TypeVar

import msgspec

from cactus_actors.router.state.journal_records import (
    AcceptedEntry,
    AcceptedRecord,
    EndedRecord,
    JobTier,
    JournalProgress,
)

R = TypeVar("R")

_encode = msgspec.msgpack.Encoder().encode
_accepted_decoder = msgspec.msgpack.Decoder(AcceptedRecord)
_entry_decoder = msgspec.msgpack.Decoder(AcceptedEntry)
_ended_decoder = msgspec.msgpack.Decoder(EndedRecord)
_progress_decoder = msgspec.msgpack.Decoder(JournalProgress)


class DamagedRecord(Exception):
    """A column does not hold a record of its kind."""


def encoded(record: AcceptedEntry | EndedRecord | JournalProgress) -> bytes:
    """A record, followed by its CRC-32."""
    content = _encode(record)
    return content + zlib.crc32(content).to_bytes(4, "little")


def decoded_accepted(column: object) -> AcceptedRecord:
    """The record of a column; raises DamagedRecord."""
    return _decoded(_accepted_decoder, column).completed()


def with_tier(column: object, tier: JobTier) -> bytes:
    """The column of an accepted job with another tier; raises DamagedRecord."""
    return encoded(msgspec.structs.replace(_decoded(_entry_decoder, column), tier=tier))


def decoded_ended(column: object) -> EndedRecord:
    """The record of a column; raises DamagedRecord."""
    return _decoded(_ended_decoder, column)


def decoded_progress(column: object) -> JournalProgress:
    """The record of a column; raises DamagedRecord."""
    return _decoded(_progress_decoder, column)


def _decoded(decoder: msgspec.msgpack.Decoder[R], column: object) -> R:
    if not isinstance(column, bytes):  # SQLite columns may hold any type
        raise DamagedRecord("it is not a record")
    content = column[:-4]
    if zlib.crc32(content).to_bytes(4, "little") != column[-4:]:
        raise DamagedRecord("its checksum is wrong")
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, MemoryError) as error:
        raise DamagedRecord(str(error)) from error
