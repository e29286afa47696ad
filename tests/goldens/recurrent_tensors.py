"""Tensors of recurrent layers in the form of llama.cpp."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def of_mamba(name: str, values: NDArray[np.float32]) -> tuple[str, NDArray[np.float32]]:
    """Name and values in the form of llama.cpp."""
    if name.endswith("A_log"):
        values = -np.exp(values)
    if name.endswith((".A_log", ".D")):
        values = values[:, None]
    return name.replace("dt_bias", "dt_proj.bias"), values[None] if name.endswith("norm.weight") else values


def of_qwen35(config: dict[str, Any], name: str, values: NDArray[np.float32]) -> tuple[str, NDArray[np.float32]]:
    """Name and values in the form of llama.cpp: value heads interleaved by key head, gains and decays computed."""
    num_key_heads, num_value_heads = config["linear_num_key_heads"], config["linear_num_value_heads"]
    num_others = 2 * num_key_heads * config["linear_key_head_dim"]

    def in_turns(rows: NDArray[np.float32]) -> NDArray[np.float32]:
        heads = rows.reshape(num_key_heads, num_value_heads // num_key_heads, -1)
        return heads.transpose(1, 0, 2).reshape(rows.shape)

    if name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
        values = values + np.float32(1.0)
    if ".linear_attn." not in name or name.endswith("norm.weight"):
        return name, values
    if name.endswith("A_log"):
        values = -np.exp(values)
    if name.endswith("out_proj.weight"):
        return name, in_turns(values.T).T
    if name.endswith(("in_proj_qkv.weight", "conv1d.weight")):
        return name, np.concatenate([values[:num_others], in_turns(values[num_others:])])
    return name.replace("dt_bias", "dt_proj.bias"), in_turns(values)
