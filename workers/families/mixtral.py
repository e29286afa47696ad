"""Mixtral (Jiang et al. 2024): Mistral with a mixture of experts in the place of each network."""

from __future__ import annotations

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.decoder_parts import attention, queries_keys_values
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import experts_from_gguf, experts_from_json, stack_names
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import window_from_gguf, window_from_json

# What MixtralConfig of transformers assumes where a key is missing.
DEFAULTS = {
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1e6,
    "num_experts_per_tok": 2,
    "num_local_experts": 8,
}


def forward(g: Graph, c: ModelConfig) -> None:
    """Pre-norm blocks of grouped-query attention and of a few experts, chosen for each token."""
    assert c.experts is not None, "every layer has them"
    x = g.embed("embed_tokens")  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm")
        qkv = queries_keys_values(g, c, h, f"{name}.self_attn")  # (tokens, (heads + 2 kv_heads) * head_dim)
        x = x + attention(g, c, qkv, layer, f"{name}.self_attn")

        h = g.rms_norm(x, f"{name}.post_attention_layernorm")
        experts = [f"{name}.block_sparse_moe.experts.{e}" for e in range(c.experts.num_experts)]
        projections = [(f"{expert}.w1", f"{expert}.w3", f"{expert}.w2") for expert in experts]
        x = x + g.experts(h, f"{name}.block_sparse_moe.gate", projections)
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of MixtralForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=(Layer(window=window_from_json(keys), has_experts=True),) * num_layers,
        experts=experts_from_json(keys, "num_local_experts", "intermediate_size", normalised=True),
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `llama.`."""
    num_layers = keys.integer("block_count", "num_layers")
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=(Layer(window=window_from_gguf(keys), has_experts=True),) * num_layers,
        experts=experts_from_gguf(keys, "feed_forward_length", normalised=True),
    )


FAMILY = Family(
    name="Mixtral",
    examples="Mixtral 8x7B, Mixtral 8x22B",
    architectures=("MixtralForCausalLM",),
    model_types=("mixtral",),
    gguf_architectures=("llama",),
    has_experts=True,
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    gguf_names={
        **GGUF_NAMES,
        "ffn_gate_inp": "block_sparse_moe.gate",
        **stack_names("block_sparse_moe.experts", gate="w1", up="w3", down="w2"),
    },
    adjust_gguf=llama.rotate_half,
)
