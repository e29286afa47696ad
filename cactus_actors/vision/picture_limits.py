"""The largest pictures that a request may bring."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.protocol.pictures import MAX_PREPARED_BYTES


class PictureLimits(NamedTuple):
    """Pictures of a request, encoded bytes and pixels of each, and pixels of all together.

    The limits on pixels keep decoding and resizing within the time and the memory of the preparation process,
    `max_prepared_bytes`, of the tiles of a request, those of the messages between router and worker.
    """

    max_pictures: int = 32
    max_bytes: int = 16 << 20
    max_pixels: int = 32_000_000
    max_total_pixels: int = 48_000_000
    max_prepared_bytes: int = MAX_PREPARED_BYTES


LIMITS = PictureLimits()
