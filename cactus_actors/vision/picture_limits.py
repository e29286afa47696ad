"""Limits on the pictures of a request."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.protocol.pictures import (
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    MAX_PREPARED_BYTES,
    MAX_REQUEST_PICTURE_BYTES,
)


class PictureLimits(NamedTuple):
    """Limits on the number of pictures, and on the encoded bytes and the pixels of each and of all.

    The limits on pixels bound the time and the memory of the preparation process; `max_prepared_bytes` bounds the
    tiles of a request, and so the messages between router and worker.
    """

    max_pictures: int = MAX_PICTURES
    max_bytes: int = MAX_PICTURE_BYTES
    max_total_bytes: int = MAX_REQUEST_PICTURE_BYTES
    max_pixels: int = 32_000_000
    max_total_pixels: int = 48_000_000
    max_prepared_bytes: int = MAX_PREPARED_BYTES


LIMITS = PictureLimits()
