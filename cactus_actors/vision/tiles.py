"""Resizes pictures and cuts them into tiles."""

from __future__ import annotations

from PIL import Image

from cactus_actors.protocol.pictures import PictureTile
from cactus_actors.vision.picture_config import PictureConfig


def resized(picture: Image.Image, width: int, height: int, config: PictureConfig) -> Image.Image:
    """The picture in another size, by the model's filter."""
    return picture.resize((width, height), Image.Resampling[config.resampling.upper()])


def tile_of(picture: Image.Image, config: PictureConfig) -> PictureTile:
    """A picture whose sides are multiples of `config.unit` as a tile."""
    columns, rows = picture.width // config.unit, picture.height // config.unit
    assert (columns * config.unit, rows * config.unit) == picture.size, "the families resize to whole tokens"
    return PictureTile(picture.width, picture.height, columns * rows, picture.tobytes())


def cut(picture: Image.Image, side: int) -> list[list[Image.Image]]:
    """The squares of a picture, row by row; its sides are multiples of `side`."""
    return [
        [picture.crop((left, top, left + side, top + side)) for left in range(0, picture.width, side)]
        for top in range(0, picture.height, side)
    ]
