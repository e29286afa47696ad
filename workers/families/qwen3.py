"""Qwen3 (Yang et al. 2025): Llama with a norm on every head of the queries and keys."""

from __future__ import annotations

from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama, qwen2
from cactus_actors.workers.families.decoder_parts import normed_queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen3ForCausalLM."""
    keys = keys.with_defaults(**qwen2.DEFAULTS, head_dim=128)
    qwen2.check_supported(keys)
    return decoder_from_json(keys, FAMILY.name, layers=qwen2.layers_from_json(keys), biases="attention")


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen3.`."""
    keys.require_one_of("attention.sliding_window", 0, None)
    return decoder_from_gguf(keys, file, FAMILY.name, biases="attention")


FAMILY = Family(
    name="Qwen3",
    examples="Qwen3 0.6B to 32B",
    architectures=("Qwen3ForCausalLM",),
    model_types=("qwen3",),
    gguf_architectures=("qwen3",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(llama.forward, project=normed_queries_keys_values),
)
