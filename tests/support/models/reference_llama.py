"""A Llama forward pass in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.spec.model_config import ModelConfig

Rows = NDArray[np.float64]


def reference_hidden(
    config: ModelConfig, tensors: Mapping[str, NDArray[Any]], token_ids: Sequence[int] | NDArray[np.integer[Any]]
) -> Rows:
    """Rows after the last norm (tokens, hidden), as in the paper: no cache, no batch, no padding."""

    def weights(name: str) -> Rows:
        rows: Rows = tensors[name].astype(np.float64)
        return rows

    def normalise(x: Rows, name: str) -> Rows:
        normed: Rows = x / np.sqrt((x**2).mean(-1, keepdims=True) + config.norm_eps) * weights(name)
        return normed

    def rotate(x: Rows) -> Rows:  # (tokens, heads, head_dim)
        half = config.head_dim // 2
        angles = np.arange(len(x))[:, None] * config.ropes[0].theta ** (-np.arange(half) * 2 / config.head_dim)
        cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
        first, second = x[..., :half], x[..., half:]
        return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)

    num_tokens = len(token_ids)
    mask = np.where(np.tri(num_tokens, dtype=bool), 0.0, -np.inf)
    groups = config.num_heads // config.num_kv_heads
    x = weights("embed_tokens")[token_ids]
    for layer in range(config.num_layers):
        prefix = f"layers.{layer}."
        normed = normalise(x, prefix + "input_layernorm")
        q = rotate((normed @ weights(prefix + "self_attn.q_proj").T).reshape(num_tokens, -1, config.head_dim))
        k = rotate((normed @ weights(prefix + "self_attn.k_proj").T).reshape(num_tokens, -1, config.head_dim))
        v = (normed @ weights(prefix + "self_attn.v_proj").T).reshape(num_tokens, -1, config.head_dim)
        k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(config.head_dim) + mask
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        attended = np.einsum("hqk,khd->qhd", shares, v).reshape(num_tokens, -1)
        x = x + attended @ weights(prefix + "self_attn.o_proj").T
        normed = normalise(x, prefix + "post_attention_layernorm")
        gate, up = normed @ weights(prefix + "mlp.gate_proj").T, normed @ weights(prefix + "mlp.up_proj").T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ weights(prefix + "mlp.down_proj").T
    return normalise(x, "norm")
