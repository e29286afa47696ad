"""Mixtral (Jiang et al. 2024): Mistral with a mixture of experts in the place of each network."""

from __future__ import annotations

from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.decoder_parts import experts
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import experts_from_gguf, experts_from_json, stack_names
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import window_from_gguf, window_from_json

# Defaults of MixtralConfig of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1e6,
    "num_experts_per_tok": 2,
    "num_local_experts": 8,
}


def feed_forward(g: Graph, c: ModelConfig, h: Value, _layer: Layer, name: str) -> Value:
    """A few experts, chosen for each token."""
    return experts(g, c, h, f"{name}.block_sparse_moe", gate="w1", up="w3", down="w2")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of MixtralForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    return decoder_from_json(
        keys,
        FAMILY.name,
        window=window_from_json(keys),
        experts=experts_from_json(keys, "num_local_experts", "intermediate_size", normalised=True),
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `llama.`."""
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        window=window_from_gguf(keys),
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
    forward=partial(llama.forward, feed_forward=feed_forward),
    gguf_names={
        **GGUF_NAMES,
        "ffn_gate_inp": "block_sparse_moe.gate",
        **stack_names("block_sparse_moe.experts", gate="w1", up="w3", down="w2"),
    },
    adjust_gguf=llama.rotate_half,
)
