"""LFM2, Mixtral and Qwen3 MoE in config.json and GGUF files: the kind of each layer."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families.registry import family_of_architectures
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Experts, ModelConfig
from tests.goldens.to_gguf import write_gguf
from tests.support.models.rewritten_gguf import Change, Tensor, rewritten, unchanged
from tests.support.paths import GOLDENS

LFM2, MIXTRAL, QWEN3_MOE = "Lfm2ForCausalLM", "MixtralForCausalLM", "Qwen3MoeForCausalLM"
SHAPE = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
CONV, FULL = "conv", "full_attention"


def read(architecture: str, **changes: Any) -> ModelConfig:
    values = {key: value for key, value in (SHAPE | changes).items() if value != "missing"}
    path = Path("config.json")
    return family_of_architectures(path, [architecture]).read_json(ConfigKeys(path, values))


def kinds(config: ModelConfig) -> str:
    return "".join({"attention": "a", "conv": "c"}[layer.kind] for layer in config.layers)


def with_experts(config: ModelConfig) -> list[int]:
    return [index for index, layer in enumerate(config.layers) if layer.has_experts]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"full_attn_idxs": [2, 0]}, "acac"),
        ({"layer_types": [CONV, CONV, FULL, CONV]}, "ccac"),
        ({"layer_types": [CONV, CONV, FULL, CONV], "full_attn_idxs": [0]}, "ccac"),
        ({}, "aaaa"),
    ],
)
def test_lfm2_names_its_attention_layers(changes: dict[str, Any], expected: str) -> None:
    assert kinds(read(LFM2, **changes)) == expected


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({}, 256),
        ({"block_multiple_of": 10}, 40),
        ({"block_multiple_of": 1, "block_ffn_dim_multiplier": 1.3}, 41),
        ({"block_ff_dim": 6656, "intermediate_size": 1}, 4608),
        ({"block_auto_adjust_ff_dim": False}, 48),
        ({"block_auto_adjust_ff_dim": False, "intermediate_size": "missing"}, 12288),
    ],
)
def test_lfm2_adjusts_the_width_of_its_feed_forward_network(changes: dict[str, Any], size: int) -> None:
    assert read(LFM2, **changes).ffn_size == size


def test_lfm2_is_tied_unless_a_key_disables_it() -> None:
    assert read(LFM2).tie_embeddings
    assert not read(LFM2, tie_embedding=False).tie_embeddings
    assert not read(LFM2, tie_word_embeddings=False).tie_embeddings


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [0, 1, 2, 3]),
        ({"decoder_sparse_step": 2}, [1, 3]),
        ({"mlp_only_layers": [0, 3]}, [1, 2]),
        ({"decoder_sparse_step": 2, "mlp_only_layers": [3]}, [1]),
        ({"mlp_only_layers": None}, [0, 1, 2, 3]),
    ],
)
def test_qwen3_moe_names_its_expert_layers(changes: dict[str, Any], expected: list[int]) -> None:
    assert with_experts(read(QWEN3_MOE, **changes)) == expected


def test_experts_of_both_families_are_read() -> None:
    assert read(MIXTRAL).experts == Experts(num_experts=8, num_chosen=2, ffn_size=48, normalised=True)
    assert read(QWEN3_MOE).experts == Experts(num_experts=128, num_chosen=8, ffn_size=768, normalised=False)
    given = {"num_experts_per_tok": 3, "moe_intermediate_size": 10, "norm_topk_prob": True}
    expected = Experts(num_experts=7, num_chosen=3, ffn_size=10, normalised=True)
    assert read(QWEN3_MOE, num_experts=7, **given).experts == expected
    assert read(QWEN3_MOE, num_local_experts=7, **given).experts == expected


def test_a_window_applies_to_all_layers() -> None:
    assert {layer.window for layer in read(MIXTRAL, sliding_window=9).layers} == {9}
    assert {layer.window for layer in read(MIXTRAL, sliding_window=None).layers} == {0}
    assert {layer.window for layer in read(QWEN3_MOE, sliding_window=9).layers} == {0}
    used = read(QWEN3_MOE, sliding_window=9, use_sliding_window=True)
    assert {layer.window for layer in used.layers} == {9}


@pytest.mark.parametrize(
    ("architecture", "key", "value"),
    [
        (LFM2, "conv_bias", True),
        (LFM2, "conv_L_cache", 0),
        (LFM2, "layer_types", [CONV] * 3),
        (LFM2, "layer_types", [CONV, CONV, FULL, "sliding_attention"]),
        (LFM2, "full_attn_idxs", [4]),
        (LFM2, "full_attn_idxs", "2"),
        (LFM2, "block_multiple_of", 0),
        (LFM2, "block_ffn_dim_multiplier", "1"),
        (MIXTRAL, "hidden_act", "gelu"),
        (MIXTRAL, "num_local_experts", 0),
        (MIXTRAL, "num_experts_per_tok", 9),
        (MIXTRAL, "quantization_config", {"quant_method": "awq"}),
        (QWEN3_MOE, "hidden_act", "gelu"),
        (QWEN3_MOE, "norm_topk_prob", 1),
        (QWEN3_MOE, "mlp_only_layers", [4]),
        (QWEN3_MOE, "decoder_sparse_step", 0),
        (QWEN3_MOE, "num_experts", 1 << 20),
        (QWEN3_MOE, "moe_intermediate_size", -1),
    ],
)
def test_an_unsupported_key_is_named(architecture: str, key: str, value: Any) -> None:
    with pytest.raises(ModelFileInvalid, match=key):
        read(architecture, **{key: value})


def apart(name: str, tensor: NDArray[np.float32]) -> Iterator[Tensor]:
    """The experts of a stack as separate tensors, like files of 2023."""
    if tensor.ndim < 3:
        yield name, tensor
    else:
        for index, expert in enumerate(tensor):
            yield name.replace("_exps.", f".{index}."), expert


@pytest.fixture(params=["mixtral", "qwen3moe", "lfm2"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A checkpoint as a directory and as a GGUF file."""
    directory = Path(shutil.copytree(GOLDENS / request.param, tmp_path / request.param))
    return directory, write_gguf(directory, tmp_path / "model.gguf")


