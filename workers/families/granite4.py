"""Granite 4 (Granite Team, IBM 2025): Granite with Mamba-2 layers, and one network, or experts and a shared one.

GGUF files without Mamba layers name the architectures of Granite 3, so that those families read them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import granite, granite_moe, llama
from cactus_actors.workers.families.decoder_parts import attention, queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime import recurrence
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import KV_HEADS, attention_layers_of_gguf
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import experts_from_gguf, experts_from_json
from cactus_actors.workers.spec.model_config import Layer, ModelConfig, RecurrentHeads
from cactus_actors.workers.spec.recurrence_config import recurrent_heads_from_gguf

# Defaults of GraniteMoeHybridConfig of transformers for missing keys.
DEFAULTS = {
    **granite_moe.DEFAULTS,
    "hidden_size": 4096,
    "shared_intermediate_size": 1024,
    "mamba_n_heads": 128,
    "mamba_n_groups": 1,
    "mamba_d_state": 256,
    "mamba_d_head": "auto",
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_conv_bias": True,
}
NO_LIMITS = (None, [0.0, math.inf], [0.0, {"__float__": "Infinity"}])  # the last is how transformers writes it
KINDS = {"mamba": "mamba", "linear_attention": "mamba", "attention": "attention", "full_attention": "attention"}


def forward(g: Graph, c: ModelConfig) -> None:
    """Pre-norm blocks of Mamba-2 or attention, and of networks."""
    x = g.embed("embed_tokens", scale=c.embedding_scale)  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm")
        if layer.kind == "mamba":
            h = mamba(g, c, h, f"{name}.mamba")
        else:
            h = attention(g, c, queries_keys_values(g, c, h, f"{name}.self_attn"), layer, f"{name}.self_attn")
        x = x + g.scaled(h, c.residual_scale)

        h = g.rms_norm(x, f"{name}.post_attention_layernorm")
        x = x + g.scaled(feed_forward(g, c, h, layer, name), c.residual_scale)
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def mamba(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    """Mamba-2 (Dao and Gu 2024): a selective scan after a short convolution, gated and normed."""
    d = c.recurrent_heads
    assert d is not None, "the config describes them"
    width = d.value_size + d.mixed_size + d.num_value_heads
    projected = g.linear(h, [f"{name}.in_proj"], [width])  # gates; values, keys and queries; steps
    mixed = recurrence.causal_conv(
        g,
        projected,
        f"{name}.conv1d",
        d.mixed_size,
        column=d.value_size,
        bias=c.conv_bias,
        room=2 * d.num_value_heads,
    )
    names = (f"{name}.A_log", f"{name}.dt_bias")
    recurrence.scan_gates(g, projected, mixed, d, names, source_column=d.value_size + d.mixed_size)
    read = recurrence.selective_scan(g, mixed, d, f"{name}.D")  # (tokens, value heads * value_dim)
    groups = replace(d, num_value_heads=d.num_key_heads, value_dim=d.value_size // d.num_key_heads)
    recurrence.gated_norm(g, read, projected, groups, f"{name}.norm", 0, gate_first=True)
    return g.linear(read, [f"{name}.out_proj"], [c.hidden_size])


def feed_forward(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    """One SiLU-gated network, or experts and such a network."""
    if c.experts is not None:
        return granite_moe.feed_forward(g, c, h, layer, name)
    return granite_moe.shared_network(g, c, h, c.ffn_size, name)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of GraniteMoeHybridForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("position_embedding_type", "rope", "nope", None)
    has_experts = keys.integer("num_local_experts", "num_dense_layers") > 0
    rope = 0 if keys.get("position_embedding_type") == "rope" else None
    layers = tuple(Layer(kind=kind, rope=rope, has_experts=has_experts) for kind in _kinds(keys))
    shared_ffn_size = keys.integer("shared_intermediate_size", "ffn_size")
    experts = None
    if has_experts:
        experts = experts_from_json(keys, "num_local_experts", "intermediate_size", normalised=True)
        experts = replace(experts, shared_ffn_size=shared_ffn_size)
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=layers,
        experts=experts,
        ffn_size=shared_ffn_size,
        biases="attention",
        **granite.factors_from_json(keys),
        **(_recurrence_from_json(keys) if any(layer.kind == "mamba" for layer in layers) else {}),
    )


def _kinds(keys: ConfigKeys) -> list[Literal["mamba", "attention"]]:
    """The kind of each layer; all are Mamba-2 where no key says."""
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    key = "layers_block_type" if keys.get("layer_types") is None else "layer_types"
    if keys.get(key) is None:
        return ["mamba"] * num_layers
    names = keys.strings(key, num_layers)
    keys.require(set(names) <= set(KINDS), key, ", ".join(KINDS))
    return ["mamba" if KINDS[name] == "mamba" else "attention" for name in names]


def _recurrence_from_json(keys: ConfigKeys) -> dict[str, Any]:
    keys.require_one_of("mamba_proj_bias", False, None)
    keys.require(keys.get("time_step_limit") in NO_LIMITS, "time_step_limit", "0 to infinity")
    num_heads = keys.integer("mamba_n_heads", "num_heads")
    num_groups = keys.integer("mamba_n_groups", "num_heads")
    width = int(keys.number("mamba_expand", "factor") * keys.integer("hidden_size", "hidden_size"))
    keys.require(width % num_heads == 0, "mamba_n_heads", f"divisors of the {width} columns")
    keys.require(num_heads % num_groups == 0, "mamba_n_groups", f"divisors of the {num_heads} heads")
    keys.require_one_of("mamba_d_head", "auto", width // num_heads, None)
    heads = RecurrentHeads(
        num_key_heads=num_groups,
        key_dim=keys.integer("mamba_d_state", "head_dim"),
        num_value_heads=num_heads,
        value_dim=width // num_heads,
    )
    return {
        "recurrent_heads": heads,
        "num_taps": keys.integer("mamba_d_conv", "num_taps"),
        "conv_bias": keys.boolean("mamba_conv_bias", default=True),
    }


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `granitehybrid.`; layers without key-value heads are Mamba-2."""
    has_experts = keys.integer("expert_count", "num_dense_layers", 0) > 0
    shared_key = "expert_shared_feed_forward_length"
    shared_ffn_size = keys.integer(shared_key, "ffn_size", keys.integer("feed_forward_length", "ffn_size"))
    experts = None
    if has_experts:
        experts = experts_from_gguf(keys, "feed_forward_length", normalised=True)
        experts = replace(experts, shared_ffn_size=shared_ffn_size)
    rope = 0 if keys.boolean("rope.scaling.finetuned", default=True) else None
    attends, num_kv_heads = attention_layers_of_gguf(keys)
    kinds: list[Literal["mamba", "attention"]] = ["attention" if each else "mamba" for each in attends]
    return decoder_from_gguf(
        keys.replaced(**{KV_HEADS: num_kv_heads}),
        file,
        FAMILY.name,
        layers=tuple(Layer(kind=kind, rope=rope, has_experts=has_experts) for kind in kinds),
        experts=experts,
        ffn_size=shared_ffn_size,
        recurrent_heads=recurrent_heads_from_gguf(keys),
        num_taps=keys.integer("ssm.conv_kernel", "num_taps"),
        conv_bias=any(name.endswith("ssm_conv1d.bias") for name in file.tensors),
        biases="attention",
        **granite.factors_from_gguf(keys),
    )


