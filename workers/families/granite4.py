"""Granite 4 without Mamba layers (Granite Team, IBM 2025): Granite with one network, or experts and a shared one.

Models with Mamba layers are refused by their `layer_types`. GGUF files name the architectures of Granite 3, so that
those families read them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cactus_actors.workers.families import granite, granite_moe, llama
from cactus_actors.workers.families.family import Family, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import experts_from_json
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

# What GraniteMoeHybridConfig of transformers assumes where a key is missing.
DEFAULTS = {**granite_moe.DEFAULTS, "shared_intermediate_size": 1024}


def feed_forward(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    """One SiLU-gated network, or experts and such a network."""
    if c.experts is not None:
        return granite_moe.feed_forward(g, c, h, layer, name)
    return granite_moe.shared_network(g, c, h, c.ffn_size, name)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of GraniteMoeHybridForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    kinds_key = "layers_block_type" if keys.get("layer_types") is None else "layer_types"
    keys.require(keys.get(kinds_key) is not None, "layer_types", "attention in all layers")
    kinds = set(keys.strings(kinds_key, num_layers))
    keys.require(kinds <= {"attention", "full_attention"}, kinds_key, "attention in all layers")
    keys.require_one_of("position_embedding_type", "rope", "nope", None)
    layer = Layer(
        rope=0 if keys.get("position_embedding_type") == "rope" else None,
        has_experts=keys.integer("num_local_experts", "num_dense_layers") > 0,
    )
    shared_ffn_size = keys.integer("shared_intermediate_size", "ffn_size")
    experts = None
    if layer.has_experts:
        experts = experts_from_json(keys, "num_local_experts", "intermediate_size", normalised=True)
        experts = replace(experts, shared_ffn_size=shared_ffn_size)
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=(layer,) * num_layers,
        experts=experts,
        ffn_size=shared_ffn_size,
        biases="attention",
        **granite.factors_from_json(keys),
    )


FAMILY = Family(
    name="Granite 4",
    examples="Granite 4.0 350M, 1B, Micro: those without Mamba layers",
    architectures=("GraniteMoeHybridForCausalLM",),
    model_types=("granitemoehybrid",),
    gguf_architectures=("granite", "granitemoe"),
    read_json=read_json,
    read_gguf=granite.read_gguf,
    forward=partial(llama.forward, feed_forward=feed_forward),
    stacked_names=granite_moe.FAMILY.stacked_names,
)
