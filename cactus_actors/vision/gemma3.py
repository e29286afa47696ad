"""Pictures of Gemma 3: each is resized to one square tile."""

from __future__ import annotations

from PIL import Image

from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import ProcessedPicture
from cactus_actors.vision.tiles import resized, tile_of


class Gemma3Pictures:
    """Prepares pictures like transformers' Gemma3ImageProcessor without pan and scan, with Gemma3Processor's text."""

    def __init__(self, config: PictureConfig, image_token: str, start: str, end: str) -> None:
        self.config = config
        self.image_token = image_token
        self.placeholder = start
        self._text = f"\n\n{start}{image_token}{end}\n\n"

    def process(self, picture: Image.Image) -> ProcessedPicture:
        side = self.config.tile_size
        return ProcessedPicture.of([tile_of(resized(picture, side, side, self.config), self.config)], self._text)