def as_in_hugging_face(config: ModelConfig, name: str, tensor: NDArray[np.float32]) -> NDArray[np.float32]:
    """A tensor as in Hugging Face files; GGUF files contain -exp(A)."""
    if name.endswith(".A_log"):
        return np.log(-tensor.astype(np.float64)).astype(np.float32)
    return llama.rotate_half(config, name, tensor)


FAMILY = Family(
    name="Granite 4",
    examples="Granite 4.0 350M, 1B, Micro, H Micro, H Tiny, H Small",
    architectures=("GraniteMoeHybridForCausalLM",),
    model_types=("granitemoehybrid",),
    gguf_architectures=("granitehybrid", "granite", "granitemoe"),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    stacked_names=granite_moe.FAMILY.stacked_names,
    gguf_names={
        **granite_moe.FAMILY.gguf_names,
        "ffn_gate": "shared_mlp.gate",
        "ffn_up": "shared_mlp.up",
        "ffn_down": "shared_mlp.down",
        "ssm_in": "mamba.in_proj",
        "ssm_conv1d": "mamba.conv1d",
        "ssm_a": "mamba.A_log",
        "ssm_d": "mamba.D",
        "ssm_dt.bias": "mamba.dt_bias",
        "ssm_norm": "mamba.norm",
        "ssm_out": "mamba.out_proj",
    },
    adjust_gguf=as_in_hugging_face,
)
