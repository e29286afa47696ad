"""Mistral (Jiang et al. 2023): Llama, with a sliding window in its first version.

Its GGUF files name the llama architecture, so that the Llama family reads them.
"""

from __future__ import annotations

from cactus_actors.workers.families import llama
from cactus_actors.workers.families.family import Family, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.sliding_window import window_from_json

# Defaults of MistralConfig of transformers for missing keys.
DEFAULTS = {"num_key_value_heads": 8, "max_position_embeddings": 131072, "sliding_window": 4096}


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of MistralForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("attention_bias", False, None)
    keys.require_one_of("layer_types", None)
    return decoder_from_json(keys, FAMILY.name, window=window_from_json(keys))


FAMILY = Family(
    name="Mistral",
    examples="Mistral 7B, Mistral Nemo, Mistral Small 24B, Ministral 8B",
    architectures=("MistralForCausalLM",),
    model_types=("mistral",),
    gguf_architectures=("llama",),
    read_json=read_json,
    read_gguf=llama.read_gguf,
    forward=llama.forward,
    adjust_gguf=llama.rotate_half,
)
