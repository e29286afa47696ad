"""Qwen3 with experts (Yang et al. 2025): Qwen3 with a mixture of many small experts in most layers."""

from __future__ import annotations

from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.decoder_parts import experts, gated_network, normed_queries_keys_values
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.families.qwen2 import check_supported
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import experts_from_gguf, experts_from_json, stack_names
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import window_from_json

# Defaults of Qwen3MoeConfig of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 4,
    "max_position_embeddings": 32768,
    "sliding_window": 4096,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
}


def feed_forward(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    """Many small experts, or one SiLU-gated network."""
    if not layer.has_experts:
        return gated_network(g, c, h, layer, name)
    return experts(g, c, h, f"{name}.mlp", gate="gate_proj", up="up_proj", down="down_proj")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen3MoeForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    check_supported(keys)
    normalised = keys.boolean("norm_topk_prob", default=False)
    # transformers 5 writes num_local_experts
    count_key = "num_experts" if keys.get("num_local_experts") is None else "num_local_experts"
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=layers_from_json(keys),
        experts=experts_from_json(keys, count_key, "moe_intermediate_size", normalised=normalised),
        biases="attention",
    )


def layers_from_json(keys: ConfigKeys) -> tuple[Layer, ...]:
    """Experts in every `decoder_sparse_step`th layer but those named; one window for all layers, if any."""
    keys.require_one_of("layer_types", None)
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    window = window_from_json(keys) if keys.boolean("use_sliding_window", default=False) else 0
    step = keys.integer("decoder_sparse_step", "num_layers")
    without = keys.indices("mlp_only_layers", num_layers) if keys.get("mlp_only_layers") is not None else []
    return tuple(
        Layer(window=window, has_experts=(index + 1) % step == 0 and index not in without)
        for index in range(num_layers)
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen3moe.`; every layer has experts there."""
    keys.require_one_of("attention.sliding_window", 0, None)
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        experts=experts_from_gguf(keys, "expert_feed_forward_length", normalised=True),
        biases="attention",
    )


FAMILY = Family(
    name="Qwen3 MoE",
    examples="Qwen3 30B-A3B, Qwen3-Coder 30B-A3B, Qwen3 235B-A22B",
    architectures=("Qwen3MoeForCausalLM",),
    model_types=("qwen3_moe",),
    gguf_architectures=("qwen3moe",),
    has_experts=True,
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(llama.forward, project=normed_queries_keys_values, feed_forward=feed_forward),
    gguf_names={
        **GGUF_NAMES,
        "ffn_gate_inp": "mlp.gate",
        **stack_names("mlp.experts", gate="gate_proj", up="up_proj", down="down_proj"),
    },
)
