"""The config.json and GGUF files of Qwen3.5 and Granite 4, and the tensors of these that are not read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.loading.model_reader import ModelFiles, read_model
from cactus_actors.workers.spec.model_config import ModelConfig, RecurrentHeads
from cactus_actors.workers.spec.rotary import Rope
from tests.goldens.to_gguf import read_safetensors, write_gguf
from tests.support.models.family_configs import SHAPE, read
from tests.support.models.rewritten_gguf import Tensor, rewritten
from tests.support.paths import GOLDENS

QWEN3_5, WITH_IMAGES = "Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"
GRANITE4 = "GraniteMoeHybridForCausalLM"
LINEAR, FULL = "linear_attention", "full_attention"
GOLDEN_NAMES = ["qwen35", "qwen35-untied", "qwen35moe", "granite4-hybrid"]


def kinds(config: ModelConfig) -> str:
    return "".join({"attention": "a", "delta": "d", "mamba": "m"}[layer.kind] for layer in config.layers)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "ddda"),
        ({"full_attention_interval": 2}, "dada"),
        ({"full_attention_interval": 1}, "aaaa"),
        ({"layer_types": [FULL, LINEAR, LINEAR, LINEAR], "full_attention_interval": 2}, "addd"),
        ({"layer_types": [LINEAR] * 4}, "dddd"),
    ],
)
def test_attention_layers_are_read_from_each_config(changes: dict[str, Any], expected: str) -> None:
    assert kinds(read(QWEN3_5, **changes)) == expected


def test_missing_keys_have_the_defaults_of_transformers() -> None:
    config = read(QWEN3_5)
    assert config.recurrent_heads == RecurrentHeads(num_key_heads=16, key_dim=128, num_value_heads=32, value_dim=128)
    assert config.num_taps == 4
    assert config.ropes == (Rope(10000.0, 2),), "a quarter of 8 lanes"
    assert read(QWEN3_5, {}).head_dim == 256


def test_the_text_config_of_a_vision_model_is_read() -> None:
    text = {**SHAPE, "linear_num_value_heads": 16, "tie_word_embeddings": True}
    above = {"text_config": text, "vision_config": None, "tie_word_embeddings": False}
    config = read(WITH_IMAGES, above)
    assert config.recurrent_heads is not None
    assert config.recurrent_heads.num_value_heads == 16
    assert not config.tie_embeddings, "the text's own key does not count"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attention_bias", True),
        ("attn_output_gate", False),
        ("hidden_act", "gelu"),
        ("layer_types", [LINEAR] * 3),
        ("layer_types", [LINEAR, FULL, FULL, "sliding_attention"]),
        ("linear_num_value_heads", 24),
        ("linear_num_key_heads", 0),
        ("linear_key_head_dim", "128"),
        ("linear_conv_kernel_dim", 0),
        ("full_attention_interval", 0),
        ("partial_rotary_factor", 0.1),
        ("quantization_config", {"quant_method": "fp8"}),
    ],
)
def test_an_unsupported_key_is_named(key: str, value: Any) -> None:
    with pytest.raises(ModelFileInvalid, match=key):
        read(QWEN3_5, **{key: value})


MAMBA_SHAPE = {"mamba_n_heads": 4, "mamba_n_groups": 2, "mamba_d_state": 5}


def test_the_mamba_layers_of_granite4_are_read() -> None:
    config = read(GRANITE4, **MAMBA_SHAPE, layer_types=["mamba", "linear_attention", "attention", FULL])
    assert kinds(config) == "mmaa"
    assert config.recurrent_heads == RecurrentHeads(num_key_heads=2, key_dim=5, num_value_heads=4, value_dim=16)
    assert (config.num_taps, config.conv_bias) == (4, True)
    assert kinds(read(GRANITE4, **MAMBA_SHAPE)) == "mmmm", "no key says which layers attend"
    unlimited = read(GRANITE4, **MAMBA_SHAPE, time_step_limit=[0.0, {"__float__": "Infinity"}])
    assert unlimited == read(GRANITE4, **MAMBA_SHAPE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mamba_proj_bias", True),
        ("mamba_n_heads", 3),
        ("mamba_n_groups", 3),
        ("mamba_d_head", 8),
        ("mamba_d_state", 0),
        ("mamba_d_conv", 65),
        ("mamba_conv_bias", 1),
        ("time_step_limit", [0.0, 0.1]),
        ("layer_types", ["mamba", "attention", "conv", "attention"]),
    ],
)
def test_an_unsupported_mamba_key_is_named(key: str, value: Any) -> None:
    with pytest.raises(ModelFileInvalid, match=key):
        read(GRANITE4, **MAMBA_SHAPE | {key: value})


def same(left: ModelFiles, right: ModelFiles) -> bool:
    """The same model, except for numbers that are float32 in GGUF files."""
    rounded = ("norm_eps", "attention_scale", "residual_scale", "logit_scale")
    exact = {name: getattr(right.config, name) for name in rounded}
    for name, value in exact.items():
        assert getattr(left.config, name) == (None if value is None else pytest.approx(value))
    assert replace(left.config, **exact) == right.config
    assert list(left.tensors) == list(right.tensors)
    for name, tensor in right.tensors.items():
        # exp and log of A are not inverse to the last bit
        assert np.allclose(left.tensors[name], tensor, rtol=2e-7 if name.endswith("A_log") else 0, atol=0), name
    return True


def test_image_and_draft_tensors_are_not_read(tmp_path: Path) -> None:
    whole = Path(shutil.copytree(GOLDENS / "qwen35", tmp_path / "whole"))
    config = json.loads((whole / "config.json").read_text())
    tied = {"tie_word_embeddings": config["tie_word_embeddings"]}
    named = {"architectures": [WITH_IMAGES], "model_type": "qwen3_5"}
    (whole / "config.json").write_text(json.dumps(named | tied | {"text_config": config}))
    tensors = read_safetensors(whole / "model.safetensors")
    tensors = {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in tensors.items()}
    tensors |= dict.fromkeys(("model.visual.pos_embed.weight", "mtp.layers.0.mlp.up_proj.weight"), np.ones((3, 4)))
    save_file({name: tensor.astype(np.float32) for name, tensor in tensors.items()}, whole / "model.safetensors")
    assert same(read_model(whole), read_model(GOLDENS / "qwen35"))


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_gguf_files_give_the_same_config(name: str, tmp_path: Path) -> None:
    assert same(read_model(write_gguf(GOLDENS / name, tmp_path / "model.gguf")), read_model(GOLDENS / name))


def test_experts_may_be_in_one_tensor(tmp_path: Path) -> None:
    stacked = Path(shutil.copytree(GOLDENS / "qwen35moe", tmp_path / "stacked"))
    tensors = read_safetensors(stacked / "model.safetensors")
    for layer in range(3):
        name = f"model.layers.{layer}.mlp.experts"
        parts = {
            part: np.stack([tensors.pop(f"{name}.{index}.{part}_proj.weight") for index in range(4)])
            for part in ("gate", "up", "down")
        }
        tensors[f"{name}.gate_up_proj"] = np.concatenate([parts["gate"], parts["up"]], axis=1)
        tensors[f"{name}.down_proj"] = parts["down"]
    save_file(tensors, stacked / "model.safetensors")
    assert same(read_model(stacked), read_model(GOLDENS / "qwen35moe"))


def with_drafts(name: str, tensor: NDArray[np.float32]) -> Iterator[Tensor]:
    yield name, tensor
    if name == "output_norm.weight":
        yield "blk.4.attn_q.weight", np.ones((3, 4), np.float32)
        yield "blk.4.nextn.eh_proj.weight", np.ones((3, 4), np.float32)


def test_draft_layers_of_gguf_files_are_not_read(tmp_path: Path) -> None:
    stored = write_gguf(GOLDENS / "qwen35", tmp_path / "model.gguf")
    changed = rewritten(stored, with_drafts, block_count=5, nextn_predict_layers=1)
    assert same(read_model(changed), read_model(GOLDENS / "qwen35"))


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"attention__recurrent_layers": [1, 1, 0, 1]}, "'layers.2.self_attn"),
        ({"attention__recurrent_layers": [1, 1]}, "attention.recurrent_layers"),
        ({"full_attention_interval": 3}, "'layers.2.self_attn"),
        ({"nextn_predict_layers": 4}, "nextn_predict_layers"),
        ({"ssm__inner_size": 107}, "ssm.inner_size"),
        ({"ssm__group_count": 2}, "ssm.time_step_rank"),
        ({"ssm__state_size": None}, "ssm.state_size"),
        ({"ssm__conv_kernel": 3}, "ssm_conv1d"),
    ],
)
def test_inconsistent_metadata_is_named(tmp_path: Path, metadata: dict[str, Any], named: str) -> None:
    stored = write_gguf(GOLDENS / "qwen35", tmp_path / "model.gguf")
    with pytest.raises(ModelFileInvalid, match=named):
        read_model(rewritten(stored, **metadata))
