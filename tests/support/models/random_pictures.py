"""Pictures of seeded pixels, and prompts with their placeholders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cactus_actors.protocol.pictures import PictureTile, PreparedPicture

TileSize = tuple[int, int, int]
"""Width and height in pixels, and the number of embeddings."""


def random_tile(size: TileSize, *seed: int) -> PictureTile:
    """Coarse spots and fine noise, so that neighbouring patches are alike and distant ones are not."""
    width, height, num_tokens = size
    generator = np.random.default_rng([*size, *seed])
    coarse = generator.integers(0, 256, (-(-height // 5), -(-width // 5), 3))
    spots = np.kron(coarse, np.ones((5, 5, 1), dtype=np.int64))[:height, :width]
    pixels = (3 * spots + generator.integers(0, 256, (height, width, 3))) // 4
    return PictureTile(width, height, num_tokens, pixels.astype(np.uint8).tobytes())


def random_picture(sizes: Sequence[Sequence[int]], *seed: int) -> PreparedPicture:
    """A picture with tiles of these sizes."""
    tiles = []
    for number, (width, height, num_tokens) in enumerate(sizes):
        tiles.append(random_tile((width, height, num_tokens), *seed, number))
    return PreparedPicture.of(tiles)


def like(picture: PreparedPicture, *seed: int) -> PreparedPicture:
    """Another picture of the same sizes."""
    return random_picture([(tile.width, tile.height, tile.num_tokens) for tile in picture.tiles], *seed)


def prompt_with(pictures: Sequence[PreparedPicture], image_token_id: int, text: Sequence[int]) -> list[int]:
    """Placeholders of the pictures, with a token of `text` before each tile and the rest of it at the end."""
    rest = list(text)
    token_ids = []
    for picture in pictures:
        for tile in picture.tiles:
            token_ids += [rest.pop(0)] + [image_token_id] * tile.num_tokens
    return token_ids + rest


def image_token_id_of(config: Mapping[str, Any]) -> int:
    """The placeholder of config.json."""
    return int(config["image_token_index" if "image_token_index" in config else "image_token_id"])
