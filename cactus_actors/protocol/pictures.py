"""Pictures of a request, prepared for the encoder of a model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

MAX_PREPARED_BYTES = 64 << 20
"""The most pixels of a request's pictures, in bytes."""
MAX_PICTURES = 32
"""The most pictures of a request."""
MAX_PICTURE_BYTES = 16 << 20
"""The most bytes of a picture, as its file has them."""
MAX_REQUEST_PICTURE_BYTES = 24 << 20
"""The most bytes of the pictures of a request, as their files have them; each content counts once."""


class PictureFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture that comes beside its request, in a frame of its own; `frame` counts these frames from 0."""

    frame: int


GivenPicture = str | PictureFrame
"""A picture as a request names it: a path or a URL, or a frame."""

MAX_PATCHES = 1 << 14
"""Patches of a tile, which all attend to each other: 2048 x 2048 pixels have as many of 16 x 16."""


class PictureTile(msgspec.Struct, frozen=True, array_like=True):
    """A part of a picture that the encoder sees at once: RGB, 8 bits, rows from the top.

    `width` and `height` are in pixels, multiples of the model's patch size and merge factor. The model gives
    `num_tokens` embeddings for it, which take the places of as many placeholder tokens of the prompt. `pixels` are
    height * width * 3 bytes, before normalisation.
    """

    width: int
    height: int
    num_tokens: int
    pixels: bytes


class PreparedPicture(msgspec.Struct, frozen=True, array_like=True):
    """A picture as the model's encoder takes it.

    `digest` is the SHA-256 of the sizes and pixels of all tiles: the identity of the picture in caches.
    """

    digest: bytes
    tiles: list[PictureTile]

    @classmethod
    def of(cls, tiles: Sequence[PictureTile]) -> PreparedPicture:
        """The picture of `tiles`, with its digest."""
        digest = hashlib.sha256()
        for tile in tiles:
            for number in (tile.width, tile.height, tile.num_tokens):
                digest.update(number.to_bytes(4, "little"))
            digest.update(tile.pixels)
        return cls(digest.digest(), list(tiles))

    @property
    def num_tokens(self) -> int:
        """The number of placeholder tokens in the prompt."""
        return sum(tile.num_tokens for tile in self.tiles)

    @property
    def num_bytes(self) -> int:
        """The size of its pixels."""
        return sum(len(tile.pixels) for tile in self.tiles)
