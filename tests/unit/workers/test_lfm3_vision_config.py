"""The encoder of LFM3-VL that config.json describes, and the ones that are refused."""

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

ARCHITECTURE = "Lfm3VlForConditionalGeneration"
VISION = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 5,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "patch_size": 4,
    "conv_kernel_size": 5,
}
CONFIG = {"text_config": SHAPE, "image_token_id": 60}
PROCESSOR = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.25, 0.5], "rescale_factor": 0.5}


def read(directory: Path, vision: dict[str, Any] | None = None, **changes: Any) -> ModelConfig:
    (directory / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    keys = ConfigKeys(directory / "config.json", CONFIG | {"vision_config": VISION | (vision or {})} | changes)
    return family_of_architectures(keys.path, [ARCHITECTURE]).read_json(keys)


def test_the_encoder_and_its_tensors(tmp_path: Path) -> None:
    config = read(tmp_path)
    vision = config.vision
    assert vision is not None
    assert (vision.head_dim, vision.unit, vision.num_kv_heads, vision.image_token_id) == (12, 8, 1, 60)
    assert (vision.conv_layers, vision.conv_side, vision.num_frames, vision.rotary_theta) == ((0, 1, 3), 5, 2, 1e6)
    assert [vision.num_tokens(*size) for size in ((8, 8), (8, 24), (32, 16), (12, 8))] == [1, 3, 8, None]
    shapes = build_graph(family_of_architectures(tmp_path, [ARCHITECTURE]), config).tensor_shapes
    assert shapes["vision_tower.patchifier"] == (24, 3 * 2 * 4 * 4)
    assert shapes["vision_tower.layers.0.conv.spatial_conv"] == (24, 1, 5, 5)
    assert shapes["vision_tower.layers.2.self_attn.k_proj"] == (12, 24)
    assert shapes["multi_modal_projector.linear_1"] == (4096, 4 * 24)
    assert "multi_modal_projector.linear_2.bias" in shapes


def test_layers_are_those_that_the_config_names(tmp_path: Path) -> None:
    vision = read(tmp_path, {"layer_types": ["full_attention", "conv", "conv", "full_attention", "conv"]}).vision
    assert vision is not None
    assert vision.conv_layers == (1, 2, 4)
    config = read(tmp_path, projector_bias=False)
    shapes = build_graph(family_of_architectures(tmp_path, [ARCHITECTURE]), config).tensor_shapes
    assert "multi_modal_projector.linear_2.bias" not in shapes


def test_either_name_of_the_epsilon_counts_in_the_text(tmp_path: Path) -> None:
    assert read(tmp_path, text_config=SHAPE | {"norm_eps": 1e-4}).norm_eps == 1e-4
    assert read(tmp_path, text_config=SHAPE | {"norm_eps": 1e-4, "rms_norm_eps": 1e-3}).norm_eps == 1e-3


@pytest.mark.parametrize(
    ("vision", "words"),
    [
        ({"num_attention_heads": 4}, "vision_config.num_attention_heads 4 is not supported"),
        ({"num_key_value_heads": 3}, "vision_config.num_key_value_heads 3 is not supported"),
        ({"head_dim": 8}, "vision_config.head_dim 8 is not supported"),
        ({"conv_kernel_size": 4}, "vision_config.conv_kernel_size 4 is not supported"),
        ({"in_channels": 1}, "vision_config.in_channels 1 is not supported"),
        ({"layer_types": ["conv"]}, "vision_config.layer_types must be a list of 5 strings"),
        ({"layer_types": ["sliding_attention"] * 5}, "vision_config.layer_types"),
        ({"temporal_patch_size": 0}, "vision_config.temporal_patch_size is 0"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "vision_config.rope_parameters.rope_type 'yarn' is not supported"),
        ({"patch_size": [4, 4]}, "vision_config.patch_size must be an integer"),
    ],
)
def test_an_unsupported_encoder_is_refused_by_its_key(tmp_path: Path, vision: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFileInvalid) as refused:
        read(tmp_path, vision)
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"image_token_id": 1 << 20}, "image_token_id 1048576 is outside the vocabulary"),
        ({"projector_hidden_act": "relu"}, "projector_hidden_act 'relu' is not supported"),
        ({"text_config": SHAPE | {"model_type": "lfm2"}}, "text_config.model_type 'lfm2' is not supported"),
        ({"quantization_config": {}}, "quantization_config"),
        ({"auto_map": {}}, "auto_map"),
    ],
)
def test_an_unsupported_model_is_refused_by_its_key(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFileInvalid) as refused:
        read(tmp_path, **changes)
    assert words in refused.value.message