def test_gguf_files_give_the_same_config(stored: tuple[Path, Path]) -> None:
    of_directory, of_file = (read_model(path) for path in stored)
    assert of_file.family is of_directory.family
    assert of_file.config.layers == of_directory.config.layers
    assert of_file.config.experts == of_directory.config.experts
    assert of_file.config.num_taps == of_directory.config.num_taps
    assert list(of_file.tensors) == list(of_directory.tensors)
    for name, tensor in of_directory.tensors.items():
        assert np.array_equal(of_file.tensors[name], tensor), name


@pytest.mark.parametrize("golden", ["mixtral", "qwen3moe"])
def test_experts_may_be_separate_tensors(golden: str, tmp_path: Path) -> None:
    stacked = write_gguf(GOLDENS / golden, tmp_path / "model.gguf")
    expected = read_model(stacked).tensors
    tensors = read_model(rewritten(stacked, apart)).tensors
    assert list(tensors) == list(expected)
    assert all(np.array_equal(tensors[name], expected[name]) for name in expected)


def test_a_single_expert_of_a_quantised_stack_can_be_read(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((3, 4, 256), dtype=np.float32)
    writer = gguf.GGUFWriter(tmp_path / "stack.gguf", "llama")
    kind = gguf.GGMLQuantizationType.Q4_0
    writer.add_tensor("stack", gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = open_gguf(tmp_path / "stack.gguf")
    whole = file.read_tensor("stack")
    assert whole.shape == values.shape
    for index in range(3):
        assert np.array_equal(file.read_entry("stack", index), whole[index])


def doubled(name: str, tensor: NDArray[np.float32]) -> Iterator[Tensor]:
    yield name, tensor
    if "ffn_gate_exps" in name:
        yield name.replace("_exps.", ".0."), tensor[0]


def without_long_factors(name: str, tensor: NDArray[np.float32]) -> Iterator[Tensor]:
    if name != "rope_factors_long.weight":
        yield name, tensor


@pytest.mark.parametrize(
    ("golden", "change", "metadata", "named"),
    [
        ("phi3-longrope", without_long_factors, {}, "'rope_factors_long.weight' is missing"),
        ("mixtral", unchanged, {"expert_count": 3}, "3 matrices"),
        ("mixtral", unchanged, {"expert_used_count": 5}, "expert_used_count"),
        ("mixtral", unchanged, {"expert_used_count": None}, "expert_used_count"),
        ("mixtral", unchanged, {"expert_shared_count": 1}, "expert_shared_count"),
        ("mixtral", unchanged, {"expert_gating_func": 2}, "expert_gating_func"),
        ("mixtral", unchanged, {"expert_weights_scale": 2.5}, "expert_weights_scale"),
        ("mixtral", unchanged, {"expert_count": 0}, "'layers.0.mlp.gate_proj'"),
        ("mixtral", doubled, {}, "twice"),
        ("qwen3moe", unchanged, {"expert_feed_forward_length": 0}, "expert_feed_forward_length"),
        ("lfm2", unchanged, {"attention__head_count_kv": [2, 2, 2]}, "attention.head_count_kv"),
        ("lfm2", unchanged, {"attention__head_count_kv": [0, 0, 2, 0, 4]}, "attention.head_count_kv"),
        ("lfm2", unchanged, {"attention__head_count_kv": [0] * 5}, "attention.head_count_kv"),
        ("lfm2", unchanged, {"attention__head_count_kv": None}, "attention.head_count_kv"),
        ("lfm2", unchanged, {"attention__head_count_kv": 2.0}, "attention.head_count_kv"),
        ("lfm2", unchanged, {"rope__dimension_count": 256}, "256 lanes in heads of"),
        ("mixtral", unchanged, {"rope__dimension_count": 256}, "256 lanes in heads of"),
        ("mixtral", unchanged, {"rope__dimension_count": 3}, "rope.dimension_count 3 is not supported"),
        ("mixtral", unchanged, {"attention__sliding_window": [4, 4]}, "attention.sliding_window"),
        ("mixtral", unchanged, {"rope__scaling__type": [1, 1]}, "rope.scaling.type"),
        ("lfm2", unchanged, {"shortconv__l_cache": 0}, "shortconv.l_cache"),
    ],
)
def test_an_unsupported_gguf_file_is_refused(
    golden: str, change: Change, metadata: dict[str, Any], named: str, tmp_path: Path
) -> None:
    path = rewritten(write_gguf(GOLDENS / golden, tmp_path / "model.gguf"), change, **metadata)
    with pytest.raises(ModelFileInvalid, match=named):
        read_model(path)


@pytest.mark.parametrize(("name", "key"), [("mixtral", "num_local_experts"), ("qwen3moe", "num_experts")])
def test_missing_layers_and_experts_are_refused_at_once(tmp_path: Path, name: str, key: str) -> None:
    path = tmp_path / name
    shutil.copytree(GOLDENS / name, path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {key: 4096, "num_hidden_layers": 4096}))
    began = time.process_time()
    with pytest.raises(ModelFileInvalid, match="too few for 4096 layers and 4096 experts"):
        read_model(path)
    assert time.process_time() - began < 2.0
