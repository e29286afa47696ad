"""The encoders of pictures that config.json and its neighbours describe, and the ones that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.pictures import PictureTile
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_of_architectures
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.patches import bucketed_positions, grouped, patches_of
from cactus_actors.workers.spec.vision_config import pixel_scaling
from tests.support.models.family_configs import SHAPE

SMOLVLM, IDEFICS3 = "SmolVLMForConditionalGeneration", "Idefics3ForConditionalGeneration"
VISION = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 4,
}
CONFIG = {"text_config": SHAPE, "vision_config": VISION, "image_token_id": 60, "scale_factor": 4}
PROCESSOR = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.25, 0.5], "rescale_factor": 0.5}


def read(
    directory: Path, architecture: str = SMOLVLM, processor: dict[str, Any] | None = None, **changes: Any
) -> ModelConfig:
    (directory / "preprocessor_config.json").write_text(json.dumps(PROCESSOR if processor is None else processor))
    keys = ConfigKeys(directory / "config.json", CONFIG | changes)
    return family_of_architectures(keys.path, [architecture]).read_json(keys)


@pytest.mark.parametrize("architecture", [SMOLVLM, IDEFICS3])
def test_the_encoder_and_its_tensors(tmp_path: Path, architecture: str) -> None:
    config = read(tmp_path, architecture)
    vision = config.vision
    assert vision is not None
    assert (vision.head_dim, vision.unit, vision.positions_per_side, vision.image_token_id) == (12, 16, 8, 60)
    assert [vision.num_tokens(side, side) for side in (16, 32, 48, 12)] == [1, 4, None, None]
    assert vision.num_tokens(32, 16) is None
    shapes = build_graph(family_of_architectures(tmp_path, [architecture]), config).tensor_shapes
    assert shapes["vision_model.embeddings.patch_embedding"] == (24, 3, 4, 4)
    assert shapes["vision_model.embeddings.position_embedding"] == (64, 24)
    assert shapes["vision_model.encoder.layers.1.mlp.fc1.bias"] == (40,)
    assert shapes["connector.modality_projection.proj"] == (SHAPE["hidden_size"], 16 * 24)


def test_defaults_are_those_of_transformers(tmp_path: Path) -> None:
    config = read(tmp_path, vision_config={}, scale_factor=None)
    assert config.vision is not None
    assert (config.vision.hidden_size, config.vision.num_layers, config.vision.head_dim) == (1152, 12, 72)
    assert (config.vision.positions_per_side, config.vision.merge_size, config.vision.norm_eps) == (7, 2, 1e-6)
    assert not config.tie_embeddings
    assert read(tmp_path, tie_word_embeddings=True).tie_embeddings


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("text_config", {**SHAPE, "model_type": "qwen2"}, "model_type"),
        ("text_config", {**SHAPE, "hidden_act": "gelu"}, "hidden_act"),
        ("image_token_id", 64, "image_token_id"),
        ("image_token_id", -1, "image_token_id"),
        ("scale_factor", 0, "scale_factor"),
        ("scale_factor", 9, "image_size"),
        ("quantization_config", {"quant_method": "awq"}, "quantization_config"),
        ("vision_config", VISION | {"hidden_act": "quick_gelu"}, "hidden_act"),
        ("vision_config", VISION | {"num_channels": 1}, "num_channels"),
        ("vision_config", VISION | {"num_attention_heads": 5}, "num_attention_heads"),
        ("vision_config", VISION | {"num_attention_heads": 8}, "num_attention_heads"),
        ("vision_config", VISION | {"image_size": [32, 32]}, "image_size"),
        ("vision_config", VISION | {"patch_size": 0}, "patch_size"),
        ("vision_config", [], "vision_config"),
    ],
)
def test_unsupported_values_are_refused_with_their_key(tmp_path: Path, key: str, value: Any, named: str) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        read(tmp_path, **{key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [("image_mean", [0.5]), ("image_std", [0.5, 0.0, 0.5]), ("image_mean", ["a", 1, 2]), ("rescale_factor", 0)],
)
def test_invalid_numbers_of_the_processor_are_refused(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(ModelFileInvalid, match=key):
        read(tmp_path, processor=PROCESSOR | {key: value})


def test_the_processor_may_be_a_section_or_scale_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelFileInvalid, match="preprocessor_config"):
        pixel_scaling(tmp_path)
    (tmp_path / "processor_config.json").write_text(json.dumps({"image_processor": PROCESSOR}))
    assert pixel_scaling(tmp_path) == ((0.5,) * 3, (0.5, 0.25, 0.5), 0.5)
    plain = {"do_normalize": False, "do_rescale": False}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(plain))
    assert pixel_scaling(tmp_path) == ((0.0,) * 3, (1.0,) * 3, 1.0)


def test_patches_are_channels_of_rows_in_squares(tmp_path: Path) -> None:
    vision = read(tmp_path, scale_factor=2).vision
    assert vision is not None
    pixels = np.arange(16 * 16 * 3).reshape(16, 16, 3).astype(np.uint8)
    patches = patches_of(PictureTile(16, 16, 4, pixels.tobytes()), vision)
    assert patches.shape == (16, 48)
    scaled = (pixels * 0.5 - 0.5) / np.array([0.5, 0.25, 0.5])
    # The second square begins with the patch of row 0 and column 2; its third patch is that of row 1 and column 2.
    for index, (row, column) in {0: (0, 0), 1: (0, 1), 2: (1, 0), 4: (0, 2), 6: (1, 2), 15: (3, 3)}.items():
        patch = scaled[4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        assert np.allclose(patches[index], patch.transpose(2, 0, 1).reshape(-1), atol=1e-4)


def test_positions_are_the_places_in_the_whole() -> None:
    table = np.arange(16, dtype=np.float32)[:, None]
    assert bucketed_positions(table, 4, 4, 4)[..., 0].tolist() == np.arange(16).reshape(4, 4).tolist()
    assert bucketed_positions(table, 2, 2, 4)[..., 0].tolist() == [[0, 2], [8, 10]]
    assert grouped(bucketed_positions(table, 4, 4, 4), 2)[:, 0].tolist()[:8] == [0, 1, 4, 5, 2, 3, 6, 7]
