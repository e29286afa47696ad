"""Gemma 3 (Gemma Team 2025), text only: Gemma 2 with norms on queries and keys in the place of soft caps.

Five layers with a window come before each layer without; the two kinds have separate rotary embeddings.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import gemma2
from cactus_actors.workers.families.decoder_parts import normed_queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
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

# Defaults of Gemma3TextConfig of transformers for missing keys.
DEFAULTS = {
    **gemma2.DEFAULTS,
    "vocab_size": 262208,
    "num_attention_heads": 8,
    "max_position_embeddings": 131072,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "sliding_window_pattern": 6,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
}
LARGEST_NUM_LAYERS = 62
"""Number of layers of the 27B model, the one whose queries are not scaled by the head size."""

GLOBAL, LOCAL = 0, 1  # indices of the ropes


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Gemma3ForCausalLM, or of the text part of Gemma3ForConditionalGeneration."""
    keys.require_one_of("quantization_config", None)
    if keys.get("text_config") is not None:
        tied = keys.boolean("tie_word_embeddings", default=True)
        # As in transformers, the text part's own keys of these names are ignored.
        keys = keys.below("text_config").replaced(tie_word_embeddings=tied, final_logit_softcapping=None)
    keys = keys.with_defaults(**DEFAULTS)
    gemma2.check_supported(keys)
    keys.require_one_of("attn_logit_softcapping", None)
    period = keys.integer("sliding_window_pattern", "num_layers")
    windows = windows_from_json(keys, window_from_json(keys), lambda index: (index + 1) % period != 0)
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=layers_of(windows),
        ropes=ropes_from_json(keys),
        attention_scale=keys.number("query_pre_attn_scalar", "head_dim") ** -0.5,
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
        biases="attention",
    )


def layers_of(windows: list[int]) -> tuple[Layer, ...]:
    """Layers that see all positions have the global rope, the others the local one."""
    return tuple(Layer(window=window, rope=LOCAL if window else GLOBAL) for window in windows)


def ropes_from_json(keys: ConfigKeys) -> tuple[Rope, Rope]:
    """The global and the local rope; in older files only the global one is scaled."""
    head_dim = heads_from_json(keys).head_dim
    local_keys = keys.replaced(rope_theta=keys.number("rope_local_base_freq", "rope_theta"), rope_scaling=None)
    return (
        rope_from_json(keys, head_dim, section="full_attention"),
        rope_from_json(local_keys, head_dim, section="sliding_attention"),
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `gemma3.`; files of the larger models hold their text part alone."""
    windows = windows_from_gguf(keys, window_from_gguf(keys), period=6)
    head_dim = heads_from_gguf(keys).head_dim
    local_rope = rope_from_gguf(keys, file, head_dim, theta_key="rope.freq_base_swa")
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=layers_of(windows),
        ropes=(rope_from_gguf(keys, file, head_dim), replace(local_rope, scaling=None)),
        attention_scale=gemma2.scale_from_gguf(keys, LARGEST_NUM_LAYERS),
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
    )


FAMILY = Family(
    name="Gemma 3",
    examples="Gemma 3 270M, 1B; the text part of 4B, 12B, 27B",
    architectures=("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
    model_types=("gemma3_text", "gemma3"),
    gguf_architectures=("gemma3",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(gemma2.forward, project=partial(normed_queries_keys_values, plus_one=True)),
    gguf_names=gemma2.NAMES_OF_GGUF,
    adjust_gguf=gemma2.without_one,
)
