"""The encoders of Gemma that config.json and its neighbours describe, and the ones that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_of_architectures
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from tests.support.models.family_configs import SHAPE

GEMMA3 = "Gemma3ForConditionalGeneration"
VISION = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 4,
}
CONFIG = {"text_config": SHAPE, "vision_config": VISION, "image_token_index": 60, "mm_tokens_per_image": 16}


def read(directory: Path, *, processor: str | None = "preprocessor_config.json", **changes: Any) -> ModelConfig:
    if processor is not None:
        (directory / processor).write_text(json.dumps({"image_processor": {}}))
    keys = ConfigKeys(directory / "config.json", CONFIG | changes)
    return family_of_architectures(keys.path, [GEMMA3]).read_json(keys)


def test_the_encoder_of_gemma3_and_its_tensors(tmp_path: Path) -> None:
    config = read(tmp_path)
    vision = config.vision
    assert vision is not None
    assert (vision.head_dim, vision.unit, vision.positions_per_side, vision.image_token_id) == (12, 8, 8, 60)
    assert [vision.num_tokens(side, side) for side in (32, 16, 64)] == [16, None, None]
    assert config.sees_whole_tiles
    assert all(layer.sees_whole_tiles for layer in config.layers)
    shapes = build_graph(family_of_architectures(tmp_path, [GEMMA3]), config).tensor_shapes
    assert shapes["vision_tower.embeddings.position_embedding"] == (64, 24)
    assert shapes["multi_modal_projector.mm_input_projection_weight"] == (24, SHAPE["hidden_size"])
    assert shapes["multi_modal_projector.mm_soft_emb_norm"] == (24,)


def test_without_an_image_processor_the_text_part_is_read(tmp_path: Path) -> None:
    for processor, values in (("processor_config.json", {"image_seq_length": 16}), (None, None)):
        for path in tmp_path.iterdir():
            path.unlink()
        if processor is not None:
            (tmp_path / processor).write_text(json.dumps(values))
        config = read(tmp_path, processor=None)
        assert config.vision is None
        assert not config.sees_whole_tiles
    assert read(tmp_path, processor="processor_config.json").vision is not None
    assert read(tmp_path, vision_config=None).vision is None


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("image_token_index", 64, "image_token_index"),
        ("mm_tokens_per_image", 15, "mm_tokens_per_image"),
        ("mm_tokens_per_image", 9, "mm_tokens_per_image"),
        ("vision_config", VISION | {"image_size": 30}, "image_size"),
        ("vision_config", VISION | {"image_size": 2}, "image_size"),
        ("vision_config", VISION | {"model_type": "clip_vision_model"}, "model_type"),
        ("vision_config", VISION | {"hidden_act": "quick_gelu"}, "hidden_act"),
        ("vision_config", VISION | {"num_channels": 1}, "num_channels"),
        ("text_config", SHAPE | {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ("quantization_config", {"quant_method": "awq"}, "quantization_config"),
    ],
)
def test_unsupported_values_of_gemma3_are_refused_with_their_key(
    tmp_path: Path, key: str, value: Any, named: str
) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        read(tmp_path, **{key: value})
