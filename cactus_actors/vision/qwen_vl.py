"""Pictures of Qwen's vision models and LFM3-VL: one tile of nearly the picture's shape."""

from __future__ import annotations

import math

from PIL import Image

from cactus_actors.protocol.errors import MediaInvalid
from cactus_actors.protocol.pictures import MAX_PATCHES
from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import ProcessedPicture
from cactus_actors.vision.tiles import resized, tile_of

MAX_RATIO = 200
"""The largest ratio of a picture's sides that the models accept."""


class QwenPictures:
    """Prepares pictures like transformers' Qwen2VLImageProcessor, with the text of Qwen3VLProcessor."""

    def __init__(self, config: PictureConfig, image_token: str, start: str = "", end: str = "") -> None:
        """`start` and `end` are written by the chat template, around the image token."""
        self.config = config
        self.image_token = image_token
        self._marked_text = f"{start}{image_token}{end}"

    @property
    def placeholder(self) -> str:
        return self.image_token

    def process(self, picture: Image.Image) -> ProcessedPicture:
        picture = resized(picture, *_size(*picture.size, self.config), self.config)
        return ProcessedPicture.of([tile_of(picture, self.config)], self.image_token, self._marked_text)


def _size(width: int, height: int, config: PictureConfig) -> tuple[int, int]:
    """The nearest size in whole tokens within `min_pixels` and `max_pixels`, with about the same ratio of sides.

    It has at most MAX_PATCHES patches.
    """
    if max(width, height) / min(width, height) > MAX_RATIO:
        raise MediaInvalid(f"the model takes no picture of {width} x {height} pixels: one side is too long")
    unit, max_pixels = config.unit, min(config.max_pixels, MAX_PATCHES * config.patch_size**2)
    columns, rows = round(width / unit), round(height / unit)
    if columns * rows * unit**2 > max_pixels:
        scale = math.sqrt(width * height / max_pixels)
        columns, rows = (max(1, math.floor(side / scale / unit)) for side in (width, height))
    elif columns * rows * unit**2 < config.min_pixels:
        scale = math.sqrt(config.min_pixels / (width * height))
        columns, rows = (math.ceil(side * scale / unit) for side in (width, height))
    return columns * unit, rows * unit
