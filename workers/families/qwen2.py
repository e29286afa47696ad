"""Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with biases on the queries, keys and values."""

from __future__ import annotations

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import window_from_json, windows_from_json

# Defaults of Qwen2Config and Qwen3Config of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 32,
    "max_position_embeddings": 32768,
    "sliding_window": 4096,
    "max_window_layers": 28,
}


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen2ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    check_supported(keys)
    return decoder_from_json(keys, FAMILY.name, layers=layers_from_json(keys), attention_bias=True)


def check_supported(keys: ConfigKeys) -> None:
    """Refuse options that no released text model of Qwen2 and Qwen3 uses."""
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("use_mrope", False, None)
    keys.require_one_of("dual_chunk_attention_config", None)


def layers_from_json(keys: ConfigKeys) -> tuple[Layer, ...]:
    """With `use_sliding_window`, layers from `max_window_layers` on have a window."""
    window = window_from_json(keys) if keys.boolean("use_sliding_window", default=False) else 0
    first = keys.integer("max_window_layers", "window") if window else 0
    windows = windows_from_json(keys, window, lambda index: window > 0 and index >= first)
    return tuple(Layer(window=each) for each in windows)


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen2.`."""
    keys.require_one_of("attention.sliding_window", 0, None)
    return decoder_from_gguf(keys, file, FAMILY.name, attention_bias=True)


FAMILY = Family(
    name="Qwen2",
    examples="Qwen2, Qwen2.5, Qwen2.5-Coder, QwQ; DeepSeek-R1-Distill-Qwen",
    architectures=("Qwen2ForCausalLM",),
    model_types=("qwen2",),
    gguf_architectures=("qwen2",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=llama.forward,
)
