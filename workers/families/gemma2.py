"""Gemma 2 (Gemma Team 2024): norms around both parts of a layer, soft caps, a window in every other."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families.decoder_parts import attention, down, gate_and_up, queries_keys_values
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import (
    window_from_gguf,
    window_from_json,
    windows_from_gguf,
    windows_from_json,
)

# Defaults of Gemma2Config of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 256,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
    "sliding_window": 4096,
}
LARGEST_NUM_LAYERS = 46
"""Number of layers of the 27B model, the one whose queries are not scaled by the head size."""


def forward(
    g: Graph, c: ModelConfig, *, project: Callable[[Graph, ModelConfig, Value, str], Value] = queries_keys_values
) -> None:
    """Attention and a GELU-gated network, each with a norm before and after it; gains are 1 + weight."""
    x = g.embed("embed_tokens", scale=c.hidden_size**0.5)  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm", plus_one=True)
        qkv = project(g, c, h, f"{name}.self_attn")  # (tokens, (heads + 2 kv_heads) * head_dim)
        h = attention(g, c, qkv, layer, f"{name}.self_attn")
        x = x + g.rms_norm(h, f"{name}.post_attention_layernorm", plus_one=True)

        h = g.rms_norm(x, f"{name}.pre_feedforward_layernorm", plus_one=True)
        gate_up = gate_and_up(g, c, h, f"{name}.mlp")  # (tokens, 2 ffn)
        h = down(g, c, g.gelu_gate(gate_up), f"{name}.mlp")
        x = x + g.rms_norm(h, f"{name}.post_feedforward_layernorm", plus_one=True)
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head", plus_one=True)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Gemma2ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    check_supported(keys)
    windows = windows_from_json(keys, window_from_json(keys), lambda index: index % 2 == 0)
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=tuple(Layer(window=window) for window in windows),
        attention_scale=keys.number("query_pre_attn_scalar", "head_dim") ** -0.5,
        attention_softcap=keys.number("attn_logit_softcapping", "softcap", 0.0),
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
        biases="attention",
    )


def check_supported(keys: ConfigKeys) -> None:
    """Refuse options that no released text model of Gemma 2 and Gemma 3 uses."""
    keys.require_one_of("hidden_activation", "gelu_pytorch_tanh")
    keys.require_one_of("use_bidirectional_attention", False, None)


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `gemma2.`."""
    windows = windows_from_gguf(keys, window_from_gguf(keys, 4096), period=2)
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=tuple(Layer(window=window) for window in windows),
        attention_scale=scale_from_gguf(keys, LARGEST_NUM_LAYERS),
        attention_softcap=keys.number("attn_logit_softcapping", "softcap", 50.0),
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 30.0),
    )


def scale_from_gguf(keys: ConfigKeys, largest_num_layers: int) -> float | None:
    """The factor of scores; the files do not contain it, and the largest model is known by its layers."""
    if keys.get("attention.scale") is not None:
        return keys.number("attention.scale", "factor")
    if keys.integer("block_count", "num_layers") != largest_num_layers:
        return None
    hidden_size = keys.integer("embedding_length", "hidden_size")
    return 1 / math.sqrt(hidden_size // keys.integer("attention.head_count", "num_heads"))


def without_one(_config: ModelConfig, name: str, tensor: NDArray[np.float32]) -> NDArray[np.float32]:
    """Tensors as in Hugging Face files; GGUF files contain 1 + weight of the norms."""
    return tensor - np.float32(1) if name.endswith("norm") else tensor


NAMES_OF_GGUF = {
    **GGUF_NAMES,
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}

FAMILY = Family(
    name="Gemma 2",
    examples="Gemma 2 2B, 9B, 27B",
    architectures=("Gemma2ForCausalLM",),
    model_types=("gemma2",),
    gguf_architectures=("gemma2",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    gguf_names=NAMES_OF_GGUF,
    adjust_gguf=without_one,
)
