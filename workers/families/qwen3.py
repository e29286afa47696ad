"""Qwen3 (Yang et al. 2025): Llama with a norm on every head of the queries and keys."""

from __future__ import annotations

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import qwen2
from cactus_actors.workers.families.decoder_parts import (
    attention,
    down,
    gate_and_up,
    norm_queries_and_keys,
    queries_keys_values,
)
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig


def forward(g: Graph, c: ModelConfig) -> None:
    """Pre-norm blocks of grouped-query attention, its queries and keys normed, and a SiLU-gated network."""
    x = g.embed("embed_tokens")  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm")
        qkv = queries_keys_values(g, c, h, f"{name}.self_attn")  # (tokens, (heads + 2 kv_heads) * head_dim)
        norm_queries_and_keys(g, c, qkv, f"{name}.self_attn")
        x = x + attention(g, c, qkv, layer, f"{name}.self_attn")

        h = g.rms_norm(x, f"{name}.post_attention_layernorm")
        gate_up = gate_and_up(g, c, h, f"{name}.mlp")  # (tokens, 2 ffn)
        x = x + down(g, c, g.silu_gate(gate_up), f"{name}.mlp")
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen3ForCausalLM."""
    keys = keys.with_defaults(**qwen2.DEFAULTS, head_dim=128)
    qwen2.check_supported(keys)
    bias = keys.boolean("attention_bias", default=False)
    return decoder_from_json(
        keys, FAMILY.name, layers=qwen2.layers_from_json(keys), attention_bias=bias, output_bias=bias
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen3.`."""
    keys.require_one_of("attention.sliding_window", 0, None)
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        attention_bias="blk.0.attn_q.bias" in file.tensors,
        output_bias="blk.0.attn_output.bias" in file.tensors,
    )


FAMILY = Family(
    name="Qwen3",
    examples="Qwen3 0.6B to 32B",
    architectures=("Qwen3ForCausalLM",),
    model_types=("qwen3",),
    gguf_architectures=("qwen3",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
)
