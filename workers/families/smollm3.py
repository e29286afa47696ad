"""SmolLM3 (Bakouch et al. 2025): Llama, with no rotary embedding in every fourth layer (Yang et al. 2025)."""

from __future__ import annotations

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.sliding_window import window_from_json, windows_from_json

# Defaults of SmolLM3Config of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 4,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
    "rope_theta": 2000000.0,
    "no_rope_layer_interval": 4,
}
INTERVAL_OF_GGUF = 4  # the files have no key for it


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of SmolLM3ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    has_rope = rotated_layers(keys)
    window = window_from_json(keys) if keys.boolean("use_sliding_window", default=False) else 0
    windows = windows_from_json(keys, window, lambda index: window > 0 and not has_rope[index])
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=tuple(
            Layer(window=window, rope=0 if rotates else None) for window, rotates in zip(windows, has_rope, strict=True)
        ),
        biases="all",
    )


def rotated_layers(keys: ConfigKeys) -> list[bool]:
    """True for each layer with a rotary embedding: `no_rope_layers` is 1 for them."""
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    given = keys.get("no_rope_layers")
    if given is None:
        interval = keys.integer("no_rope_layer_interval", "num_layers")
        return [(index + 1) % interval != 0 for index in range(num_layers)]
    is_list = isinstance(given, list) and len(given) == num_layers and all(value in (0, 1) for value in given)
    keys.require(is_list, "no_rope_layers", f"0 or 1 for each of the {num_layers} layers")
    return [bool(value) for value in given]


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `smollm3.`."""
    keys.require_one_of("attention.sliding_window", 0, None)
    num_layers = keys.integer("block_count", "num_layers")
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=tuple(Layer(rope=0 if (index + 1) % INTERVAL_OF_GGUF else None) for index in range(num_layers)),
        biases="all",
    )


FAMILY = Family(
    name="SmolLM3",
    examples="SmolLM3 3B",
    architectures=("SmolLM3ForCausalLM",),
    model_types=("smollm3",),
    gguf_architectures=("smollm3",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=llama.forward,
    adjust_gguf=llama.rotate_half,
)
