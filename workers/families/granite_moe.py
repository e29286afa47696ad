"""Granite with experts (Granite Team, IBM 2024): Granite with a mixture of experts, and optionally a shared expert."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import granite, llama
from cactus_actors.workers.families.decoder_parts import experts
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import STACK, experts_from_gguf, experts_from_json, stack_names
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

# Defaults of GraniteMoeConfig of transformers for missing keys.
DEFAULTS = {**granite.DEFAULTS, "num_local_experts": 8, "num_experts_per_tok": 2}
EXPERTS = "block_sparse_moe.experts"


def feed_forward(g: Graph, c: ModelConfig, h: Value, _layer: Layer, name: str) -> Value:
    """A few experts, chosen for each token, and a network for all tokens if the config has one."""
    assert c.experts is not None, "the config describes them"
    mixed = experts(g, c, h, f"{name}.block_sparse_moe", gate="gate", up="up", down="down", router="router.layer")
    if not c.experts.shared_ffn_size:
        return mixed
    return mixed + shared_network(g, c, h, c.experts.shared_ffn_size, name)


def shared_network(g: Graph, c: ModelConfig, h: Value, ffn_size: int, name: str) -> Value:
    """A SiLU-gated network of this width, (tokens, hidden); `name` is that of the layer."""
    gate_up = g.linear(h, [f"{name}.shared_mlp.gate", f"{name}.shared_mlp.up"], [ffn_size] * 2)
    return g.linear(g.silu_gate(gate_up), [f"{name}.shared_mlp.down"], [c.hidden_size])


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of GraniteMoeForCausalLM and GraniteMoeSharedForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    common = experts_from_json(keys, "num_local_experts", "intermediate_size", normalised=True)
    shared_ffn_size = keys.integer("shared_intermediate_size", "shared_ffn_size", 0)
    return decoder_from_json(
        keys,
        FAMILY.name,
        experts=replace(common, shared_ffn_size=shared_ffn_size),
        biases="attention",
        **granite.factors_from_json(keys),
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `granitemoe.`."""
    common = experts_from_gguf(keys, "feed_forward_length", normalised=True)
    shared_ffn_size = keys.integer("expert_shared_feed_forward_length", "shared_ffn_size", 0)
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=granite.layers_from_gguf(keys, has_experts=True),
        experts=replace(common, shared_ffn_size=shared_ffn_size),
        biases="attention",
        **granite.factors_from_gguf(keys),
    )


FAMILY = Family(
    name="Granite MoE",
    examples="Granite 3.0, 3.1 1B-A400M, 3B-A800M",
    architectures=("GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"),
    model_types=("granitemoe", "granitemoeshared"),
    gguf_architectures=("granitemoe",),
    has_experts=True,
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(llama.forward, feed_forward=feed_forward),
    stacked_names={
        "block_sparse_moe.input_linear": (f"{EXPERTS}{STACK}gate", f"{EXPERTS}{STACK}up"),
        "block_sparse_moe.output_linear": (f"{EXPERTS}{STACK}down",),
        "shared_mlp.input_linear": ("shared_mlp.gate", "shared_mlp.up"),
        "shared_mlp.output_linear": ("shared_mlp.down",),
    },
    gguf_names={
        **GGUF_NAMES,
        "ffn_gate_inp": "block_sparse_moe.router.layer",
        "ffn_gate_shexp": "shared_mlp.gate",
        "ffn_up_shexp": "shared_mlp.up",
        "ffn_down_shexp": "shared_mlp.down",
        **stack_names(EXPERTS, gate="gate", up="up", down="down"),
    },
    adjust_gguf=llama.rotate_half,
)
