"""Gemma 3n's keys of config.json and GGUF files, supported and refused ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.models.served_context import context_of_json
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families import gemma3n
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_of_gguf
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig, PerLayerInputs, ResidualStreams
from cactus_actors.workers.spec.rope_scaling import LinearScaling
from cactus_actors.workers.spec.rotary import Rope
from tests.goldens.to_gguf import read_safetensors, write_gguf
from tests.support.models.family_configs import FULL, SHAPE, SLIDING
from tests.support.models.family_configs import read as read_as
from tests.support.paths import GOLDENS

GEMMA3N, IMAGES = "Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"
BASE = {
    **SHAPE,
    "layer_types": [SLIDING, FULL, SLIDING, FULL],
    "sliding_window": 9,
    "num_kv_shared_layers": 0,
    "hidden_size_per_layer_input": 4,
    "vocab_size_per_layer_input": 60,
    "laurel_rank": 3,
}
GOLDEN = GOLDENS / "gemma3n"


def read(**changes: Any) -> ModelConfig:
    return read_as(GEMMA3N, BASE, **changes)


def test_streams_inputs_of_layers_and_ropes_are_read() -> None:
    config = read()
    assert config.streams == ResidualStreams(num_streams=4, active=0, rank=3, has_output_gains=True)
    assert config.per_layer_inputs == PerLayerInputs(4, 60)
    assert [(layer.window, layer.rope) for layer in config.layers] == [(9, 1), (0, 0)] * 2
    assert config.ropes == (Rope(1e6, 8), Rope(10000.0, 8))
    assert (config.score_scale, config.logit_softcap, config.tie_embeddings) == (1.0, 30.0, True)
    scaled = read(rope_scaling={"rope_type": "linear", "factor": 2.0})
    assert scaled.ropes == (Rope(1e6, 8, LinearScaling(2.0)), Rope(10000.0, 8))


def test_gates_are_cut_where_a_normal_distribution_has_that_share_below() -> None:
    assert [layer.gate_cutoff for layer in read().layers] == [None] * 4
    cut = read(activation_sparsity_pattern=[0.95, 0.5, 0, 0.0])
    assert [layer.gate_cutoff for layer in cut.layers] == [pytest.approx(1.6448536), 0.0, None, None]
    deep = read(num_hidden_layers=12, layer_types=None)
    assert [layer.gate_cutoff is None for layer in deep.layers] == [False] * 10 + [True] * 2
    assert [layer.window for layer in deep.layers] == [9, 9, 9, 9, 0] * 2 + [9, 9]


def test_networks_have_a_size_for_each_layer_and_the_last_layers_share_keys() -> None:
    config = read(intermediate_size=[40, 48, 56, 64], num_kv_shared_layers=2)
    assert [layer.ffn_size for layer in config.layers] == [40, 48, 56, 64]
    assert [layer.kv_layer for layer in config.layers] == [None, None, 0, 1]
    shapes = build_graph(gemma3n.FAMILY, config).tensor_shapes
    assert shapes["layers.2.mlp.up_proj"] == (56, 32)
    assert "layers.2.self_attn.k_proj" not in shapes
    assert shapes["altup_projections.2"] == shapes["altup_unembed_projections.0"] == (32, 32)


def test_the_text_config_beside_images_is_read() -> None:
    above = {"text_config": {**BASE, "tie_word_embeddings": False}, "vision_config": {}}
    assert read_as(IMAGES, above) == read()
    without = {key: value for key, value in BASE.items() if key != "max_position_embeddings"}
    assert context_of_json({"architectures": [GEMMA3N], **without}) == read_as(GEMMA3N, without).max_context


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden_activation": "silu"}, "hidden_activation"),
        ({"quantization_config": {}}, "quantization_config"),
        ({"layer_types": [SLIDING, FULL, "conv", FULL]}, "layer_types"),
        ({"sliding_window": None}, "sliding_window"),
        ({"num_kv_shared_layers": 3}, "num_kv_shared_layers"),
        ({"intermediate_size": [40, 48, 56]}, "intermediate_size"),
        ({"hidden_size_per_layer_input": 0}, "hidden_size_per_layer_input"),
        ({"altup_num_inputs": 1}, "altup_num_inputs"),
        ({"altup_active_idx": 4}, "altup_active_idx"),
        ({"activation_sparsity_pattern": [0.5] * 3}, "activation_sparsity_pattern"),
        ({"activation_sparsity_pattern": [0.5, 0.5, 0.5, 1.0]}, "activation_sparsity_pattern"),
    ],
)
def test_an_unsupported_key_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        read(**changes)


def test_gguf_files_give_the_same_model(tmp_path: Path) -> None:
    of_directory, of_file = read_model(GOLDEN), read_model(write_gguf(GOLDEN, tmp_path / "model.gguf"))
    for part in ("streams", "per_layer_inputs", "ropes", "logit_softcap", "score_scale", "tie_embeddings"):
        assert getattr(of_file.config, part) == getattr(of_directory.config, part)
    for stored_layer, layer in zip(of_file.config.layers, of_directory.config.layers, strict=True):
        assert stored_layer.gate_cutoff == pytest.approx(layer.gate_cutoff)
        assert replace(stored_layer, gate_cutoff=layer.gate_cutoff) == layer
    assert list(of_file.tensors) == list(of_directory.tensors)
    for stored, given in zip(of_file.tensors.values(), of_directory.tensors.values(), strict=True):
        assert np.array_equal(stored, given)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("altup.num_inputs", 1),
        ("altup.active_idx", 4),
        ("activation_sparsity_scale", [0.5]),
        ("activation_sparsity_scale", [0.5, 0.5, 0.5, 0.5, float("inf")]),
        ("attention.shared_kv_layers", 4),
        ("feed_forward_length", [28, 28, 28]),
        ("embedding_length_per_layer_input", 0),
    ],
)
def test_an_unsupported_gguf_key_is_named(key: str, value: object, tmp_path: Path) -> None:
    file = open_gguf(write_gguf(GOLDEN, tmp_path / "model.gguf"))
    keys = ConfigKeys(file.path, file.metadata | {f"gemma3n.{key}": value}, "gemma3n.")
    with pytest.raises(ModelFileInvalid, match=key):
        family_of_gguf(file.path, file.metadata).read_gguf(keys, file)


def test_another_number_of_streams_than_that_of_the_file_is_refused(tmp_path: Path) -> None:
    config = json.loads((GOLDEN / "config.json").read_text())
    path = write_gguf(GOLDEN, tmp_path / "model.gguf")
    assert read_model(path).config.streams is not None
    (tmp_path / "model.safetensors").write_bytes((GOLDEN / "model.safetensors").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(config | {"altup_num_inputs": 3}))
    with pytest.raises(ModelFileInvalid, match=r"altup_projections\.2"):
        read_model(tmp_path)


def test_tensors_of_pictures_sound_and_unused_gains_are_not_read(tmp_path: Path) -> None:
    tensors = read_safetensors(GOLDEN / "model.safetensors")
    renamed = {name.replace("model.", "model.language_model.", 1): each for name, each in tensors.items()}
    for part in ("vision_tower.timm_model.stem", "embed_vision.norm", "audio_tower.conformer", "embed_audio.norm"):
        renamed[f"model.{part}.weight"] = np.ones(3, np.float32)
    text = json.loads((GOLDEN / "config.json").read_text()) | {"altup_correct_scale": False}
    save_file(renamed, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"architectures": [IMAGES], "text_config": text}))
    found = read_model(tmp_path)
    assert list(found.tensors) == [name for name in read_model(GOLDEN).tensors if "output_scale" not in name]
