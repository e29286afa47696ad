"""Gemma 4's keys of config.json and GGUF files, supported and refused ones, and the cache of its layers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.models.served_context import context_of_json
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families import gemma4
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_of_gguf
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Experts, ModelConfig, PerLayerInputs
from cactus_actors.workers.spec.rope_scaling import ProportionalScaling
from cactus_actors.workers.spec.rotary import Rope
from tests.goldens.to_gguf import read_safetensors, write_gguf
from tests.support.models.family_configs import FULL, SHAPE, SLIDING
from tests.support.models.family_configs import read as read_as
from tests.support.paths import GOLDENS

GEMMA4, IMAGES = "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"
NAMES = ["gemma4", "gemma4-experts"]
KINDS = [SLIDING, FULL, SLIDING, FULL]
SMALL = {**SHAPE, "vocab_size_per_layer_input": 64, "hidden_size_per_layer_input": 4, "global_head_dim": 12}
BASE = {**SMALL, "layer_types": KINDS, "sliding_window": 9}
EXPERTS = {"enable_moe_block": True, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 6}


def read(**changes: Any) -> ModelConfig:
    return read_as(GEMMA4, BASE, **changes)


def test_both_kinds_of_layers_have_their_windows_heads_and_ropes() -> None:
    config = read()
    assert [layer.window for layer in config.layers] == [9, 0, 9, 0]
    assert [config.heads_of(layer) for layer in config.layers] == [
        AttentionHeads(4, 2, 8),
        AttentionHeads(4, 2, 12),
    ] * 2
    ropes = [config.ropes[layer.rope] for layer in config.layers if layer.rope is not None]
    assert ropes == [Rope(10000.0, 8), Rope(1e6, 12, ProportionalScaling(0.25))] * 2
    assert (config.score_scale, config.tie_embeddings) == (1.0, True)
    assert config.per_layer_inputs == PerLayerInputs(4, 64)
    assert read(hidden_size_per_layer_input=0).per_layer_inputs is None
    assert read(use_bidirectional_attention="vision") == config


def test_every_sixth_layer_and_the_last_have_no_window() -> None:
    config = read_as(GEMMA4, SMALL, num_hidden_layers=8)
    assert [layer.window for layer in config.layers] == [512] * 5 + [0, 512, 0]
    assert [layer.window for layer in read(layer_types=[FULL, SLIDING, SLIDING, SLIDING]).layers] == [0, 9, 9, 0]


def test_shared_key_and_value_projections_have_another_number_of_heads() -> None:
    config = read(attention_k_eq_v=True, num_global_key_value_heads=1)
    assert [layer.shares_key_projection for layer in config.layers] == [False, True] * 2
    assert [config.heads_of(layer).num_kv_heads for layer in config.layers] == [2, 1, 2, 1]
    without = read(num_global_key_value_heads=1)
    assert {without.heads_of(layer).num_kv_heads for layer in without.layers} == {2}


def test_the_last_layers_share_the_keys_of_an_earlier_layer_of_their_kind() -> None:
    config = read(num_hidden_layers=6, layer_types=[*KINDS, SLIDING, FULL], num_kv_shared_layers=3)
    assert [layer.kv_layer for layer in config.layers] == [None, None, None, 1, 2, 1]
    assert {layer.ffn_size for layer in config.layers} == {48}
    wide = read(num_kv_shared_layers=2, use_double_wide_mlp=True)
    assert [layer.ffn_size for layer in wide.layers] == [48, 48, 96, 96]
    graph = build_graph(gemma4.FAMILY, wide)
    assert [(layer.num_heads, layer.head_dim) for layer in graph.cached_layers] == [(2, 8), (2, 12)]
    assert "layers.2.self_attn.k_proj" not in graph.tensor_shapes
    assert graph.tensor_shapes["layers.3.mlp.up_proj"] == (96, 32)


def test_layers_without_keys_compute_only_rows_with_logits() -> None:
    def rows(config: ModelConfig) -> list[RowKind]:
        operations = build_graph(gemma4.FAMILY, config).operations
        return [op.target.rows for op in operations if op.code is OpCode.ATTEND and op.target is not None]

    assert rows(read()) == [RowKind.TOKENS] * 4
    assert rows(read(num_kv_shared_layers=2)) == [RowKind.TOKENS] * 2 + [RowKind.LOGITS] * 2
    assert rows(read(num_kv_shared_layers=2, **EXPERTS)) == [RowKind.TOKENS] * 4  # experts are grouped over all rows


def test_heads_of_each_layer_are_read_as_written_by_transformers_5() -> None:
    heads = {"head_dim": 14, "num_key_value_heads": 1}
    config = read(per_layer_config={"1": heads, "03": heads}, global_head_dim=400)
    assert [config.heads_of(layer)[1:] for layer in config.layers] == [(2, 8), (1, 14)] * 2
    for nothing in (None, {}):
        same = read(per_layer_config=nothing)
        assert {same.heads_of(layer) for layer in same.layers} == {AttentionHeads(4, 2, 8)}


def test_experts_are_weighted_by_a_softmax_over_the_chosen() -> None:
    config = read(**EXPERTS)
    assert config.experts == Experts(num_experts=4, num_chosen=2, ffn_size=6, normalised=True)
    assert all(layer.has_experts for layer in config.layers)


def test_the_text_config_beside_images_is_read() -> None:
    above = {"text_config": {**BASE, "tie_word_embeddings": False}, "vision_config": {}}
    config = read_as(IMAGES, above)
    assert config == read()
    assert not read_as(IMAGES, above | {"tie_word_embeddings": False}).tie_embeddings
    for given in (BASE, above):
        values = {"architectures": [GEMMA4 if given is BASE else IMAGES], "model_type": "gemma4_text", **given}
        assert context_of_json(values.get("text_config", values)) == config.max_context
    without = {key: value for key, value in BASE.items() if key != "max_position_embeddings"}
    assert context_of_json({"architectures": [GEMMA4], **without}) == read_as(GEMMA4, without).max_context


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden_activation": "silu"}, "hidden_activation"),
        ({"use_bidirectional_attention": "all"}, "use_bidirectional_attention"),
        ({"quantization_config": {}}, "quantization_config"),
        ({"layer_types": [SLIDING, FULL, "conv", FULL]}, "layer_types"),
        ({"sliding_window": None}, "sliding_window"),
        ({"global_head_dim": 11}, "global_head_dim"),
        ({"global_head_dim": None}, "global_head_dim"),
        ({"num_global_key_value_heads": 3, "attention_k_eq_v": True}, "num_global_key_value_heads"),
        ({"num_kv_shared_layers": 3}, "num_kv_shared_layers"),
        ({"num_kv_shared_layers": 4}, "num_kv_shared_layers"),
        ({"num_kv_shared_layers": -1}, "num_kv_shared_layers"),
        ({"vocab_size_per_layer_input": 63}, "vocab_size_per_layer_input"),
        ({"per_layer_config": {"4": {}}}, "per_layer_config.4"),
        ({"per_layer_config": {"1": {"intermediate_size": 9}}}, "per_layer_config.1.intermediate_size"),
        ({"per_layer_config": {"1": {"head_dim": 14}}}, "per_layer_config"),
        ({"rope_theta": 10000.0}, "rope_theta"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "rope_scaling"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"rope_parameters": {FULL: {"rope_type": "default", "rope_theta": 1e6}}}, SLIDING),
        ({"rope_parameters": {kind: {"rope_type": "default"} for kind in KINDS}}, "rope_theta"),
        (EXPERTS | {"top_k_experts": 5}, "top_k_experts"),
        (EXPERTS | {"num_experts": None}, "num_experts"),
    ],
)
def test_an_unsupported_key_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        read(**changes)


@pytest.mark.parametrize("name", NAMES)
def test_gguf_files_give_the_same_config(name: str, tmp_path: Path) -> None:
    of_directory, of_file = read_model(GOLDENS / name), read_model(write_gguf(GOLDENS / name, tmp_path / "model.gguf"))
    for part in ("layers", "experts", "per_layer_inputs", "score_scale", "logit_softcap", "tie_embeddings"):
        assert getattr(of_file.config, part) == getattr(of_directory.config, part)
    for found, given in zip(of_file.config.ropes, of_directory.config.ropes, strict=True):
        np.testing.assert_allclose(found.frequencies(), given.frequencies(), rtol=1e-6, atol=1e-29)
    assert list(of_file.tensors) == list(of_directory.tensors)
    for stored, given in zip(of_file.tensors.values(), of_directory.tensors.values(), strict=True):
        assert np.array_equal(stored, given)


def test_single_rows_of_a_matrix_can_be_read(tmp_path: Path) -> None:
    for path in (GOLDENS / "gemma4", write_gguf(GOLDENS / "gemma4", tmp_path / "model.gguf", "F16")):
        tensors = read_model(path).tensors
        for name in ("embed_tokens", "embed_tokens_per_layer", "layers.1.mlp.down_proj"):
            assert tensors.stored[name].read_rows is not None
            assert np.array_equal(tensors.rows(name, 3, 9), tensors[name][3:9])


@pytest.mark.parametrize(
    ("golden", "key", "value"),
    [
        ("gemma4", "attention.sliding_window", 0),
        ("gemma4", "attention.value_length_swa", 14),
        ("gemma4", "attention.shared_kv_layers", 4),
        ("gemma4", "attention.key_length", 21),
        ("gemma4", "feed_forward_length", [28, 28, 28]),
        ("gemma4-experts", "attention.head_count_kv", [2, 1, 2]),
        ("gemma4-experts", "attention.head_count_kv", [2, 3, 3]),
        ("gemma4-experts", "expert_gating_func", 2),
    ],
)
def test_an_unsupported_gguf_key_is_named(golden: str, key: str, value: object, tmp_path: Path) -> None:
    file = open_gguf(write_gguf(GOLDENS / golden, tmp_path / "model.gguf"))
    keys = ConfigKeys(file.path, file.metadata | {f"gemma4.{key}": value}, "gemma4.")
    with pytest.raises(ModelFileInvalid, match=key):
        family_of_gguf(file.path, file.metadata).read_gguf(keys, file)


def changed_golden(name: str, tmp_path: Path, tensors: dict[str, Any], **changes: Any) -> Path:
    """A copy of a checkpoint with some tensors and keys changed; None takes a tensor away."""
    directory = Path(shutil.copytree(GOLDENS / name, tmp_path / "model"))
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | changes))
    stored = read_safetensors(directory / "model.safetensors") | tensors
    (directory / "model.safetensors").unlink()
    save_file({key: each for key, each in stored.items() if each is not None}, directory / "model.safetensors")
    return directory


def test_unused_keys_of_sharing_layers_may_be_in_the_files(tmp_path: Path) -> None:
    parts = {"k_proj": (12, 32), "v_proj": (12, 32), "k_norm": (12,)}
    spare = {f"model.layers.3.self_attn.{part}.weight": np.ones(shape, np.float32) for part, shape in parts.items()}
    found, plain = read_model(changed_golden("gemma4", tmp_path, spare)), read_model(GOLDENS / "gemma4")
    assert list(found.tensors) == list(plain.tensors)


def test_other_surplus_and_missing_tensors_are_named(tmp_path: Path) -> None:
    spare = {"model.layers.1.self_attn.v_norm.weight": np.ones(12, np.float32)}
    with pytest.raises(ModelFileInvalid, match="v_norm"):
        read_model(changed_golden("gemma4", tmp_path / "surplus", spare))
    with pytest.raises(ModelFileInvalid, match="layer_scalar"):
        read_model(changed_golden("gemma4", tmp_path / "missing", {"model.layers.1.layer_scalar": None}))


def test_image_and_audio_tensors_are_not_read(tmp_path: Path) -> None:
    whole = read_safetensors(GOLDENS / "gemma4-experts" / "model.safetensors")
    renamed: dict[str, Any] = dict.fromkeys(whole)
    renamed |= {name.replace("model.", "model.language_model.", 1): each for name, each in whole.items()}
    for part in ("vision_tower.patch", "embed_vision.norm", "audio_tower.output", "embed_audio.norm"):
        renamed[f"model.{part}.weight"] = np.ones(3, np.float32)
    golden = json.loads((GOLDENS / "gemma4-experts" / "config.json").read_text())
    names = {"architectures": [IMAGES], "model_type": "gemma4"}
    found = read_model(changed_golden("gemma4-experts", tmp_path, renamed, **names, text_config=golden))
    assert list(found.tensors) == list(read_model(GOLDENS / "gemma4-experts").tensors)
