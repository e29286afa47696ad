"""Phi-3 (Abdin et al. 2024): Llama whose projections are kept fused, some with part of each head rotated."""

from __future__ import annotations

from functools import partial
from typing import Any

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.decoder_parts import down
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rope_config import rope_from_json
from cactus_actors.workers.spec.sliding_window import window_from_gguf, window_from_json

# Defaults of Phi3Config of transformers for missing keys.
DEFAULTS = {
    "max_position_embeddings": 4096,
    "original_max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
}
ROPE_TYPES = ("default", "longrope", "su", None)


def project(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    """Queries, keys and values by one matrix."""
    return g.linear(h, [f"{name}.qkv_proj"], [c.query_size + 2 * c.kv_size])


def feed_forward(g: Graph, c: ModelConfig, h: Value, _layer: Layer, name: str) -> Value:
    """A SiLU-gated network with gate and up projections in one matrix."""
    gate_up = g.linear(h, [f"{name}.mlp.gate_up_proj"], [2 * c.ffn_size])
    return down(g, c, g.silu_gate(gate_up), f"{name}.mlp")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Phi3ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    for key in ("attention_bias", "mlp_bias", "lm_head_bias"):
        keys.require_one_of(key, False, None)
    for key in ("full_attn_mod", "interpolate_factor"):
        keys.require_one_of(key, 1, None)
    for section in ("rope_scaling", "rope_parameters"):
        rope = keys.below(section)
        rope.require_one_of("type", *ROPE_TYPES)
        rope.require_one_of("rope_type", *ROPE_TYPES)
    head_dim = heads_from_json(keys).head_dim
    return decoder_from_json(
        keys.replaced(auto_map=_foreign_code(keys)),
        FAMILY.name,
        window=window_from_json(keys),
        ropes=(rope_from_json(keys, head_dim, rotates_part=True),),
    )


def _foreign_code(keys: ConfigKeys) -> Any:
    """`auto_map`, None if it names a copy of this family's class, as in published files."""
    named = keys.below("auto_map").get("AutoModelForCausalLM")
    is_copy = isinstance(named, str) and named.endswith("modeling_phi3.Phi3ForCausalLM")
    return None if is_copy else keys.get("auto_map")


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `phi3.`."""
    return decoder_from_gguf(keys, file, FAMILY.name, window=window_from_gguf(keys))


FAMILY = Family(
    name="Phi-3",
    examples="Phi-3 mini, medium; Phi-3.5 mini; Phi-4, Phi-4 mini",
    architectures=("Phi3ForCausalLM",),
    model_types=("phi3",),
    gguf_architectures=("phi3",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(llama.forward, project=project, feed_forward=feed_forward),
    gguf_names={**GGUF_NAMES, "attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"},
)
