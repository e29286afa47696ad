"""EXAONE 4 (LG AI Research 2025): norms after both parts of a layer, and on every head of queries and keys.

Models with windows rotate the layers that have one, and no others.
"""

from __future__ import annotations

from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import olmo
from cactus_actors.workers.families.decoder_parts import normed_queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import (
    window_from_gguf,
    window_from_json,
    windows_from_gguf,
    windows_from_json,
)

# Defaults of Exaone4Config of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 32,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "sliding_window": 4096,
    "sliding_window_pattern": 4,
}


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Exaone4ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    window = window_from_json(keys)
    period = 0
    if keys.get("layer_types") is None:
        keys.require(window > 0, "sliding_window", "a number, unless there are layer_types")
        period = keys.integer("sliding_window_pattern", "num_layers")
    windows = windows_from_json(keys, window, lambda index: (index + 1) % period != 0)
    return decoder_from_json(keys, FAMILY.name, layers=_layers(windows, window))


def _layers(windows: list[int], window: int) -> tuple[Layer, ...]:
    return tuple(Layer(window=each, rope=0 if each or not window else None) for each in windows)


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `exaone4.`."""
    window = window_from_gguf(keys)
    windows = windows_from_gguf(keys, window, period=4)
    return decoder_from_gguf(keys, file, FAMILY.name, layers=_layers(windows, window))


FAMILY = Family(
    name="EXAONE 4",
    examples="EXAONE 4.0 1.2B, 32B",
    architectures=("Exaone4ForCausalLM",),
    model_types=("exaone4",),
    gguf_architectures=("exaone4",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(olmo.forward, project=normed_queries_keys_values),
    gguf_names=olmo.NAMES_OF_GGUF,
)
