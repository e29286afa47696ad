"""The files of OLMo 2 and 3, Ministral 3, EXAONE 4, Granite, LFM2 MoE and LFM3: keys that are read, and refusals."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.models.served_context import context_of_json
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families import granite_moe
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_of_gguf
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.runtime.op_codes import OpCode
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Experts, ModelConfig, QueryGrowth
from cactus_actors.workers.spec.rope_scaling import ProportionalScaling, YarnScaling
from cactus_actors.workers.spec.rotary import Rope
from tests.goldens.to_gguf import read_safetensors, write_gguf
from tests.support.models.family_configs import FULL, SHAPE, SLIDING, read
from tests.support.paths import GOLDENS

OLMO2, OLMO3, EXAONE4 = "Olmo2ForCausalLM", "Olmo3ForCausalLM", "Exaone4ForCausalLM"
MINISTRAL3, MISTRAL3_IMAGES = "Ministral3ForCausalLM", "Mistral3ForConditionalGeneration"
GRANITE, GRANITE_MOE = "GraniteForCausalLM", "GraniteMoeSharedForCausalLM"
GRANITE4 = "GraniteMoeHybridForCausalLM"
LFM2_MOE, LFM3 = "Lfm2MoeForCausalLM", "Lfm3ForCausalLM"
CONV = "conv"
KINDS = {"layer_types": [CONV, FULL, CONV, FULL]}
YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64}
GROWING = YARN | {"rope_theta": 1e6, "llama_4_scaling_beta": 0.1}
BARE = {key: value for key, value in SHAPE.items() if key != "head_dim"}


def windows_and_ropes(config: ModelConfig) -> list[tuple[int, int | None]]:
    return [(layer.window, layer.rope) for layer in config.layers]


def test_olmo3_scales_the_rope_of_layers_without_a_window() -> None:
    config = read(OLMO3, sliding_window=32, rope_theta=500000, rope_scaling=YARN)
    assert windows_and_ropes(config) == [(32, 1), (32, 1), (32, 1), (0, 0)]
    assert config.ropes == (Rope(500000.0, 8, YarnScaling(factor=8.0, original_context=64)), Rope(500000.0, 8))
    assert [layer.window for layer in read(OLMO3).layers] == [4096, 4096, 4096, 0]
    assert read(OLMO2).ropes == (Rope(10000.0, 8),)
    assert {layer.window for layer in read(OLMO2, sliding_window=32).layers} == {0}


def test_ministral3_reads_attention_temperature_from_the_rope() -> None:
    config = read(MINISTRAL3, rope_parameters=GROWING)
    assert config.query_growth == QueryGrowth(0.1, period=64)
    above = read(MINISTRAL3, rope_parameters=GROWING, original_max_position_embeddings=32)
    assert above.query_growth == QueryGrowth(0.1, period=32)
    assumed = read(MINISTRAL3)
    assert assumed.query_growth == QueryGrowth(0.1, period=16384)
    assert assumed.ropes[0].amplitude == 1.0


def test_the_text_model_beside_images_may_be_ministral_or_mistral() -> None:
    text = {**SHAPE, "model_type": "ministral3", "rope_parameters": GROWING, "tie_word_embeddings": False}
    config = read(MISTRAL3_IMAGES, {"text_config": text})
    assert config.query_growth == QueryGrowth(0.1, period=64)
    assert config.tie_embeddings
    older = read(MISTRAL3_IMAGES, {"text_config": {**SHAPE, "sliding_window": None}, "tie_word_embeddings": False})
    assert older.query_growth is None
    assert not older.tie_embeddings


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sliding_window": 9}, [(9, 0)] * 3 + [(0, None)]),
        ({"sliding_window": 9, "sliding_window_pattern": 2}, [(9, 0), (0, None)] * 2),
        ({"sliding_window": 9, "layer_types": [FULL] * 4}, [(0, None)] * 4),
        ({"sliding_window": None, "sliding_window_pattern": None, "layer_types": [FULL] * 4}, [(0, 0)] * 4),
    ],
)
def test_exaone4_rotates_only_window_layers_if_there_are_any(
    changes: dict[str, Any], expected: list[tuple[int, int | None]]
) -> None:
    assert windows_and_ropes(read(EXAONE4, **changes)) == expected


def test_the_factors_of_granite_are_read() -> None:
    factors = {"attention_multiplier": 0.1, "embedding_multiplier": 12, "residual_multiplier": 0.22}
    config = read(GRANITE, logits_scaling=8.0, **factors)
    assert (config.score_scale, config.embedding_scale) == (0.1, 12.0)
    assert (config.residual_scale, config.logit_scale) == (0.22, 0.125)
    plain = read(GRANITE)
    assert (plain.score_scale, plain.embedding_scale, plain.residual_scale, plain.logit_scale) == (1, 1, 1, 1)


def test_granite_may_have_a_shared_expert() -> None:
    expected = Experts(num_experts=8, num_chosen=2, ffn_size=48, normalised=True, shared_ffn_size=20)
    assert read(GRANITE_MOE, shared_intermediate_size=20).experts == expected


def test_granite4_may_have_no_experts_and_no_rope() -> None:
    dense = read(GRANITE4, layer_types=["attention"] * 4, num_local_experts=0, shared_intermediate_size=20)
    assert (dense.experts, dense.ffn_size) == (None, 20)
    assert windows_and_ropes(dense) == [(0, None)] * 4
    mixed = read(GRANITE4, layer_types=[FULL] * 4, position_embedding_type="rope")
    assert windows_and_ropes(mixed) == [(0, 0)] * 4
    assert mixed.experts == Experts(num_experts=8, num_chosen=2, ffn_size=48, normalised=True, shared_ffn_size=1024)


def test_lfm2_experts_begin_after_the_dense_layers() -> None:
    config = read(LFM2_MOE, **KINDS, num_dense_layers=3, routed_scaling_factor=2.5, norm_topk_prob=False)
    assert [layer.has_experts for layer in config.layers] == [False, False, False, True]
    assert [layer.kind for layer in config.layers] == ["conv", "attention", "conv", "attention"]
    sigmoids = {"has_sigmoid_scores": True, "has_bias": True, "scale": 2.5}
    assert config.experts == Experts(num_experts=32, num_chosen=4, ffn_size=1792, normalised=False, **sigmoids)
    assert config.ffn_size == 48
    without = read(LFM2_MOE, **KINDS, use_expert_bias=False, tie_embedding=False)
    assert without.experts is not None
    assert not without.experts.has_bias
    assert not without.tie_embeddings


def test_lfm3_has_a_rope_for_each_kind_of_layer() -> None:
    config = read(LFM3, num_hidden_layers=7)
    assert [layer.kind[0] for layer in config.layers] == list("ccacaca")
    assert [layer.window for layer in config.layers if layer.kind == "attention"] == [0, 256, 0]
    assert config.ropes == (Rope(1e6, 8, ProportionalScaling(0.5)), Rope(10000.0, 8))
    assert config.has_norms_after
    assert config.has_head_gates
    plain = read(LFM3, use_sandwich_norm=False, use_attention_gate=False)
    assert not plain.has_norms_after
    assert not plain.has_head_gates


def test_a_proportional_rope_rotates_the_first_pairs() -> None:
    plain = Rope(100.0, 10).frequencies()
    turning = Rope(100.0, 10, ProportionalScaling(0.5, factor=4.0)).frequencies()
    assert np.array_equal(turning, [*(plain[:2] / np.float32(4)), 0, 0, 0])


@pytest.mark.parametrize(
    ("architecture", "key", "value"),
    [
        *((architecture, "hidden_act", "gelu") for architecture in (OLMO2, OLMO3, MINISTRAL3, EXAONE4, GRANITE)),
        *((architecture, "quantization_config", {"quant_method": "fp8"}) for architecture in (OLMO3, MISTRAL3_IMAGES)),
        (OLMO3, "sliding_window", None),
        (OLMO3, "rope_theta", 10000.0),
        (OLMO3, "rope_parameters", {"rope_theta": 1e6, "rope_type": "default"}),
        (OLMO3, "layer_types", [FULL, SLIDING, CONV, FULL]),
        (MINISTRAL3, "attention_bias", True),
        (MINISTRAL3, "layer_types", [SLIDING] * 4),
        (MINISTRAL3, "rope_parameters", YARN),
        (EXAONE4, "sliding_window_pattern", "LLLG"),
        (EXAONE4, "sliding_window", None),
        (GRANITE, "logits_scaling", 0),
        (GRANITE, "attention_multiplier", "0.1"),
        (GRANITE, "residual_multiplier", -1.0),
        (GRANITE_MOE, "shared_intermediate_size", -1),
        (GRANITE_MOE, "num_experts_per_tok", 9),
        (GRANITE4, "layer_types", ["attention", "mamba2", "attention", "attention"]),
        (GRANITE4, "position_embedding_type", "alibi"),
        (LFM2_MOE, "layer_types", None),
        (LFM2_MOE, "conv_bias", True),
        (LFM2_MOE, "num_dense_layers", -1),
        (LFM2_MOE, "routed_scaling_factor", 0),
        (LFM3, "conv_bias", True),
        (LFM3, "layer_types", [CONV, FULL, "linear_attention", FULL]),
        (LFM3, "rope_scaling", YARN),
        (LFM3, "partial_rotary_factor", 0.5),
        (LFM3, "rope_parameters", {SLIDING: {"rope_type": "default", "rope_theta": 1e4}}),
        (LFM3, "use_attention_gate", 1),
    ],
)
def test_an_unsupported_key_is_named(architecture: str, key: str, value: Any) -> None:
    named = {"rope_parameters": "llama_4_scaling_beta" if architecture == MINISTRAL3 else "rope_parameters"}
    kinds = {LFM2_MOE: KINDS, GRANITE4: {"layer_types": [FULL] * 4}}
    changes: dict[str, Any] = kinds.get(architecture, {})
    with pytest.raises(ModelFileInvalid, match=named.get(key, key)):
        read(architecture, BARE, **(changes | {key: value}))


@pytest.mark.parametrize("architecture", [OLMO2, OLMO3, MINISTRAL3, EXAONE4, GRANITE, GRANITE_MOE, LFM2_MOE, LFM3])
def test_router_and_workers_serve_the_same_context(architecture: str) -> None:
    for context in ({}, {"max_position_embeddings": 300}):
        given = {key: value for key, value in SHAPE.items() if key != "max_position_embeddings"} | KINDS | context
        if architecture not in (LFM2_MOE, LFM3):
            del given["layer_types"]
        assert context_of_json({"architectures": [architecture], **given}) == read(architecture, given).max_context


@pytest.mark.parametrize(
    "name", ["olmo2", "olmo3", "ministral3", "exaone4", "granite", "granitemoe", "granite4", "lfm2moe"]
)
def test_gguf_files_give_the_same_config(name: str, tmp_path: Path) -> None:
    of_directory, of_file = read_model(GOLDENS / name), read_model(write_gguf(GOLDENS / name, tmp_path / "model.gguf"))
    assert of_file.config.layers == of_directory.config.layers
    assert of_file.config.experts == of_directory.config.experts
    growths = [config.query_growth or QueryGrowth(0.0, 1) for config in (of_file.config, of_directory.config)]
    assert growths[0].factor == pytest.approx(growths[1].factor)
    assert growths[0].period == growths[1].period
    for factor in ("score_scale", "embedding_scale", "residual_scale", "logit_scale"):
        assert getattr(of_file.config, factor) == pytest.approx(getattr(of_directory.config, factor))
    if name != "granite4":  # the two formats have different names for its network
        assert list(of_file.tensors) == list(of_directory.tensors)
    for stored, given in zip(of_file.tensors.values(), of_directory.tensors.values(), strict=True):
        assert np.array_equal(stored, given)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_stacked_experts_are_read_separately(dtype: type, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(GOLDENS / "granitemoe", tmp_path / "model"))
    whole = read_safetensors(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    save_file({name: tensor.astype(dtype) for name, tensor in whole.items()}, directory / "model.safetensors")
    whole = {name: tensor.astype(np.float32) for name, tensor in load_file(directory / "model.safetensors").items()}
    stack = whole["model.layers.1.block_sparse_moe.input_linear.weight"]
    tensors = read_model(directory).tensors
    for index, expert in enumerate(stack):
        gate, up = np.split(expert, 2)
        assert np.array_equal(tensors[f"layers.1.block_sparse_moe.experts.{index}.gate"], gate)
        assert np.array_equal(tensors[f"layers.1.block_sparse_moe.experts.{index}.up"], up)


@pytest.mark.parametrize(
    ("name", "shape"), [("block_sparse_moe.input_linear", (5, 27, 32)), ("shared_mlp.input_linear", (35, 32))]
)
def test_stacks_of_another_shape_are_refused(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    directory = Path(shutil.copytree(GOLDENS / "granitemoe", tmp_path / "model"))
    tensors = read_safetensors(directory / "model.safetensors")
    tensors[f"model.layers.0.{name}.weight"] = np.zeros(shape, np.float32)
    (directory / "model.safetensors").unlink()
    save_file(tensors, directory / "model.safetensors")
    with pytest.raises(ModelFileInvalid, match=f"'model.layers.0.{name}.weight' has the shape"):
        read_model(directory)


@pytest.mark.parametrize(
    ("golden", "key", "value"),
    [
        ("granite", "rope.scaling.finetuned", 1),
        ("granite", "logit_scale", 0.0),
        ("ministral3", "rope.scaling.original_context_length", None),
        ("lfm2moe", "expert_gating_func", 1),
        ("lfm2moe", "leading_dense_block_count", -1),
        ("olmo3", "rope.scaling.yarn_attn_factor", 1.5),
        ("olmo3", "attention.sliding_window_pattern", [1, 0]),
    ],
)
def test_an_unsupported_gguf_key_is_named(golden: str, key: str, value: object, tmp_path: Path) -> None:
    file = open_gguf(write_gguf(GOLDENS / golden, tmp_path / "model.gguf"))
    prefix = f"{file.metadata['general.architecture']}."
    keys = ConfigKeys(file.path, file.metadata | {prefix + key: value}, prefix)
    with pytest.raises(ModelFileInvalid, match=key):
        family_of_gguf(file.path, file.metadata).read_gguf(keys, file)


def test_the_shared_expert_is_added_to_the_experts_before_the_residual() -> None:
    config = read(GRANITE_MOE, shared_intermediate_size=20, num_hidden_layers=1)
    codes = [operation.code for operation in build_graph(granite_moe.FAMILY, config).operations]
    assert codes.count(OpCode.ADD) == 1, "to the stream, after the shared network is added to the experts"


def test_families_without_a_gguf_architecture_are_not_found() -> None:
    with pytest.raises(ModelFileInvalid, match="lfm3"):
        family_of_gguf(Path("model.gguf"), {"general.architecture": "lfm3"})
