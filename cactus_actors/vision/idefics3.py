"""Pictures of Idefics3 and SmolVLM: square tiles in rows, then a thumbnail."""

from __future__ import annotations

import math

from PIL import Image

from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import ProcessedPicture
from cactus_actors.vision.tiles import cut, resized, tile_of

MAX_SIDE = 4096
"""The longest side after the first resizing; larger values in the model's files are reduced to it."""


class Idefics3Pictures:
    """Prepares pictures like transformers' Idefics3ImageProcessor and SmolVLMImageProcessor, with their text."""

    def __init__(self, config: PictureConfig, image_token: str) -> None:
        self.config = config
        self.image_token = image_token

    @property
    def placeholder(self) -> str:
        return self.image_token

    def process(self, picture: Image.Image) -> ProcessedPicture:
        side = self.config.tile_size
        picture = resized(picture, *_first_size(*picture.size, self.config.longest_edge), self.config)
        if not self.config.splits:
            return ProcessedPicture.of([tile_of(resized(picture, side, side, self.config), self.config)], self._whole())
        picture = resized(picture, *_whole_tiles(*picture.size, side), self.config)
        rows = cut(picture, side)
        if len(rows) == len(rows[0]) == 1:
            return ProcessedPicture.of([tile_of(picture, self.config)], self._whole())
        parts = [part for row in rows for part in row]
        tiles = [tile_of(part, self.config) for part in (*parts, resized(picture, side, side, self.config))]
        return ProcessedPicture.of(tiles, f"{self._grid(len(rows), len(rows[0]))}\n{self._whole()}")

    def _whole(self) -> str:
        """The text of the last tile, which shows the whole picture."""
        return f"<fake_token_around_image><global-img>{self.image_token}<fake_token_around_image>"

    def _grid(self, num_rows: int, num_columns: int) -> str:
        return "".join(
            "".join(
                f"<fake_token_around_image><row_{row}_col_{column}>{self.image_token}"
                for column in range(1, num_columns + 1)
            )
            + "\n"
            for row in range(1, num_rows + 1)
        )


def _first_size(width: int, height: int, longest: int) -> tuple[int, int]:
    """The size with the longer side `longest`, at most MAX_SIDE; the other side is rounded up to an even number."""
    ratio = width / height
    if width >= height:
        width, height = longest, int(longest / ratio)
        height += height % 2
    else:
        width, height = int(longest * ratio), longest
        width += width % 2
    width, height = max(width, 1), max(height, 1)
    ratio = width / height
    if width >= height and width > MAX_SIDE:
        width, height = MAX_SIDE, int(MAX_SIDE / ratio)
    elif height > width and height > MAX_SIDE:
        width, height = int(MAX_SIDE * ratio), MAX_SIDE
    return max(width, 1), max(height, 1)


def _whole_tiles(width: int, height: int, side: int) -> tuple[int, int]:
    """The size in whole tiles: the longer side is rounded up; the other one then follows from the ratio."""
    ratio = width / height
    if width >= height:
        width = math.ceil(width / side) * side
        return width, math.ceil(int(width / ratio) / side) * side
    height = math.ceil(height / side) * side
    return math.ceil(int(height * ratio) / side) * side, height
