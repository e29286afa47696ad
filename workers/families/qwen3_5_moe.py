"""Qwen3.5 with experts (Qwen Team 2026): Qwen3.5 with many small experts and a gated one for all tokens."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import qwen3_5
from cactus_actors.workers.families.decoder_parts import experts
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import STACK, experts_from_gguf, experts_from_json, stack_names
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

# Defaults of Qwen3_5MoeTextConfig of transformers for missing keys.
DEFAULTS = {
    **qwen3_5.DEFAULTS,
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "num_key_value_heads": 2,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "num_experts_per_tok": 8,
    "num_experts": 256,
}
SHARED_SIZE = "expert_shared_feed_forward_length"


def feed_forward(g: Graph, c: ModelConfig, h: Value, _layer: Layer, name: str) -> Value:
    """The chosen experts, and a network for all tokens whose output a sigmoid gates."""
    assert c.experts is not None, "the config describes them"
    name, width = f"{name}.mlp", c.experts.shared_ffn_size
    share = g.linear(h, [f"{name}.shared_expert_gate"], [1], is_fine=True)  # before the rows with logits go on alone
    mixed = experts(g, c, h, name, gate="gate_proj", up="up_proj", down="down_proj")
    gate_up = g.linear(h, [f"{name}.shared_expert.gate_proj", f"{name}.shared_expert.up_proj"], [width] * 2)
    shared = g.linear(g.silu_gate(gate_up), [f"{name}.shared_expert.down_proj"], [c.hidden_size])
    g.sigmoid_gate(shared, share)
    return mixed + shared


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen3_5MoeForCausalLM, or of Qwen3_5MoeForConditionalGeneration."""
    whole, keys = keys, qwen3_5.text_keys(keys, DEFAULTS)
    # transformers 5 writes num_local_experts
    count_key = "num_experts" if keys.get("num_local_experts") is None else "num_local_experts"
    common = experts_from_json(keys, count_key, "moe_intermediate_size", normalised=True)
    shared_ffn_size = keys.integer("shared_expert_intermediate_size", "ffn_size")
    config = qwen3_5.config_from_text(
        keys,
        FAMILY.name,
        has_experts=True,
        ffn_size=shared_ffn_size,
        experts=replace(common, shared_ffn_size=shared_ffn_size),
    )
    return qwen3_5.with_encoder(whole, keys, config)


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen35moe.`."""
    common = experts_from_gguf(keys, "expert_feed_forward_length", normalised=True)
    shared_ffn_size = keys.integer(SHARED_SIZE, "ffn_size")
    return qwen3_5.config_from_gguf(
        keys.with_defaults(feed_forward_length=shared_ffn_size),
        file,
        FAMILY.name,
        has_experts=True,
        experts=replace(common, shared_ffn_size=shared_ffn_size),
    )


FAMILY = Family(
    name="Qwen3.5 MoE",
    examples="Qwen3.5 35B-A3B, 122B-A10B",
    architectures=("Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"),
    model_types=("qwen3_5_moe_text", "qwen3_5_moe"),
    gguf_architectures=("qwen35moe",),
    has_experts=True,
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(qwen3_5.forward, feed_forward=feed_forward),
    encode=qwen3_5.FAMILY.encode,
    mmproj=qwen3_5.FAMILY.mmproj,
    unused=qwen3_5.FAMILY.unused,
    draft_head=qwen3_5.FAMILY.draft_head,
    stacked_names={
        "mlp.experts.gate_up_proj": (f"mlp.experts{STACK}gate_proj", f"mlp.experts{STACK}up_proj"),
        "mlp.experts.down_proj": (f"mlp.experts{STACK}down_proj",),
    },
    gguf_names={
        **qwen3_5.FAMILY.gguf_names,
        "ffn_gate_inp": "mlp.gate",
        "ffn_gate_inp_shexp": "mlp.shared_expert_gate",
        "ffn_gate_shexp": "mlp.shared_expert.gate_proj",
        "ffn_up_shexp": "mlp.shared_expert.up_proj",
        "ffn_down_shexp": "mlp.shared_expert.down_proj",
        **stack_names("mlp.experts", gate="gate_proj", up="up_proj", down="down_proj"),
    },
    adjust_gguf=qwen3_5.as_in_hugging_face,
)
