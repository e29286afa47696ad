"""Pictures of Gemma 3: each is resized to one square tile; crops of long ones may follow (pan and scan)."""

from __future__ import annotations

import math

from PIL import Image

from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import ProcessedPicture
from cactus_actors.vision.tiles import resized, tile_of


class Gemma3Pictures:
    """Prepares pictures like transformers' Gemma3ImageProcessor, with the text of Gemma3Processor."""

    def __init__(self, config: PictureConfig, image_token: str, start: str, end: str) -> None:
        self.config = config
        self.image_token = image_token
        self.placeholder = start
        self._text_of_tile = f"\n\n{start}{image_token}{end}\n\n"

    def process(self, picture: Image.Image) -> ProcessedPicture:
        side = self.config.tile_size
        crops = _crops(picture, self.config) if self.config.splits else []
        tiles = [tile_of(resized(part, side, side, self.config), self.config) for part in (picture, *crops)]
        return ProcessedPicture.of(tiles, self._text(len(crops)))

    def _text(self, num_crops: int) -> str:
        if not num_crops:
            return self._text_of_tile
        crops = " ".join([self._text_of_tile] * num_crops)
        return f"Here is the original image {self._text_of_tile} and here are some crops to help you see better {crops}"


def _crops(picture: Image.Image, config: PictureConfig) -> list[Image.Image]:
    """Parts of a picture side by side along its longer side; none for one that is nearly square or small."""
    longer, shorter = max(picture.size), min(picture.size)
    if longer / shorter < config.tolerance:
        return []
    count = min(math.floor(longer / shorter + 0.5), longer // config.min_crop_side)
    count = min(max(count, 2), config.max_tiles)
    length = math.ceil(longer / count)
    if min(length, shorter) < config.min_crop_side:
        return []
    spans = [(first, min(first + length, longer)) for first in range(0, longer, length)]
    if picture.width >= picture.height:
        return [picture.crop((first, 0, end, picture.height)) for first, end in spans]
    return [picture.crop((0, first, picture.width, end)) for first, end in spans]
