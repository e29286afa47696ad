"""Pictures of Gemma 4: one tile of nearly the picture's shape, as large as the number of tokens allows."""

from __future__ import annotations

import math

from PIL import Image

from cactus_actors.protocol.errors import MediaInvalid
from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import ProcessedPicture
from cactus_actors.vision.tiles import resized, tile_of


class Gemma4Pictures:
    """Prepares pictures like transformers' Gemma4ImageProcessor, with the text of Gemma4Processor."""

    def __init__(self, config: PictureConfig, image_token: str, start: str, end: str) -> None:
        self.config = config
        self.image_token = image_token
        self._text = f"{start}{image_token}{end}"

    @property
    def placeholder(self) -> str:
        return self.image_token

    def process(self, picture: Image.Image) -> ProcessedPicture:
        width, height = _size(*picture.size, self.config)
        return ProcessedPicture.of([tile_of(resized(picture, width, height, self.config), self.config)], self._text)


def _size(width: int, height: int, config: PictureConfig) -> tuple[int, int]:
    """The largest size in whole tokens within `max_pixels` with nearly the same ratio of sides."""
    unit = config.unit
    scale = math.sqrt(config.max_pixels / (width * height))
    columns, rows = math.floor(scale * width / unit), math.floor(scale * height / unit)
    max_tokens = config.max_pixels // unit**2
    if rows == 0 and columns > 0:
        columns, rows = min(width // height, max_tokens), 1
    elif columns == 0 and rows > 0:
        columns, rows = 1, min(height // width, max_tokens)
    if not 0 < columns * rows <= max_tokens:
        raise MediaInvalid(f"the model takes no picture of {width} x {height} pixels")
    return columns * unit, rows * unit
