"""A vision model's settings for pictures, as its files give them."""

from __future__ import annotations

from typing import Literal

import msgspec

PictureFamily = Literal["idefics3", "lfm2_vl", "qwen_vl", "gemma3", "gemma4"]
"""The ways of preparing pictures; several model types may share one."""

Resampling = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
"""Filters of resizing, by Pillow's names."""

SERVED_FAMILIES: frozenset[PictureFamily] = frozenset({"idefics3", "lfm2_vl", "gemma3", "gemma4", "qwen_vl"})
"""The families whose encoder the workers compute; models of other families accept only text."""


class PictureConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes and normalisation of a model's pictures; the value of a pixel is (byte * rescale - mean) / std.

    The encoder computes one embedding from `merge_size` x `merge_size` patches of `patch_size` x `patch_size` pixels.
    `image_token_id` is the placeholder of an embedding in the prompt; `start_token_id` and `end_token_id`
    enclose a picture if the family has them. `tile_size` is the side of square tiles, 0 if pictures keep their shape.

    idefics3: the longer side becomes `longest_edge`; the picture `splits` into tiles, followed by a thumbnail.
    lfm2_vl: a picture of more than `max_pixels` * `tolerance` `splits` into `min_tiles` to `max_tiles` tiles, and a
    thumbnail follows if it `has_thumbnail`; any other gets `min_pixels` to `max_pixels`. Without `has_markers` only
    placeholders are written. qwen_vl: `min_pixels` to `max_pixels`. gemma3: a picture that `splits` is followed by 2 to
    `max_tiles` crops along its longer side, of at least `min_crop_side` pixels each, if the longer side is `tolerance`
    times the other one. gemma4: at most `max_pixels`.
    """

    family: PictureFamily
    patch_size: int
    merge_size: int
    image_token_id: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    rescale: float
    resampling: Resampling
    start_token_id: int | None = None
    end_token_id: int | None = None
    tile_size: int = 0
    longest_edge: int = 0
    splits: bool = False
    has_thumbnail: bool = False
    has_markers: bool = True
    min_tiles: int = 1
    max_tiles: int = 1
    min_pixels: int = 0
    max_pixels: int = 0
    tolerance: float = 1.0
    min_crop_side: int = 0

    @property
    def unit(self) -> int:
        """The side in pixels of the square that becomes one embedding."""
        return self.patch_size * self.merge_size
