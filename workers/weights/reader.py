"""Reads a model's config and weights from a safetensors directory or a GGUF file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.files import invalid, read_json_object
from cactus_actors.models.gguf_file import GGUFFile, open_gguf
from workers.models.config import ModelConfig
from workers.weights.read_config import config_from_gguf, config_from_json
from workers.weights.safetensors_file import SafetensorsFile, open_safetensors
from workers.weights.tensors import Read, TensorSource

INDEX_NAME = "model.safetensors.index.json"
MAX_SHARDS = 1000

_LAYER_TENSORS_OF_GGUF: Mapping[str, str] = {
    "attn_norm": "input_layernorm",
    "attn_q": "q_proj",
    "attn_k": "k_proj",
    "attn_v": "v_proj",
    "attn_output": "o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "gate_proj",
    "ffn_up": "up_proj",
    "ffn_down": "down_proj",
}


def read_weights(path: Path) -> tuple[ModelConfig, TensorSource]:
    """The config and the lazy float32 weights of the model in `path`, a directory or a GGUF file.

    Exactly the tensors of `ModelConfig.tensor_shapes` are there, or ModelFileInvalid names the file.
    """
    return _read_gguf(path) if path.is_file() else _read_directory(path)


def _read_directory(directory: Path) -> tuple[ModelConfig, TensorSource]:
    config_path = directory / "config.json"
    config = config_from_json(config_path, read_json_object(config_path))
    readers: dict[str, Read] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for shard in (open_safetensors(path) for path in _shard_paths(directory)):
        for stored_name, info in shard.tensors.items():
            name = _name_of_hugging_face(stored_name)
            if name is None or (name == "lm_head" and config.tie_embeddings):
                continue
            if name in shapes:
                raise invalid(shard.path, f"tensor {stored_name!r} is also in another file")
            shapes[name] = info.shape
            readers[name] = partial(SafetensorsFile.read_tensor, shard, stored_name)
    return config, _complete(directory, config, readers, shapes)


def _read_gguf(path: Path) -> tuple[ModelConfig, TensorSource]:
    file = open_gguf(path)
    config = config_from_gguf(file)
    heads_of = {"q_proj": config.num_heads, "k_proj": config.num_kv_heads}
    readers: dict[str, Read] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for stored_name, info in file.tensors.items():
        name = _name_of_gguf(stored_name)
        shapes[name] = info.shape
        num_heads = heads_of.get(name.rpartition(".")[2])
        readers[name] = (
            partial(GGUFFile.read_tensor, file, stored_name)
            if num_heads is None
            else partial(_read_rotate_half, file, stored_name, num_heads)
        )
    return config, _complete(path, config, readers, shapes)


def _read_rotate_half(file: GGUFFile, name: str, num_heads: int) -> NDArray[np.float32]:
    """A query or key projection with its rows in the rotate-half order.

    GGUF files of the llama architecture keep the two halves of each head interleaved: row 2i of a head is
    element i of its first half, row 2i + 1 element i of its second.
    """
    rows = file.read_tensor(name)
    pairs = rows.reshape(num_heads, -1, 2, rows.shape[1])  # (heads, head_dim / 2, half, inputs)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows.shape)


def _complete(
    path: Path, config: ModelConfig, readers: Mapping[str, Read], shapes: Mapping[str, tuple[int, ...]]
) -> TensorSource:
    expected = config.tensor_shapes()
    if missing := [name for name in expected if name not in shapes]:
        raise invalid(path, f"{len(missing)} tensors are missing, the first is {missing[0]!r}")
    if unexpected := [name for name in shapes if name not in expected]:
        raise invalid(path, f"{len(unexpected)} tensors are not supported, the first is {unexpected[0]!r}")
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise invalid(
                path, f"tensor {name!r} has the shape {list(shapes[name])}, the config asks for {list(shape)}"
            )
    return TensorSource({name: readers[name] for name in expected})


def _shard_paths(directory: Path) -> list[Path]:
    index_path = directory / INDEX_NAME
    if not index_path.is_file():
        return [_inside(directory, "model.safetensors")]
    weight_map = read_json_object(index_path).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise invalid(index_path, "weight_map must map tensor names to file names")
    names = sorted(set(weight_map.values()))
    if not 1 <= len(names) <= MAX_SHARDS:
        raise invalid(index_path, f"weight_map names {len(names)} files (1 to {MAX_SHARDS} allowed)")
    return [_inside(directory, name) for name in names]


def _inside(directory: Path, name: str) -> Path:
    """The file `name` of the model directory, which no name and no link may lead out of."""
    if Path(name).name != name or not name.endswith(".safetensors"):
        raise invalid(directory / INDEX_NAME, f"{name!r} is not the name of a safetensors file beside it")
    path = directory / name
    try:
        target, root = path.resolve(strict=True), directory.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise invalid(path, "this file of the model is missing") from error
    # The Hugging Face cache keeps a snapshot as links into the blobs beside it.
    blobs = root.parent.parent / "blobs" if root.parent.name == "snapshots" else root
    if not (target.is_relative_to(root) or target.is_relative_to(blobs)) or not target.is_file():
        raise invalid(path, "leads out of the model directory")
    return path


def _name_of_hugging_face(stored: str) -> str | None:
    """The canonical name of a tensor, None for one that is derived and not needed."""
    if stored.endswith("rotary_emb.inv_freq"):
        return None
    name = stored.removeprefix("model.").removesuffix(".weight")
    match = re.fullmatch(r"(layers\.\d+)\.(.+)", name)
    if match is None:
        return name
    return f"{match[1]}.{match[2].removeprefix('self_attn.').removeprefix('mlp.')}"


def _name_of_gguf(stored: str) -> str:
    whole = {
        "token_embd.weight": "embed_tokens",
        "output_norm.weight": "norm",
        "output.weight": "lm_head",
    }
    match = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", stored)
    if match is None:
        return whole.get(stored, stored)
    return f"layers.{match[1]}.{_LAYER_TENSORS_OF_GGUF.get(match[2], match[2])}"
