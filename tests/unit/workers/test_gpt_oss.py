"""gpt-oss's keys of config.json and GGUF files, supported and refused ones, and the reading of its experts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.models.served_context import context_of_json
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.gpt_oss import FAMILY
from cactus_actors.workers.families.registry import family_of_gguf
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.mxfp4_blocks import dequantize
from cactus_actors.workers.runtime.layout import WeightLayout
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ClampedGate, Experts, ModelConfig
from cactus_actors.workers.spec.rope_scaling import YarnScaling
from cactus_actors.workers.spec.rotary import Rope
from tests.goldens.mxfp4_blocks import dequantised
from tests.goldens.to_gguf import read_safetensors, write_gguf
from tests.support.models.family_configs import FULL, SHAPE, SLIDING, read
from tests.support.models.gguf_block_formats import mxfp4
from tests.support.paths import GOLDENS

GPT_OSS = "GptOssForCausalLM"
BARE = {key: value for key, value in SHAPE.items() if key != "head_dim"}
GOLDEN_NAMES = ["gptoss", "gptoss-mxfp4"]
STACK = "model.layers.1.mlp.experts.gate_up_proj"
SCALES = np.zeros((4, 64, 2), np.float32)
SMALLER = np.zeros((4, 44), np.float32)
MXFP4 = {"quant_method": "mxfp4"}

Change = Callable[[dict[str, NDArray[Any]]], object]


def windows(config: ModelConfig) -> list[int]:
    return [layer.window for layer in config.layers]


def test_missing_keys_have_the_defaults_of_transformers() -> None:
    config = read(GPT_OSS, {"num_hidden_layers": 3})
    assert (config.hidden_size, config.head_dim, config.num_heads, config.num_kv_heads) == (2880, 64, 64, 8)
    assert windows(config) == [128, 0, 128]
    assert config.attention_bias
    assert config.output_bias
    scaling = YarnScaling(factor=32.0, original_context=4096, truncate=False)
    assert config.ropes == (Rope(150000.0, 64, scaling),)
    gate = ClampedGate(1.702, 7.0)
    assert config.experts == Experts(num_experts=128, num_chosen=4, ffn_size=2880, normalised=True, gate=gate)


def test_given_keys_are_read() -> None:
    config = read(GPT_OSS, sliding_window=9, layer_types=[FULL, SLIDING, SLIDING, FULL], rope_scaling={}, rope_theta=10)
    assert windows(config) == [0, 9, 9, 0]
    assert config.ropes[0].scaling == YarnScaling(factor=32.0, original_context=4096, truncate=False)
    assert config.ropes[0].theta == 10
    plain = read(GPT_OSS, rope_parameters={"rope_type": "default", "rope_theta": 100.0}, attention_bias=False)
    assert plain.ropes == (Rope(100.0, 8),)
    assert not plain.output_bias
    gate = read(GPT_OSS, num_local_experts=3, num_experts_per_tok=2, swiglu_alpha=1, swiglu_limit=0.5).experts
    expected = Experts(num_experts=3, num_chosen=2, ffn_size=48, normalised=True, gate=ClampedGate(1.0, 0.5))
    assert gate == expected


def test_mxfp4_experts_are_accepted() -> None:
    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"]
    for given in (MXFP4, MXFP4 | {"modules_to_not_convert": kept}, MXFP4 | {"modules_to_not_convert": None}):
        experts = read(GPT_OSS, quantization_config=given).experts
        assert experts is not None
        assert experts.is_mxfp4


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_act", "gelu"),
        ("num_experts", 7),
        ("num_experts_per_tok", 129),
        ("sliding_window", None),
        ("layer_types", [FULL, "linear_attention", FULL, FULL]),
        ("swiglu_limit", -1),
        ("swiglu_alpha", "1"),
        ("attention_bias", 1),
        ("rope_scaling", {"rope_type": "dynamic", "factor": 2.0}),
        ("quantization_config", {"quant_method": "fp8"}),
        ("quantization_config", [1]),
        ("quantization_config", MXFP4 | {"modules_to_not_convert": ["model.layers.0.mlp.experts"]}),
        ("quantization_config", MXFP4 | {"modules_to_not_convert": "lm_head"}),
    ],
)
def test_an_unsupported_key_is_named(key: str, value: Any) -> None:
    named = {"rope_scaling": "rope_type"}.get(key, key)
    with pytest.raises(ModelFileInvalid, match=named):
        read(GPT_OSS, BARE, **{key: value})


def test_router_and_workers_serve_the_same_context() -> None:
    for context in ({}, {"max_position_embeddings": 300}):
        given = {key: value for key, value in SHAPE.items() if key != "max_position_embeddings"} | context
        assert context_of_json({"architectures": [GPT_OSS], **given}) == read(GPT_OSS, given).max_context


def test_interleaved_gate_and_up_outputs_are_separated() -> None:
    stored = read_safetensors(GOLDENS / "gptoss" / "model.safetensors")
    tensors = read_model(GOLDENS / "gptoss").tensors
    stack = stored["model.layers.1.mlp.experts.gate_up_proj"]
    biases = stored["model.layers.1.mlp.experts.gate_up_proj_bias"]
    for expert in range(5):
        for turn, part in enumerate(["gate_proj", "up_proj"]):
            name = f"layers.1.mlp.experts.{expert}.{part}"
            assert np.array_equal(tensors[name], stack[expert, :, turn::2].T)
            assert np.array_equal(tensors[f"{name}.bias"], biases[expert, turn::2])
        down = tensors[f"layers.1.mlp.experts.{expert}.down_proj"]
        assert np.array_equal(down, stored["model.layers.1.mlp.experts.down_proj"][expert].T)
        assert down.flags.c_contiguous


def test_mxfp4_experts_are_read_exactly() -> None:
    stored = read_safetensors(GOLDENS / "gptoss-mxfp4" / "model.safetensors")
    tensors = read_model(GOLDENS / "gptoss-mxfp4").tensors
    stack = "model.layers.0.mlp.experts.gate_up_proj"
    expected = dequantised(stored[f"{stack}_blocks"], stored[f"{stack}_scales"])
    assert len(np.unique(stored[f"{stack}_scales"])) > 1
    for expert in range(4):
        for turn, part in enumerate(["gate_proj", "up_proj"]):
            assert np.array_equal(tensors[f"layers.0.mlp.experts.{expert}.{part}"], expected[expert, turn::2])


def test_every_mxfp4_value_is_read() -> None:
    codes = np.arange(256, dtype=np.uint8).reshape(16, 1, 16)
    for scale in (0, 1, 100, 127, 250):
        found = dequantize(codes, np.full((16, 1), scale, np.uint8))
        # A block of ggml has input i beside input i + 16.
        pairs = [np.fromiter(mxfp4(bytes([scale, *[byte] * 16])), float)[[0, 16]] for byte in range(256)]
        assert np.array_equal(found.reshape(-1), np.concatenate(pairs).astype(np.float32))
    assert np.isnan(dequantize(codes, np.full((16, 1), 255, np.uint8))).all()


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_gguf_files_give_the_same_config(name: str, tmp_path: Path) -> None:
    of_directory, of_file = read_model(GOLDENS / name), read_model(write_gguf(GOLDENS / name, tmp_path / "model.gguf"))
    assert of_file.config.layers == of_directory.config.layers
    assert of_file.config.experts == of_directory.config.experts
    assert of_file.config.ropes[0].amplitude == pytest.approx(of_directory.config.ropes[0].amplitude)
    assert np.allclose(of_file.config.ropes[0].frequencies(), of_directory.config.ropes[0].frequencies(), rtol=1e-6)
    assert list(of_file.tensors) == list(of_directory.tensors)
    for stored, given in zip(of_file.tensors.values(), of_directory.tensors.values(), strict=True):
        assert np.array_equal(stored, given)


@pytest.mark.parametrize(
    ("key", "value"),
    [("expert_gating_func", 2), ("rope.freq_base_swa", 1.0), ("attention.sliding_window_pattern", [1])],
)
def test_an_unsupported_gguf_key_is_named(key: str, value: object, tmp_path: Path) -> None:
    file = open_gguf(write_gguf(GOLDENS / "gptoss", tmp_path / "model.gguf"))
    keys = ConfigKeys(file.path, file.metadata | {f"gpt-oss.{key}": value}, "gpt-oss.")
    with pytest.raises(ModelFileInvalid, match=key):
        family_of_gguf(file.path, file.metadata).read_gguf(keys, file)


@pytest.mark.parametrize(
    ("golden", "change", "message"),
    [
        ("gptoss", lambda tensors: tensors.update({STACK: tensors[STACK][:, :, :-1]}), "stack of 5 experts"),
        ("gptoss", lambda tensors: tensors.update({f"{STACK}_bias": SMALLER}), "gate_up_proj_bias"),
        ("gptoss", lambda tensors: tensors.update({STACK: tensors[STACK][:, 1:]}), "the config asks for"),
        ("gptoss", lambda tensors: tensors.update({f"{STACK}_blocks": np.zeros(5, np.uint8)}), "is in MXFP4, unlike"),
        ("gptoss", lambda tensors: tensors.pop(STACK), "are missing"),
        ("gptoss", lambda tensors: tensors.update(sinks=np.zeros(3, np.uint8)), "has the type U8"),
        ("gptoss-mxfp4", lambda tensors: tensors.pop(f"{STACK}_scales"), "and no scales"),
        ("gptoss-mxfp4", lambda tensors: tensors.pop(f"{STACK}_blocks"), "are missing"),
        ("gptoss-mxfp4", lambda tensors: tensors.update({f"{STACK}_scales": SCALES}), "must have the type U8"),
        ("gptoss-mxfp4", lambda tensors: tensors.update({STACK: SMALLER}), "is not in MXFP4, unlike"),
        (
            "gptoss-mxfp4",
            lambda tensors: tensors.update({f"{STACK}_scales": tensors[f"{STACK}_scales"][:, :-2]}),
            "scales of the shape",
        ),
    ],
)
def test_stacks_of_another_shape_are_refused(golden: str, change: Change, message: str, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(GOLDENS / golden, tmp_path / "model"))
    tensors = read_safetensors(directory / "model.safetensors")
    change(tensors)
    (directory / "model.safetensors").unlink()
    save_file({name: np.ascontiguousarray(each) for name, each in tensors.items()}, directory / "model.safetensors")
    with pytest.raises(ModelFileInvalid, match=message):
        read_model(directory)


def test_mxfp4_experts_are_not_quantized_again() -> None:
    files = read_model(GOLDENS / "gptoss-mxfp4")
    layout = WeightLayout.for_weights(files.graph, "int4")
    assert (layout.body.name, layout.head.name) == ("int4", "int8")
    assert "mxfp4" in type(layout.body.wrap(np.zeros(0, np.uint8))).__name__
    plain = WeightLayout.for_weights(build_graph(FAMILY, read_model(GOLDENS / "gptoss").config), "int4")
    assert "mxfp4" not in type(plain.body.wrap(np.zeros(0, np.uint8))).__name__
