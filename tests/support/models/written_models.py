"""Tiny Llama models, written as safetensors, as shards, as bfloat16 and as GGUF."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.llama import FAMILY
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rotary import Rope

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 5000.0,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
}
GGUF_NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def hugging_face_name(name: str) -> str:
    return f"{name}.weight" if name == "lm_head" else f"model.{name}.weight"


def gguf_name(name: str) -> str:
    if name in GGUF_NAMES:
        return f"{GGUF_NAMES[name]}.weight"
    _, layer, part = name.split(".", 2)
    return f"blk.{layer}.{GGUF_NAMES[part]}.weight"


def make_config(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (CONFIG | changes).items() if value is not None}


def make_tensors(tied: bool = True, hidden_size: int = 16) -> dict[str, NDArray[np.float32]]:
    """Random tensors whose values survive float16 and bfloat16."""
    config = ModelConfig(
        family="Llama",
        vocab_size=32,
        hidden_size=hidden_size,
        ffn_size=32,
        num_heads=4,
        num_kv_heads=2,
        head_dim=hidden_size // 4,
        norm_eps=1e-5,
        max_context=64,
        tie_embeddings=tied,
        ropes=(Rope(5000.0, hidden_size // 4),),
        layers=(Layer(),) * 2,
    )
    random = np.random.default_rng(7)
    return {
        name: (random.integers(-8, 9, shape) / 8).astype(np.float32)
        for name, shape in build_graph(FAMILY, config).tensor_shapes.items()
    }


def write_directory(directory: Path, tensors: dict[str, NDArray[Any]], **changes: Any) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(make_config(**changes)))
    save_file(
        {hugging_face_name(name): tensor for name, tensor in tensors.items()},
        directory / "model.safetensors",
    )
    return directory


def write_shards(directory: Path, tensors: dict[str, NDArray[np.float32]], shard_of: Callable[[str], str]) -> None:
    weight_map = {hugging_face_name(name): shard_of(name) for name in tensors}
    for shard in set(weight_map.values()):
        part = {hugging_face_name(name): tensors[name] for name in tensors if shard_of(name) == shard}
        save_file(part, directory / shard)
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


def write_bfloat16(path: Path, tensors: dict[str, NDArray[np.float32]]) -> None:
    """A safetensors file written by hand, since NumPy has no bfloat16."""
    header: dict[str, Any] = {}
    body = b""
    for name, tensor in tensors.items():
        upper_halves = (tensor.view(np.uint32) >> 16).astype("<u2").tobytes()
        header[hugging_face_name(name)] = {
            "dtype": "BF16",
            "shape": list(tensor.shape),
            "data_offsets": [len(body), len(body) + len(upper_halves)],
        }
        body += upper_halves
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + body)


def interleaved(rows: NDArray[np.float32], num_heads: int) -> NDArray[np.float32]:
    """The row order of llama GGUF files: the halves of each head interleaved."""
    head_dim = rows.shape[0] // num_heads
    order = [
        head * head_dim + half * head_dim // 2 + pair
        for head in range(num_heads)
        for pair in range(head_dim // 2)
        for half in range(2)
    ]
    return rows[order]


def write_gguf(
    path: Path,
    tensors: dict[str, NDArray[np.float32]],
    kind: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F32,
    architecture: str = "llama",
    **metadata: Any,
) -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    integers = {
        "embedding_length": 16,
        "feed_forward_length": 32,
        "block_count": 2,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "context_length": 64,
    }
    for key, value in integers.items():
        writer.add_uint32(f"llama.{key}", metadata.get(key, value))
    for key in metadata.keys() - integers.keys():
        name = key if key.startswith("tokenizer.") else f"llama.{key}"
        adders = {str: writer.add_string, int: writer.add_uint32, list: writer.add_array}
        adders.get(type(metadata[key]), writer.add_float32)(name, metadata[key])
    if "attention.layer_norm_rms_epsilon" not in metadata:
        writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    for name, tensor in tensors.items():
        num_heads = {"q_proj": 4, "k_proj": 2}.get(name.rpartition(".")[2])
        rows = tensor if num_heads is None else interleaved(tensor, num_heads)
        if rows.ndim == 2 and kind != gguf.GGMLQuantizationType.F32:
            writer.add_tensor(gguf_name(name), gguf.quants.quantize(rows, kind), raw_dtype=kind)
        else:
            writer.add_tensor(gguf_name(name), rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
