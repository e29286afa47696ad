"""The encoders of Qwen3-VL and Qwen3.5 that config.json describes, and the ones that are refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.pictures import PictureTile
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_of_architectures
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.patches import patches_of, positions_by_corners, rotary_rows_of
from cactus_actors.workers.spec.vision_config import VisionConfig
from tests.goldens.to_gguf import read_safetensors
from tests.support.models.family_configs import SHAPE
from tests.support.paths import GOLDENS

QWEN3_VL, QWEN3_5 = "Qwen3VLForConditionalGeneration", "Qwen3_5ForConditionalGeneration"
VISION = {
    "depth": 3,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_heads": 2,
    "patch_size": 4,
    "out_hidden_size": SHAPE["hidden_size"],
    "num_position_embeddings": 36,
    "deepstack_visual_indexes": [2, 0],
}
CONFIG = {"text_config": SHAPE | {"head_dim": 16}, "vision_config": VISION, "image_token_id": 60}


def read(directory: Path, architecture: str = QWEN3_VL, **changes: Any) -> ModelConfig:
    (directory / "preprocessor_config.json").write_text("{}")
    keys = ConfigKeys(directory / "config.json", CONFIG | changes)
    return family_of_architectures(keys.path, [architecture]).read_json(keys)


def vision_of(directory: Path) -> VisionConfig:
    vision = read(directory).vision
    assert vision is not None
    return vision


def test_the_encoder_and_its_tensors(tmp_path: Path) -> None:
    config, vision = read(tmp_path), vision_of(tmp_path)
    assert (vision.head_dim, vision.unit, vision.positions_per_side, vision.num_frames) == (12, 8, 6, 2)
    assert (vision.feature_layers, config.num_feature_layers) == ((2, 0), 2)
    assert config.ropes[0].axes == (0, 1, 2, 0, 1, 2, 0, 1)
    assert [vision.num_tokens(*size) for size in ((8, 8), (80, 16), (12, 8), (8 * 64, 8 * 65))] == [1, 20, None, None]
    shapes = build_graph(family_of_architectures(tmp_path, [QWEN3_VL]), config).tensor_shapes
    assert shapes["visual.patch_embed.proj"] == (24, 3, 2, 4, 4)
    assert shapes["visual.pos_embed"] == (36, 24)
    assert shapes["visual.blocks.2.attn.qkv"] == (72, 24)
    assert shapes["visual.merger.norm"] == (24,)
    assert shapes["visual.deepstack_merger_list.1.norm"] == (96,)
    assert shapes["visual.deepstack_merger_list.1.linear_fc2"] == (SHAPE["hidden_size"], 96)


def test_qwen3_5_has_no_features_and_reads_text_alone_without_an_encoder(tmp_path: Path) -> None:
    config = read(tmp_path, QWEN3_5)
    assert config.vision is not None
    assert config.num_feature_layers == 0
    alone = read(tmp_path, QWEN3_5, vision_config=None)
    assert alone.vision is None
    assert not alone.ropes[0].axes


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"vision_config": VISION | {"num_position_embeddings": 35}}, "vision_config.num_position_embeddings"),
        ({"vision_config": VISION | {"out_hidden_size": 8}}, "vision_config.out_hidden_size"),
        ({"vision_config": VISION | {"hidden_act": "silu"}}, "vision_config.hidden_act"),
        ({"vision_config": VISION | {"num_heads": 4}}, "vision_config.num_heads"),
        ({"vision_config": VISION | {"in_channels": 1}}, "vision_config.in_channels"),
        ({"vision_config": VISION | {"patch_size": [4, 4]}}, "vision_config.patch_size"),
        ({"vision_config": VISION | {"head_dim": 8}}, "vision_config.head_dim"),
        ({"vision_config": VISION | {"num_hidden_layers": 2}}, "vision_config.num_hidden_layers"),
        ({"vision_config": VISION | {"rope_parameters": {"rope_type": "linear"}}}, "rope_parameters.rope_type"),
        ({"vision_config": VISION | {"deepstack_visual_indexes": [3]}}, "vision_config.deepstack_visual_indexes"),
        ({"vision_config": VISION | {"deepstack_visual_indexes": [1, 1]}}, "vision_config.deepstack_visual_indexes"),
        ({"vision_config": VISION | {"deepstack_visual_indexes": [0, 1, 2]}}, "vision_config.deepstack_visual_indexes"),
        ({"image_token_id": SHAPE["vocab_size"]}, "image_token_id"),
        ({"text_config": SHAPE | {"rope_scaling": {"mrope_section": [1, 2]}}}, "rope_scaling.mrope_section"),
        ({"text_config": SHAPE | {"rope_scaling": {"mrope_section": [1, -2, 3]}}}, "rope_scaling.mrope_section"),
        ({"text_config": SHAPE | {"rope_scaling": {"mrope_interleaved": False}}}, "rope_scaling.mrope_interleaved"),
        ({"text_config": SHAPE | {"model_type": "qwen3"}}, "text_config.model_type"),
        ({"text_config": SHAPE | {"hidden_act": "gelu"}}, "text_config.hidden_act"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
    ],
)
def test_what_is_not_computed_is_refused_by_its_key(tmp_path: Path, changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ModelFileInvalid, match=key):
        read(tmp_path, **{"text_config": SHAPE | {"num_hidden_layers": 2}} | changes)


def test_a_directory_without_an_image_processor_is_refused(tmp_path: Path) -> None:
    keys = ConfigKeys(tmp_path / "config.json", CONFIG)
    with pytest.raises(ModelFileInvalid, match="image processor"):
        family_of_architectures(keys.path, [QWEN3_VL]).read_json(keys)


def test_a_patch_shows_its_pixels_in_every_frame(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (8, 16, 3)).astype(np.uint8)
    patches = patches_of(PictureTile(16, 8, 2, pixels.tobytes()), vision_of(tmp_path)).reshape(8, 3, 2, 4, 4)
    assert np.array_equal(patches[:, :, 0], patches[:, :, 1])
    second = pixels[:4, 4:8].transpose(2, 0, 1) / 127.5 - 1  # first row, second column
    assert np.abs(patches[1, :, 0] - second).max() < 1e-6
    first_of_second_row = pixels[4:, :4].transpose(2, 0, 1) / 127.5 - 1
    assert np.abs(patches[2, :, 0] - first_of_second_row).max() < 1e-6


def test_positions_stretch_from_corner_to_corner() -> None:
    table = np.arange(4, dtype=np.float32)[:, None]
    assert positions_by_corners(table, 3, 2, 2)[..., 0].tolist() == [[0, 1], [1, 2], [2, 3]]
    assert positions_by_corners(table, 1, 1, 2)[..., 0].tolist() == [[0]]


def test_half_of_the_lanes_turn_by_rows_and_half_by_columns(tmp_path: Path) -> None:
    vision = vision_of(tmp_path)
    cosines, sines = rotary_rows_of(PictureTile(16, 8, 2, b""), vision)
    assert cosines.shape == sines.shape == (8, 6)
    places = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    slow = 10000.0 ** (-2 / 6)
    for row, (down, across) in zip(sines, places, strict=True):
        assert row[[0, 1, 3, 4]] == pytest.approx(np.sin([down, down * slow, across, across * slow]), abs=1e-6)


def test_published_configs_are_read(tmp_path: Path) -> None:
    rope = {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}
    text = SHAPE | {"model_type": "qwen3_vl_text", "head_dim": 128, "rope_scaling": rope, "rope_theta": 5000000}
    vision = json.loads(json.dumps(VISION | {"model_type": "qwen3_vl", "deepstack_visual_indexes": [1]}))
    config = read(tmp_path, text_config=text, vision_config=vision)
    axes = config.ropes[0].axes
    assert [axes.count(axis) for axis in range(3)] == [24, 20, 20]
    assert (config.ropes[0].theta, axes[:6], axes[60:]) == (5000000, (0, 1, 2, 0, 1, 2), (0, 0, 0, 0))


def test_experts_with_their_inputs_first_are_the_same_model(tmp_path: Path) -> None:
    """transformers writes stacks (experts, outputs, inputs), published files have the inputs first."""
    source = GOLDENS / "with_pictures/qwen3vl-moe"
    other = Path(shutil.copytree(source, tmp_path / "published"))
    tensors = read_safetensors(source / "model.safetensors")
    for name in [name for name in tensors if ".experts." in name]:
        tensors[name] = np.ascontiguousarray(tensors[name].swapaxes(1, 2))
    save_file(tensors, other / "model.safetensors")
    expected, found = read_model(source), read_model(other)
    assert expected.config == found.config
    assert "layers.0.mlp.experts.3.up_proj" in expected.tensors
    for name, tensor in expected.tensors.items():
        assert np.array_equal(found.tensors[name], tensor), name


def test_a_stack_of_other_sizes_is_refused(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(GOLDENS / "with_pictures/qwen3vl-moe", tmp_path / "model"))
    tensors = read_safetensors(directory / "model.safetensors")
    name = next(name for name in tensors if name.endswith("experts.gate_up_proj"))
    tensors[name] = np.ascontiguousarray(tensors[name][:, :-2])
    save_file(tensors, directory / "model.safetensors")
    with pytest.raises(ModelFileInvalid, match=re.escape(name)):
        read_model(directory)
