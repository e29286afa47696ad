"""Pictures of LFM2-VL: a small picture keeps its shape, a large one becomes a grid of tiles and a thumbnail."""

from __future__ import annotations

import math

from PIL import Image

from cactus_actors.protocol.errors import MediaInvalid
from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import ProcessedPicture
from cactus_actors.vision.tiles import cut, resized, tile_of


class LFM2Pictures:
    """Prepares pictures like transformers' Lfm2VlImageProcessor, with the text of Lfm2VlProcessor."""

    def __init__(self, config: PictureConfig, image_token: str) -> None:
        self.config = config
        self.image_token = image_token
        self._grids = _grids(config.min_tiles, config.max_tiles)

    @property
    def placeholder(self) -> str:
        return self.image_token

    def process(self, picture: Image.Image) -> ProcessedPicture:
        config = self.config
        whole = _bounded(*picture.size, config)
        if not (config.splits and _is_large(*picture.size, config)):
            return ProcessedPicture.of(
                [tile_of(resized(picture, *whole, config), config)], self._marked(self.image_token)
            )
        num_columns, num_rows = self._grid(*picture.size)
        side = config.tile_size
        rows = cut(resized(picture, num_columns * side, num_rows * side, config), side)
        parts = [part for row in rows for part in row]
        text = "".join(
            self._marker(f"<|img_row_{row}_col_{column}|>") + self.image_token
            for row in range(1, num_rows + 1)
            for column in range(1, num_columns + 1)
        )
        if config.has_thumbnail and len(parts) > 1:
            parts.append(resized(picture, *whole, config))
            text += self._marker("<|img_thumbnail|>") + self.image_token
        return ProcessedPicture.of([tile_of(part, config) for part in parts], self._marked(text))

    def _grid(self, width: int, height: int) -> tuple[int, int]:
        """The columns and rows nearest to the picture's ratio of sides; a large picture gets the larger of two."""
        ratio, best = width / height, (1, 1)
        best_distance = math.inf
        for columns, rows in self._grids:
            distance = abs(ratio - columns / rows)
            is_large = width * height > 0.5 * self.config.tile_size**2 * columns * rows
            if distance < best_distance or (distance == best_distance and is_large):
                best_distance, best = distance, (columns, rows)
        return best

    def _marker(self, text: str) -> str:
        return text if self.config.has_markers else ""

    def _marked(self, text: str) -> str:
        return self._marker("<|image_start|>") + text + self._marker("<|image_end|>")


def _grids(min_tiles: int, max_tiles: int) -> list[tuple[int, int]]:
    """All grids with that many tiles, as columns and rows, ordered by the number of tiles."""
    # the order of equally many tiles is that of a set, as in Lfm2VlImageProcessor: it decides between equal distances
    found = {
        (columns, rows)
        for num_tiles in range(min_tiles, max_tiles + 1)
        for columns in range(1, num_tiles + 1)
        for rows in range(1, num_tiles + 1)
        if min_tiles <= columns * rows <= max_tiles
    }
    return sorted(found, key=lambda grid: grid[0] * grid[1])


def _is_large(width: int, height: int, config: PictureConfig) -> bool:
    """True if the picture is cut into tiles."""
    sides = (max(config.patch_size, round(side / config.unit) * config.unit) for side in (width, height))
    return math.prod(sides) > config.max_pixels * config.tolerance


def _bounded(width: int, height: int, config: PictureConfig) -> tuple[int, int]:
    """The nearest size in whole tokens within `min_pixels` and `max_pixels`, with about the same ratio of sides."""
    unit = config.unit
    columns, rows = max(1, round(width / unit)), max(1, round(height / unit))
    if columns * rows * unit**2 > config.max_pixels:
        scale = math.sqrt(width * height / config.max_pixels)
        columns, rows = (max(1, math.floor(side / scale / unit)) for side in (width, height))
    elif columns * rows * unit**2 < config.min_pixels:
        scale = math.sqrt(config.min_pixels / (width * height))
        columns, rows = (math.ceil(side * scale / unit) for side in (width, height))
        if columns * rows * unit**2 > max(config.max_pixels, config.tile_size**2 if config.splits else 0):
            raise MediaInvalid(f"the model takes no picture of {width} x {height} pixels: one side is too long")
    return columns * unit, rows * unit
