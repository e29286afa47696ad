"""Adapters of PEFT and of llama.cpp: what is read, and what is refused by its key or tensor."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_named
from cactus_actors.workers.loading.adapter_reader import read_adapter
from cactus_actors.workers.loading.model_reader import ModelFiles, read_model
from cactus_actors.workers.loading.random_weights import parse_random_spec, random_adapter
from cactus_actors.workers.loading.tensor_source import TensorSource
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights, LowRank
from cactus_actors.workers.spec.model_config import Experts, Layer, ModelConfig, RecurrentHeads
from tests.support.models.written_adapters import write_gguf_adapter, write_peft
from tests.support.models.written_models import interleaved, make_tensors, write_directory

LLAMA = parse_random_spec("llama:hidden=24,ffn=40,layers=2,heads=4,kv_heads=2,head_dim=8,vocab=50,tied=0")
TARGETS = ["q_proj", "v_proj", "down_proj"]


def files_of(config: ModelConfig) -> ModelFiles:
    """A model of this config; its weights are not used."""
    family = family_named(config.family)
    return ModelFiles(family, config, build_graph(family, config), TensorSource({}))


@pytest.fixture
def weights() -> AdapterWeights:
    return random_adapter(LLAMA, 1, rank=4, targets=TARGETS)


def is_equal(given: AdapterWeights, expected: AdapterWeights, scale: float = 1.0) -> bool:
    return given.keys() == expected.keys() and all(
        np.array_equal(given[name].down, down) and np.allclose(given[name].up, up * scale, rtol=1e-6, atol=0)
        for name, (down, up) in expected.items()
    )


def changed(weights: AdapterWeights, ranks: dict[str, int]) -> AdapterWeights:
    """The adapter with other ranks for the modules whose names end so."""
    result = dict(weights)
    for end, rank in ranks.items():
        for name, (down, up) in weights.items():
            if name.endswith(end):
                result[name] = LowRank(np.resize(down, (rank, down.shape[1])), np.resize(up, (len(up), rank)))
    return result


@pytest.mark.parametrize(
    ("changes", "scale"),
    [
        ({}, 1.0),
        ({"lora_alpha": 16}, 4.0),
        ({"lora_alpha": 2.5}, 0.625),
        ({"lora_alpha": 8, "use_rslora": True}, 4.0),
        ({"target_modules": r"model\.layers\.\d+\.(self_attn\.[qv]_proj|mlp\.down_proj)"}, 1.0),
        ({"target_modules": "all-linear"}, 1.0),
        ({"target_modules": None}, 1.0),
        ({"init_lora_weights": "gaussian", "peft_version": "0.18.0", "loftq_config": {}, "use_new_idea": False}, 1.0),
    ],
)
def test_a_directory_of_peft_is_read(
    tmp_path: Path, weights: AdapterWeights, changes: dict[str, Any], scale: float
) -> None:
    given = read_adapter(write_peft(tmp_path / "adapter", weights, **changes), files_of(LLAMA))
    assert is_equal(given, weights, scale)


def test_patterns_set_rank_and_alpha_of_some_modules(tmp_path: Path, weights: AdapterWeights) -> None:
    weights = changed(weights, {"v_proj": 2, "0.mlp.down_proj": 6})
    rank_pattern = {"v_proj": 2, r"layers\.0\.mlp\..*": 6}
    alpha_pattern = {"model.layers.1.self_attn.q_proj": 12, "down_proj": 3}
    directory = write_peft(tmp_path / "adapter", weights, rank_pattern=rank_pattern, alpha_pattern=alpha_pattern)
    given = read_adapter(directory, files_of(LLAMA))
    for name, scale in {
        "layers.0.self_attn.q_proj": 1.0,
        "layers.1.self_attn.q_proj": 3.0,
        "layers.0.self_attn.v_proj": 2.0,
        "layers.0.mlp.down_proj": 0.5,
        "layers.1.mlp.down_proj": 0.75,
    }.items():
        assert np.allclose(given[name].up, weights[name].up * scale, rtol=1e-6, atol=0), name
    write_peft(tmp_path / "adapter", weights, rank_pattern=rank_pattern, alpha_pattern=alpha_pattern, use_rslora=True)
    stabilised = read_adapter(directory, files_of(LLAMA))["layers.0.mlp.down_proj"]
    assert np.allclose(stabilised.up, weights["layers.0.mlp.down_proj"].up * (3 / math.sqrt(6)), rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type 'IA3' is not supported"),
        ({"use_dora": True}, "use_dora True"),
        ({"use_qalora": True}, "use_qalora True"),
        ({"lora_bias": True}, "lora_bias True"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out True"),
        ({"bias": "lora_only"}, "bias 'lora_only'"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"target_parameters": ["mlp.experts.gate_up_proj"]}, "target_parameters"),
        ({"alora_invocation_tokens": [1]}, "alora_invocation_tokens"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights 'pissa'"),
        ({"use_new_idea": True}, "use_new_idea True"),
        ({"r": 0}, "r is 0"),
        ({"r": 8}, "adapter_config.json says the rank 8"),
        ({"lora_alpha": 0}, "lora_alpha 0 is not supported"),
        ({"alpha_pattern": {"q_proj": 1e300}}, "values that are not finite"),
        ({"lora_alpha": "4"}, "lora_alpha must be a finite number"),
        ({"rank_pattern": {"(": 4}}, r"rank_pattern has the pattern"),
        ({"rank_pattern": {"(?i)Q_proj": 4}}, "pattern '.*': "),
        ({"target_modules": r"((.*)*)*x$"}, "'model.layers.0.*' is not one of the target_modules"),
        ({"target_modules": "(" * 4000}, "nested too deeply"),
        ({"rank_pattern": {"q_proj": "4"}}, "rank_pattern has '4'"),
        ({"target_modules": ["q_proj", "v_proj"]}, "'model.layers.0.mlp.down_proj' is not one of the target_modules"),
        ({"target_modules": [*TARGETS, "up_proj"]}, "no tensors of 'layers.[01].mlp.up_proj'"),
    ],
)
def test_an_unsupported_key_is_refused(
    tmp_path: Path, weights: AdapterWeights, changes: dict[str, Any], message: str
) -> None:
    directory = write_peft(tmp_path / "adapter", weights, **changes)
    with pytest.raises(ModelFileInvalid, match=message):
        read_adapter(directory, files_of(LLAMA))


def test_an_adapter_may_select_layers(tmp_path: Path, weights: AdapterWeights) -> None:
    some = {name: each for name, each in weights.items() if name.startswith("layers.1.")}
    directory = write_peft(tmp_path / "adapter", some, layers_to_transform=[1])
    assert is_equal(read_adapter(directory, files_of(LLAMA)), some)
    write_peft(directory, some)
    with pytest.raises(ModelFileInvalid, match="no tensors of 'layers"):
        read_adapter(directory, files_of(LLAMA))


def module(name: str, inputs: int, outputs: int) -> dict[str, NDArray[np.float32]]:
    base = f"base_model.model.{name}"
    return {
        f"{base}.lora_A.weight": np.ones((4, inputs), np.float32),
        f"{base}.lora_B.weight": np.ones((outputs, 4), np.float32),
    }


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"base_model.model.model.embed_tokens.lora_embedding_A": np.ones((4, 50), np.float32)}, "lora_embedding_A"),
        (
            {"base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector": np.ones(32, np.float32)},
            "lora_magnitude_vector",
        ),
        ({"base_model.model.lm_head.weight": np.ones((50, 24), np.float32)}, "lm_head.weight' is not supported"),
        (module("model.layers.7.self_attn.q_proj", 24, 32), "layers.7.* is not a matrix of this model"),
        (module("model.embed_tokens", 24, 50), "is an embedding"),
        (module("model.layers.0.mlp.experts.0.up_proj", 24, 40), "belongs to experts"),
        (module("model.layers.0.self_attn.q_proj", 23, 32), "23 inputs and 32 outputs, that of the model 24 and 32"),
        (
            {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": np.ones((4, 24), np.float32)},
            "lora_A only",
        ),
        (
            {name: tensor * np.float32("nan") for name, tensor in module("lm_head", 24, 50).items()},
            "not finite",
        ),
        ({}, "no tensors of an adapter"),
    ],
)
def test_an_unsupported_tensor_is_refused(tmp_path: Path, tensors: dict[str, Any], message: str) -> None:
    directory = write_peft(tmp_path / "adapter", {}, target_modules=None)
    save_file(tensors, directory / "adapter_model.safetensors")
    with pytest.raises(ModelFileInvalid, match=message):
        read_adapter(directory, files_of(LLAMA))


def test_a_directory_without_an_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileInvalid, match=r"neither a GGUF file nor a directory with adapter_config\.json"):
        read_adapter(tmp_path, files_of(LLAMA))
    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    with pytest.raises(ModelFileInvalid, match=r"no file adapter_model\.safetensors$"):
        read_adapter(tmp_path, files_of(LLAMA))
    (tmp_path / "adapter_model.bin").write_bytes(b"a pickle")
    with pytest.raises(ModelFileInvalid, match=r"adapter_model\.bin is not read, because pickle runs code"):
        read_adapter(tmp_path, files_of(LLAMA))


def test_a_pipe_is_no_adapter(tmp_path: Path, weights: AdapterWeights) -> None:
    directory = write_peft(tmp_path / "adapter", weights)
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (directory / name).unlink()
        os.mkfifo(directory / name)
        with pytest.raises(ModelFileInvalid, match=name):
            read_adapter(directory, files_of(LLAMA))
    os.mkfifo(tmp_path / "adapter.gguf")
    with pytest.raises(ModelFileInvalid, match="neither a GGUF file"):
        read_adapter(tmp_path / "adapter.gguf", files_of(LLAMA))


def test_a_module_of_stacked_matrices_is_split(tmp_path: Path) -> None:
    config = replace(
        LLAMA,
        family="Granite MoE",
        layers=(Layer(has_experts=True),),
        experts=Experts(num_experts=2, num_chosen=1, ffn_size=40, normalised=True, shared_ffn_size=16),
    )
    files = files_of(config)
    stacked = next(name for name, parts in files.family.stacked_names.items() if "shared" in parts[0])
    parts = [f"layers.0.{part}" for part in files.family.stacked_names[stacked]]
    up = np.arange(32 * 4, dtype=np.float32).reshape(32, 4)
    whole = {f"layers.0.{stacked}": LowRank(np.ones((4, 24), np.float32), up)}
    given = read_adapter(write_peft(tmp_path / "adapter", whole), files)
    assert list(given) == parts
    assert np.array_equal(np.concatenate([given[part].up for part in parts]), up)


def gguf_tensors(name: str, down: NDArray[np.float32], up: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    return {f"{name}.weight.lora_a": down, f"{name}.weight.lora_b": np.ascontiguousarray(up)}


def test_queries_and_keys_of_a_gguf_file_are_reordered_from_llama_cpp(tmp_path: Path, weights: AdapterWeights) -> None:
    names = {"self_attn.q_proj": "attn_q", "self_attn.v_proj": "attn_v", "mlp.down_proj": "ffn_down"}
    tensors: dict[str, NDArray[np.float32]] = {}
    for name, (down, up) in weights.items():
        _, layer, part = name.split(".", 2)
        rows = interleaved(up, 4) if part.endswith("q_proj") else up
        tensors |= gguf_tensors(f"blk.{layer}.{names[part]}", down, rows)
    path = write_gguf_adapter(tmp_path / "adapter.gguf", tensors, **{"adapter.lora.alpha": 6.0})
    assert is_equal(read_adapter(path, files_of(LLAMA)), weights, 1.5)
    write_gguf_adapter(path, tensors, **{"adapter.lora.alpha": 0.0})
    assert is_equal(read_adapter(path, files_of(LLAMA)), weights)


def test_value_heads_of_a_qwen3_5_gguf_file_are_reordered(tmp_path: Path) -> None:
    heads = RecurrentHeads(num_key_heads=2, key_dim=4, num_value_heads=4, value_dim=3)
    config = replace(LLAMA, family="Qwen3.5", layers=(Layer(kind="delta"),), num_taps=4, recurrent_heads=heads)
    files = files_of(config)
    (down, up) = random_adapter(config, 1, rank=2, targets=["linear_attn.out_proj"])["layers.0.linear_attn.out_proj"]
    columns = [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]  # of the first value head of each key head, then of the second
    tensors = gguf_tensors("blk.0.ssm_out", np.ascontiguousarray(down[:, columns]), up)
    path = write_gguf_adapter(tmp_path / "adapter.gguf", tensors, architecture="qwen35", **{"adapter.lora.alpha": 2.0})
    assert is_equal(read_adapter(path, files), {"layers.0.linear_attn.out_proj": LowRank(down, up)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"general.type": "model"}, "general.type 'model'"),
        ({"adapter.type": "other"}, "adapter.type 'other'"),
        ({"adapter.alora.invocation_tokens": "x"}, "adapter.alora.invocation_tokens"),
        ({"adapter.lora.alpha": "x"}, "adapter.lora.alpha must be a finite number"),
        ({"architecture": "qwen3"}, "general.architecture 'qwen3'"),
        ({"tensor": "blk.0.attn_q.weight"}, "pairs of .lora_a and .lora_b"),
        ({"tensor": "blk.0.attn_q.weight.lora_a"}, "has .lora_a only"),
        ({"tensor": "blk.0.ffn_up.bias.lora_a", "pair": "blk.0.ffn_up.bias.lora_b"}, "is not a matrix"),
        ({"tensor": "token_embd.weight.lora_a", "pair": "token_embd.weight.lora_b"}, "is an embedding"),
        (
            {"tensor": "blk.0.ffn_up_exps.weight.lora_a", "pair": "blk.0.ffn_up_exps.weight.lora_b"},
            "is not a matrix|experts",
        ),
    ],
)
def test_an_unsupported_gguf_file_is_refused(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    changes = dict(changes)
    names = [changes.pop(key) for key in ("tensor", "pair") if key in changes]
    tensors = {name: np.ones((4, 24), np.float32) for name in names}
    path = write_gguf_adapter(tmp_path / "adapter.gguf", tensors, **changes)
    with pytest.raises(ModelFileInvalid, match=message):
        read_adapter(path, files_of(LLAMA))


def test_an_adapter_is_read_for_a_model_on_disk(tmp_path: Path) -> None:
    files = read_model(write_directory(tmp_path / "model", make_tensors()))
    weights = random_adapter(files.config, 3, rank=4, targets=["proj"])
    assert is_equal(read_adapter(write_peft(tmp_path / "adapter", weights), files), weights)
