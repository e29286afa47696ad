"""The treatment of pictures that a file of an encoder describes is that of the directory it was made from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.text import load_text_model
from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.workers.loading.model_reader import read_model
from tests.goldens.sample_pictures import sample_picture
from tests.goldens.to_mmproj import Pair, write_pair
from tests.support.models.served_pictures import write_served_model

MESSAGES = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}]


@pytest.fixture(params=["smolvlm", "lfm2-vl"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A model whose sizes are those that GGUF files of its kind stand for."""
    path = write_served_model(tmp_path / "directory", request.param)
    if request.param == "lfm2-vl":
        processor = json.loads((path / "preprocessor_config.json").read_text())
        given = ("image_mean", "image_std", "rescale_factor", "encoder_patch_size")
        (path / "preprocessor_config.json").write_text(json.dumps({key: processor[key] for key in given}))
    return path


@pytest.fixture
def pair(directory: Path, tmp_path: Path) -> Pair:
    return write_pair(directory, tmp_path / "files")


def config_of(path: Path, **overrides: str) -> PictureConfig:
    pictures = load_text_model(path, ModelOverrides(**overrides)).pictures
    assert pictures is not None
    return pictures.config


def test_the_settings_are_equal(directory: Path, pair: Pair) -> None:
    assert config_of(pair.text) == config_of(pair.text, mmproj=str(pair.mmproj)) == config_of(directory)


def test_the_settings_of_gemma3_are_equal(tmp_path: Path) -> None:
    directory = write_served_model(tmp_path / "directory", "gemma3")
    pair = write_pair(directory, tmp_path / "files")
    found, expected = config_of(pair.text), config_of(directory)
    assert np.allclose(found.mean + found.std, expected.mean + expected.std)  # the file has them as float32
    assert msgspec.structs.replace(found, mean=expected.mean, std=expected.std) == expected
    pair = write_pair(directory, tmp_path / "released", changes={"clip.vision.projector.scale_factor": None})
    with pytest.raises(ModelFileInvalid, match=r"clip.vision.image_size is 30: not a multiple of 3 \(a patch\) \* 4"):
        load_text_model(pair.text)


def test_the_settings_of_gemma4_are_equal(tmp_path: Path) -> None:
    directory = write_served_model(tmp_path / "directory", "gemma4")
    processor = json.loads((directory / "preprocessor_config.json").read_text()) | {"max_soft_tokens": 280}
    (directory / "preprocessor_config.json").write_text(json.dumps(processor))
    assert config_of(write_pair(directory, tmp_path / "files").text) == config_of(directory)
    released = write_pair(directory, tmp_path / "released", changes={"clip.vision.projector.scale_factor": None})
    assert (config_of(released.text).merge_size, config_of(released.text).max_pixels) == (3, 280 * 12**2)


def test_the_settings_of_qwen3_vl_are_equal(tmp_path: Path) -> None:
    directory = write_served_model(tmp_path / "directory", "qwen3-vl")
    processor = json.loads((directory / "preprocessor_config.json").read_text())
    processor["size"] = {"shortest_edge": 64 * 8**2, "longest_edge": 16384 * 8**2}  # of the released models, in tokens
    (directory / "preprocessor_config.json").write_text(json.dumps(processor))
    expected = config_of(directory)
    assert config_of(write_pair(directory, tmp_path / "files").text) == expected
    bounds = {"clip.vision.image_min_pixels": 256, "clip.vision.image_max_pixels": 1024}
    with_bounds = write_pair(directory, tmp_path / "bounds", changes=bounds)
    assert config_of(with_bounds.text) == msgspec.structs.replace(expected, min_pixels=256, max_pixels=1024)


def test_encoders_scale_pixels_alike(directory: Path, pair: Pair) -> None:
    expected, found = read_model(directory).config.vision, read_model(*pair).config.vision
    assert expected is not None
    assert found is not None
    assert np.allclose(found.scaling.mean + found.scaling.std, expected.scaling.mean + expected.scaling.std)
    assert (found.scaling.rescale, found.image_token_id) == (expected.scaling.rescale, expected.image_token_id)


@pytest.mark.parametrize("size", [(40, 30), (400, 90), (7, 900), (1, 1)])
def test_prompts_and_tiles_are_equal(directory: Path, pair: Pair, size: tuple[int, int]) -> None:
    prompts = []
    for path in (directory, pair.text):
        model = load_text_model(path)
        assert model.pictures is not None
        picture = model.pictures.process(sample_picture(*size, 0))
        prompts.append((model.chat_prompt(MESSAGES, pictures=[picture]).ids, picture))
    assert prompts[0] == prompts[1]


def test_the_longest_edge_is_four_tiles_where_the_file_has_none(tmp_path: Path) -> None:
    directory = write_served_model(tmp_path / "directory", "smolvlm")
    pair = write_pair(directory, tmp_path / "older", changes={"clip.vision.preproc_image_size": None})
    assert config_of(pair.text).longest_edge == 4 * 24


def test_a_file_beside_the_model_changes_its_fingerprint(pair: Pair) -> None:
    with_encoder = load_text_model(pair.text).fingerprint
    alone = load_text_model(pair.text, ModelOverrides(mmproj="none"))
    assert alone.pictures is None
    assert alone.fingerprint != with_encoder
    shutil.move(pair.mmproj, pair.mmproj.with_name("elsewhere.gguf"))
    assert load_text_model(pair.text).fingerprint == alone.fingerprint
