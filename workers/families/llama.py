"""Llama (Touvron et al. 2023; Llama 3: Grattafiori et al. 2024), and models of its shape such as SmolLM2."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families.decoder_parts import attention, gated_network, queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import window_from_gguf


def forward(
    g: Graph,
    c: ModelConfig,
    *,
    project: Callable[[Graph, ModelConfig, Value, str], Value] = queries_keys_values,
    feed_forward: Callable[[Graph, ModelConfig, Value, Layer, str], Value] = gated_network,
) -> None:
    """Pre-norm blocks of grouped-query attention and a SiLU-gated network; other families replace a part."""
    x = g.embed("embed_tokens", scale=c.embedding_scale)  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm")
        qkv = project(g, c, h, f"{name}.self_attn")  # (tokens, (heads + 2 kv_heads) * head_dim)
        x = x + g.scaled(attention(g, c, qkv, layer, f"{name}.self_attn"), c.residual_scale)

        h = g.rms_norm(x, f"{name}.post_attention_layernorm")
        x = x + g.scaled(feed_forward(g, c, h, layer, name), c.residual_scale)
        if index < c.num_feature_layers:
            x = g.add_given(x, index + 1)
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of LlamaForCausalLM."""
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("rope_interleaved", False, None)
    return decoder_from_json(keys, FAMILY.name, biases="all")


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `llama.`, used by files of Mistral as well."""
    keys.require_one_of("expert_count", 0, None)
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        window=window_from_gguf(keys),
        biases="all",
    )


def rotate_half(config: ModelConfig, name: str, tensor: NDArray[np.float32]) -> NDArray[np.float32]:
    """Query and key projections with their rows in the rotate-half order.

    GGUF files of the llama architecture keep the two halves of each head interleaved: row 2i of a head is
    element i of its first half, row 2i + 1 element i of its second.
    """
    projection = name.removesuffix(".bias").rpartition(".")[2]
    heads = {"q_proj": config.num_heads, "k_proj": config.num_kv_heads}
    if projection not in heads:
        return tensor
    pairs = tensor.reshape(heads[projection], config.head_dim // 2, 2, -1)  # (heads, pairs, half, inputs)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(tensor.shape)


FAMILY = Family(
    name="Llama",
    examples="Llama 2, 3, 3.1, 3.2, 3.3; SmolLM, SmolLM2; TinyLlama",
    architectures=("LlamaForCausalLM",),
    model_types=("llama",),
    gguf_architectures=("llama",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    adjust_gguf=rotate_half,
)
