"""OLMo 2 and 3 (OLMo Team 2025): norms after both parts of a layer, and over all queries and all keys.

OLMo 3 has a window in most layers. Its layers with a window have a rotary embedding without a scaling.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families.decoder_parts import attention, gated_network, queries_keys_values
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import heads_from_gguf, heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rope_config import rope_from_gguf, rope_from_json
from cactus_actors.workers.spec.rotary import Rope
from cactus_actors.workers.spec.sliding_window import (
    window_from_gguf,
    window_from_json,
    windows_from_gguf,
    windows_from_json,
)

# Defaults of Olmo2Config and Olmo3Config of transformers for missing keys.
DEFAULTS = {"max_position_embeddings": 2048, "rms_norm_eps": 1e-5}
DEFAULT_THETA = 500000.0  # of OLMo 3
DEFAULT_WINDOW = 4096
PERIOD = 4
"""Every such number of layers, the last one attends to all positions."""


def project(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    """Queries, keys and values; one norm spans all queries of a token, and one all its keys."""
    qkv = queries_keys_values(g, c, h, name)
    g.norm_columns(qkv, 0, c.query_size, f"{name}.q_norm")
    g.norm_columns(qkv, c.query_size, c.kv_size, f"{name}.k_norm")
    return qkv


def forward(g: Graph, c: ModelConfig, *, project: Callable[[Graph, ModelConfig, Value, str], Value] = project) -> None:
    """Attention and a SiLU-gated network, each with a norm after it and none before it."""
    x = g.embed("embed_tokens")  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        qkv = project(g, c, x, f"{name}.self_attn")  # (tokens, (heads + 2 kv_heads) * head_dim)
        h = attention(g, c, qkv, layer, f"{name}.self_attn")
        x = x + g.rms_norm(h, f"{name}.post_attention_layernorm")
        x = x + g.rms_norm(gated_network(g, c, x, layer, name), f"{name}.post_feedforward_layernorm")
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Olmo2ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    return decoder_from_json(keys, FAMILY.name, biases="attention")


def read_json_with_windows(keys: ConfigKeys) -> ModelConfig:
    """The keys of Olmo3ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS, sliding_window=DEFAULT_WINDOW)
    keys.require_one_of("hidden_act", "silu", None)
    windows = windows_from_json(keys, window_from_json(keys), lambda index: (index + 1) % PERIOD != 0)
    return decoder_from_json(
        keys,
        WITH_WINDOWS.name,
        layers=_layers(windows),
        ropes=_ropes_from_json(keys),
        biases="attention",
    )


def _layers(windows: list[int]) -> tuple[Layer, ...]:
    return tuple(Layer(window=window, rope=1 if window else 0) for window in windows)


def _ropes_from_json(keys: ConfigKeys) -> tuple[Rope, Rope]:
    """The rope of layers without a window, and of those with one."""
    keys = keys.with_defaults(rope_theta=DEFAULT_THETA)
    if keys.below("rope_parameters").below("sliding_attention").get("rope_theta") is None:
        # Versions of transformers disagree on whether the common key holds for layers with a window.
        keys.require_one_of("rope_theta", DEFAULT_THETA, None)
    head_dim = heads_from_json(keys).head_dim
    return (
        rope_from_json(keys, head_dim, section="full_attention"),
        rope_from_json(keys.replaced(rope_scaling=None), head_dim, section="sliding_attention"),
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `olmo2.`, which both versions have; without a window it is OLMo 2."""
    window = window_from_gguf(keys)
    windows = windows_from_gguf(keys, window, period=PERIOD)
    rope = rope_from_gguf(_without_amplitude(keys), file, heads_from_gguf(keys).head_dim)
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=_layers(windows),
        ropes=(rope, replace(rope, scaling=None)),
        biases="attention",
    )


def _without_amplitude(keys: ConfigKeys) -> ConfigKeys:
    """The keys without an amplitude of YaRN that is the usual one; files of OLMo 3 repeat it."""
    key = "rope.scaling.yarn_attn_factor"
    if keys.get(key) is None or keys.get("rope.scaling.type") != "yarn":
        return keys
    usual = 0.1 * math.log(keys.number("rope.scaling.factor", "factor")) + 1
    is_usual = math.isclose(keys.number(key, "factor"), usual, rel_tol=1e-5)
    return keys.replaced(**{key: 1.0}) if is_usual else keys


NAMES_OF_GGUF = {
    **GGUF_NAMES,
    "post_attention_norm": "post_attention_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}

FAMILY = Family(
    name="OLMo 2",
    examples="OLMo 2 1B, 7B, 13B, 32B",
    architectures=("Olmo2ForCausalLM",),
    model_types=("olmo2",),
    gguf_architectures=("olmo2",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    gguf_names=NAMES_OF_GGUF,
)
WITH_WINDOWS = Family(
    name="OLMo 3",
    examples="OLMo 3 7B, 32B",
    architectures=("Olmo3ForCausalLM",),
    model_types=("olmo3",),
    gguf_architectures=("olmo2",),
    read_json=read_json_with_windows,
    read_gguf=read_gguf,
    forward=forward,
    gguf_names=NAMES_OF_GGUF,
)
