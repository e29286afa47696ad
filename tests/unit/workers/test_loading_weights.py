"""Weights and configs from safetensors directories and GGUF files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.models.catalog import list_models, resolve_model
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.packing import pack
from cactus_actors.workers.runtime.layout import Arenas, WeightLayout
from tests.support.models.written_models import (
    CONFIG,
    make_tensors,
    write_bfloat16,
    write_directory,
    write_gguf,
    write_shards,
)


def assert_same(path: Path, tensors: dict[str, NDArray[np.float32]], tolerance: float = 0.0) -> None:
    weights = read_model(path).tensors
    assert list(weights) == list(tensors)
    for name, expected in tensors.items():
        read = weights[name]
        assert read.dtype == np.float32
        assert read.flags.c_contiguous
        np.testing.assert_allclose(read, expected, rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("tied", [True, False])
def test_float32_safetensors_are_read(tmp_path: Path, tied: bool) -> None:
    tensors = make_tensors(tied)
    path = write_directory(tmp_path / "model", tensors, tie_word_embeddings=tied)
    assert_same(path, tensors)
    config = read_model(path).config
    assert (config.head_dim, config.num_kv_heads, config.tie_embeddings) == (4, 2, tied)


def test_a_tied_matrix_may_have_the_name_of_the_output(tmp_path: Path) -> None:
    tensors = make_tensors(True)
    kept = {"lm_head" if name == "embed_tokens" else name: tensor for name, tensor in tensors.items()}
    path = write_directory(tmp_path / "model", kept, tie_word_embeddings=True)
    assert_same(path, tensors)
    assert read_model(path).config.tie_embeddings


def test_float16_safetensors_are_read(tmp_path: Path) -> None:
    tensors = make_tensors()
    halves = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    assert_same(write_directory(tmp_path / "model", halves), tensors)


def test_bfloat16_safetensors_are_read(tmp_path: Path) -> None:
    tensors = make_tensors()
    path = write_directory(tmp_path / "model", tensors)
    write_bfloat16(path / "model.safetensors", tensors)
    assert_same(path, tensors)


def test_shards_are_read(tmp_path: Path) -> None:
    tensors = make_tensors()
    path = write_directory(tmp_path / "model", tensors)
    (path / "model.safetensors").unlink()
    first = list(tensors)[:7]
    write_shards(path, tensors, lambda name: f"model-{int(name not in first)}.safetensors")
    assert_same(path, tensors)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_gguf_is_read(tmp_path: Path, kind: str) -> None:
    tensors = make_tensors()
    assert_same(write_gguf(tmp_path / "model.gguf", tensors, gguf.GGMLQuantizationType[kind]), tensors)


def test_gguf_q8_0_is_read(tmp_path: Path) -> None:
    tensors = make_tensors(hidden_size=32)
    path = tmp_path / "model.gguf"
    write_gguf(path, tensors, gguf.GGMLQuantizationType.Q8_0, embedding_length=32)
    assert_same(path, tensors, tolerance=1 / 127)


def test_gguf_and_safetensors_agree_on_the_config(tmp_path: Path) -> None:
    tensors = make_tensors()
    from_directory = read_model(write_directory(tmp_path / "model", tensors)).config
    from_gguf = read_model(write_gguf(tmp_path / "model.gguf", tensors, **{"rope.freq_base": 5000.0})).config
    assert from_gguf.norm_eps == pytest.approx(from_directory.norm_eps)
    assert vars(from_gguf) | {"norm_eps": 0} == vars(from_directory) | {"norm_eps": 0}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("architectures", ["GPT2LMHeadModel"]),
        ("architectures", None),
        ("architectures", [{}]),
        ("auto_map", {"AutoModel": "evil.Model"}),
        ("rope_scaling", {"rope_type": "llama3", "factor": 8.0}),
        ("rope_scaling", {"rope_type": "dynamic", "factor": 2.0}),
        ("rope_scaling", {"type": "longrope", "short_factor": [1.0], "long_factor": [2.0], "factor": 2.0}),
        ("rope_scaling", {"type": "linear", "factor": 0.0}),
        ("rope_scaling", [1]),
        ("attention_bias", True),
        ("mlp_bias", True),
        ("hidden_act", "gelu"),
        ("quantization_config", {"bits": 4}),
        ("num_attention_heads", 0),
        ("num_attention_heads", "four"),
        ("num_attention_heads", True),
        ("num_attention_heads", 3),
        ("num_key_value_heads", 3),
        ("num_key_value_heads", 8),
        ("num_key_value_heads", 0),
        ("head_dim", 5),
        ("max_position_embeddings", 0),
        ("max_position_embeddings", 1 << 40),
        ("rope_theta", 0),
        ("rope_theta", float("nan")),
        ("rms_norm_eps", 0.0),
        ("rms_norm_eps", float("inf")),
        ("vocab_size", 31),
        ("vocab_size", -1),
        ("vocab_size", 10**30),
        ("hidden_size", 17),
        ("hidden_size", None),
        ("num_hidden_layers", 3),
        ("num_hidden_layers", 1),
        ("num_hidden_layers", 10**9),
        ("rope_theta", 10**400),
        ("rms_norm_eps", 10**400),
        ("rope_scaling", {"rope_type": "linear", "factor": 10**400}),
        ("rope_scaling", {"rope_type": "longrope", "short_factor": [10**400] * 2, "long_factor": [1, 1]}),
        ("rope_scaling", {"rope_type": "longrope", "short_factor": [1e-40] * 2, "long_factor": [1, 1]}),
        ("architectures", ["x" * 100_000]),
        ("tie_word_embeddings", "no"),
        ("tie_word_embeddings", False),
    ],
)
def test_an_unsupported_config_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    path = write_directory(tmp_path / "model", make_tensors(), **{key: value})
    with pytest.raises(ModelFileInvalid, match="model") as caught:
        read_model(path)
    assert len(caught.value.message) < 1000


def test_a_surplus_tensor_is_named_as_in_its_file(tmp_path: Path) -> None:
    tensors = make_tensors()
    path = write_directory(tmp_path / "model", tensors)
    (path / "model.safetensors").unlink()
    first, second = "layers.2.mlp.up_proj", "layers.1.self_attn.q_norm"
    more = tensors | {first: np.zeros((32, 16), np.float32), second: np.zeros(16, np.float32)}
    write_shards(path, more, lambda name: "2.safetensors" if name == second else "1.safetensors")
    with pytest.raises(ModelFileInvalid) as caught:
        read_model(path)
    assert caught.value.message == (
        f"{path}/1.safetensors: tensor 'model.layers.2.mlp.up_proj.weight' is not part of this model "
        "(family Llama, 2 layers), the first of 2 such tensors"
    )


def test_a_tensor_of_a_wrong_shape_is_named_as_in_its_file(tmp_path: Path) -> None:
    tensors = make_tensors() | {"layers.1.mlp.down_proj": np.zeros((16, 31), np.float32)}
    with pytest.raises(ModelFileInvalid, match=r"tensor 'blk\.1\.ffn_down\.weight' has the shape \[16, 31\]"):
        read_model(write_gguf(tmp_path / "model.gguf", tensors))
    with pytest.raises(ModelFileInvalid, match=r"tensors: tensor 'model\.layers\.1\.mlp\.down_proj\.weight' has the"):
        read_model(write_directory(tmp_path / "model", tensors))


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"attention.head_count": 0}, "llama.attention.head_count"),
        ({"attention.head_count": 3, "attention.head_count_kv": 3}, "llama.attention.head_count is 3"),
        ({"attention.head_count": 16}, "llama.embedding_length is 16: heads of 1 lanes"),
        ({"attention.key_length": 5}, "llama.attention.key_length is 5"),
        ({"attention.head_count_kv": 3}, "llama.attention.head_count_kv is 3"),
        ({"attention.head_count_kv": 8}, "llama.attention.head_count_kv is 8"),
        ({"tokenizer.ggml.tokens": ["a"] * 33}, "tokenizer.ggml.tokens: more than the 32 rows"),
        ({"context_length": 0}, "llama.context_length"),
        ({"rope.freq_base": 0.0}, "llama.rope.freq_base"),
        ({"rope.freq_base": float("nan")}, "llama.rope.freq_base"),
        ({"rope.scaling.type": "dynamic"}, "llama.rope.scaling.type"),
        ({"attention.layer_norm_rms_epsilon": 0.0}, "llama.attention.layer_norm_rms_epsilon"),
        ({"expert_count": 8.0}, "llama.expert_count"),
    ],
)
def test_unsupported_gguf_metadata_is_refused(tmp_path: Path, metadata: dict[str, Any], named: str) -> None:
    path = write_gguf(tmp_path / "model.gguf", make_tensors(), **metadata)
    with pytest.raises(ModelFileInvalid, match=re.escape(named)) as caught:
        read_model(path)
    assert "model.gguf: " in caught.value.message


@pytest.mark.parametrize(
    ("heads", "named"),
    [
        ({"num_attention_heads": 3, "num_key_value_heads": 3}, ["num_attention_heads is 3", "hidden_size"]),
        ({"num_key_value_heads": 8}, ["num_attention_heads is 4", "num_key_value_heads is 8"]),
        ({"head_dim": 5}, ["head_dim is 5"]),
    ],
)
def test_invalid_numbers_of_heads_are_named_by_their_keys(
    tmp_path: Path, heads: dict[str, int], named: list[str]
) -> None:
    with pytest.raises(ModelFileInvalid) as caught:
        read_model(write_directory(tmp_path / "model", make_tensors(), **heads))
    assert all(each in caught.value.message for each in ["config.json: ", *named])


@pytest.mark.parametrize("stored_in", ["one.safetensors", "model.gguf"])
def test_weights_that_are_not_finite_are_refused_with_their_file(tmp_path: Path, stored_in: str) -> None:
    tensors = make_tensors()
    tensors["layers.1.mlp.down_proj"][0, 0] = np.inf
    if stored_in == "model.gguf":
        path = write_gguf(tmp_path / stored_in, tensors)
    else:
        path = write_directory(tmp_path / "model", tensors)
        (path / "model.safetensors").unlink()
        write_shards(path, tensors, lambda name: stored_in if name.startswith("layers.1") else "two.safetensors")
    files = read_model(path)
    layout = WeightLayout.for_weights(files.graph, "float32")
    with pytest.raises(ModelFileInvalid) as caught:
        pack(files.graph, layout, files.tensors, Arenas.empty(layout))
    expected = f"{stored_in}: tensor 'layers.1.mlp.down_proj' has values that are not finite"
    assert caught.value.message.endswith(expected)
    assert caught.value.param == stored_in


def test_an_unknown_architecture_is_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "model.gguf", make_tensors(), architecture="mamba")
    with pytest.raises(ModelFileInvalid, match="'mamba', which no supported family has; see `cactus models`"):
        read_model(path)


@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/passwd", "missing.safetensors", "a/b"])
def test_a_shard_stays_inside_the_model_directory(tmp_path: Path, name: str) -> None:
    path = write_directory(tmp_path / "model", make_tensors())
    (path / "model.safetensors").rename(tmp_path / "outside.safetensors")
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": name}}))
    with pytest.raises(ModelFileInvalid):
        read_model(path)


def test_a_link_out_of_the_model_directory_is_refused(tmp_path: Path) -> None:
    path = write_directory(tmp_path / "model", make_tensors())
    (path / "model.safetensors").rename(tmp_path / "outside.safetensors")
    (path / "model.safetensors").symlink_to(tmp_path / "outside.safetensors")
    with pytest.raises(ModelFileInvalid, match="out of the model directory"):
        read_model(path)


def test_circular_links_are_a_missing_file(tmp_path: Path) -> None:
    path = write_directory(tmp_path / "model", make_tensors())
    (path / "model.safetensors").unlink()
    (path / "model.safetensors").symlink_to("other.safetensors")
    (path / "other.safetensors").symlink_to("model.safetensors")
    with pytest.raises(ModelFileInvalid, match="missing"):
        read_model(path)


def test_links_of_the_hugging_face_cache_are_followed(tmp_path: Path) -> None:
    tensors = make_tensors()
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots").mkdir()
    path = write_directory(tmp_path / "snapshots" / "main", tensors)
    (path / "model.safetensors").rename(tmp_path / "blobs" / "abc")
    (path / "model.safetensors").symlink_to("../../blobs/abc")
    assert_same(path, tensors)


def test_pickles_are_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    for path in (tmp_path, tmp_path / "pytorch_model.bin"):
        with pytest.raises(ModelFileInvalid, match="convert"):
            resolve_model(str(path))


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(ModelFileInvalid, match=str(path)):
            resolve_model(str(path))


@pytest.mark.parametrize("name", ["", "x" * 5000, "~nobody-of-this-name/x", "/dev/null", "a\0b"])
def test_an_unknown_model_name_is_refused(name: str) -> None:
    with pytest.raises(ModelFileInvalid):
        resolve_model(name)


def test_models_are_found_by_name_and_path(tmp_path: Path) -> None:
    path = write_directory(tmp_path / "model", make_tensors())
    assert resolve_model(str(path)) == path
    file = write_gguf(tmp_path / "model.gguf", make_tensors())
    assert resolve_model(str(file)) == file
    for name in list_models():
        assert resolve_model(name).name == name
