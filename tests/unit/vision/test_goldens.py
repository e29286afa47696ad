"""Pictures become the same tiles and the same tokens as with transformers' processors."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cactus_actors.protocol.pictures import PictureTile
from tests.goldens.sample_pictures import sample_picture, sampled
from tests.support.models.vision_models import PICTURE_MODELS, vision_model

DIRECTORIES = sorted(PICTURE_MODELS.iterdir())
MAX_STEPS = {"lfm2-vl": 1}
"""Torch resizes bytes by another rounding than Pillow."""


def pixels_of(tile: PictureTile) -> np.ndarray:
    return np.frombuffer(tile.pixels, np.uint8).reshape(tile.height, tile.width, 3)


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.name)
def test_tiles_and_tokens_equal_those_of_transformers(directory: Path) -> None:
    model = vision_model(directory)
    assert model.pictures is not None
    for case in json.loads((directory / "reference.json").read_text())["cases"]:
        pictures = [
            model.pictures.process(sample_picture(width, height, case["seed"])) for width, height in case["sizes"]
        ]
        asked = f"of {tuple(case['sizes'][-1])}?"
        content: list[Any] = [part for _ in pictures for part in ({"type": "image"}, {"type": "text", "text": asked})]
        prompt = model.chat_prompt([{"role": "user", "content": content}], pictures=pictures)
        assert prompt.ids == case["ids"]
        tiles = [tile for one in pictures for tile in one.picture.tiles]
        assert [(tile.width, tile.height) for tile in tiles] == [(width, height) for width, height, _ in case["tiles"]]
        for tile, (*_, encoded) in zip(tiles, case["tiles"], strict=True):
            expected = np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(-1, 3)
            steps = np.abs(sampled(pixels_of(tile)).astype(int) - expected).max()
            assert steps <= MAX_STEPS.get(directory.name, 0)


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.name)
def test_text_that_resembles_a_placeholder_is_text(directory: Path) -> None:
    model = vision_model(directory)
    assert model.pictures is not None
    written = f"{model.pictures.placeholder}{model.pictures.image_token}"
    [picture] = [model.pictures.process(sample_picture(30, 20, seed=1))]
    content = [{"type": "image"}, {"type": "text", "text": written}]
    prompt = model.chat_prompt([{"role": "user", "content": content}], pictures=[picture])
    assert prompt.ids.count(model.pictures.config.image_token_id) == picture.picture.num_tokens
    plain = model.chat_prompt([{"role": "user", "content": written}])
    assert model.pictures.config.image_token_id not in plain.ids
    assert written in model.tokenizer.decode(plain.ids)
