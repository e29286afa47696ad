"""Records with a sum behind them, by which damage is known."""

from __future__ import annotations

import zlib


class Damaged(Exception):
    """A record whose sum is not that of its bytes."""


def with_sum(record: bytes) -> bytes:
    """A record with its CRC-32 behind it."""
    return record + zlib.crc32(record).to_bytes(4, "little")


def checked(record: object) -> bytes:
    """A record without its sum; raises Damaged if that is wrong."""
    if not isinstance(record, bytes):  # whatever the column is said to be
        raise Damaged("it is not a record")
    if zlib.crc32(record[:-4]).to_bytes(4, "little") != record[-4:]:
        raise Damaged("its checksum is wrong")
    return record[:-4]
