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


GEMMA4 = "Gemma4ForConditionalGeneration"
VISION4 = {
    "hidden_size": 30,
    "intermediate_size": 36,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "patch_size": 3,
    "pooling_kernel_size": 2,
    "position_embedding_size": 20,
}
TEXT4 = SHAPE | {"hidden_activation": "gelu_pytorch_tanh", "hidden_size_per_layer_input": 0, "global_head_dim": 8}
CONFIG4 = {"text_config": TEXT4, "vision_config": VISION4, "image_token_id": 60}


def read4(directory: Path, processor: dict[str, Any] | None = None, **changes: Any) -> ModelConfig:
    (directory / "preprocessor_config.json").write_text(json.dumps(processor or {}))
    keys = ConfigKeys(directory / "config.json", CONFIG4 | changes)
    return family_of_architectures(keys.path, [GEMMA4]).read_json(keys)


def test_the_encoder_of_gemma4_and_its_tensors(tmp_path: Path) -> None:
    config = read4(tmp_path)
    vision = config.vision
    assert vision is not None
    assert (vision.head_dim, vision.unit, vision.image_token_id, vision.stand_in_id) == (8, 6, 60, 0)
    assert [vision.num_tokens(*size) for size in ((60, 24), (6, 6), (66, 6), (20, 6))] == [40, 1, None, None]
    assert vision.scaling == ((0.5,) * 3, (0.5,) * 3, 1 / 255), "the model itself shifts and doubles"
    assert read4(tmp_path, {"do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}).vision != vision
    assert not config.sees_whole_tiles
    shapes = build_graph(family_of_architectures(tmp_path, [GEMMA4]), config).tensor_shapes
    assert shapes["vision_tower.patch_embedder.position_embedding_table"] == (2, 20, 30)
    assert shapes["vision_tower.encoder.layers.1.self_attn.k_proj.linear"] == (16, 30)
    assert shapes["embed_vision.embedding_projection"] == (SHAPE["hidden_size"], 30)
    assert not any(name.endswith("input_min") for name in shapes)
    changed = read4(tmp_path, vision_config=VISION4 | {"use_clipped_linears": True, "standardize": True})
    shapes = build_graph(family_of_architectures(tmp_path, [GEMMA4]), changed).tensor_shapes
    assert shapes["vision_tower.encoder.layers.0.mlp.down_proj.output_max"] == (1,)
    assert shapes["vision_tower.std_scale"] == (30,)


def test_only_layers_with_a_window_see_whole_tiles_of_gemma4(tmp_path: Path) -> None:
    text = TEXT4 | {"use_bidirectional_attention": "vision", "sliding_window": 5}
    config = read4(tmp_path, text_config=text)
    assert [layer.sees_whole_tiles for layer in config.layers] == [layer.window > 0 for layer in config.layers]
    assert config.sees_whole_tiles
    (tmp_path / "preprocessor_config.json").unlink()
    keys = ConfigKeys(tmp_path / "config.json", CONFIG4 | {"text_config": text})
    of_text = family_of_architectures(keys.path, [GEMMA4]).read_json(keys)
    assert of_text.vision is None
    assert not of_text.sees_whole_tiles


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("image_token_id", 64, "image_token_id"),
        ("vision_config", VISION4 | {"hidden_activation": "gelu"}, "hidden_activation"),
        ("vision_config", VISION4 | {"model_type": "siglip_vision_model"}, "model_type"),
        ("vision_config", VISION4 | {"head_dim": 6}, "head_dim"),
        ("vision_config", VISION4 | {"num_key_value_heads": 3}, "num_key_value_heads"),
        ("vision_config", VISION4 | {"pooling_kernel_size": 1}, "pooling_kernel_size"),
        ("vision_config", VISION4 | {"rope_parameters": {"rope_type": "yarn"}}, "rope_type"),
        ("text_config", TEXT4 | {"pad_token_id": 64}, "pad_token_id"),
        ("text_config", TEXT4 | {"use_bidirectional_attention": "all"}, "use_bidirectional_attention"),
    ],
)
def test_unsupported_values_of_gemma4_are_refused_with_their_key(
    tmp_path: Path, key: str, value: Any, named: str
) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        read4(tmp_path, **{key: value})
