"""Qwen3-VL (Bai et al. 2025): Qwen3 whose tokens have positions on three axes, with an encoder of pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama, qwen_mmproj
from cactus_actors.workers.families.decoder_parts import normed_queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.qwen_vision_config import feature_layers, with_pictures
from cactus_actors.workers.vision import qwen_vision

# Defaults of Qwen3VLTextConfig of transformers for missing keys.
TEXT_DEFAULTS = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 128,
    "max_position_embeddings": 128000,
    "rope_theta": 500000.0,
}
IMAGE_TOKEN_ID = 151655
SECTIONS = (24, 20, 20)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen3VLForConditionalGeneration."""
    text_keys = checked_text_keys(keys, "qwen3_vl_text", TEXT_DEFAULTS)
    return with_encoder(keys, text_keys, decoder_from_json(text_keys, FAMILY.name, biases="attention"))


def checked_text_keys(keys: ConfigKeys, model_type: str, defaults: Mapping[str, Any]) -> ConfigKeys:
    """The keys of the text part, after checks."""
    keys.require_one_of("auto_map", None)
    keys.require_one_of("quantization_config", None)
    # As in transformers, the text part's own key of this name is ignored.
    tied = keys.boolean("tie_word_embeddings", default=False)
    text_keys = keys.below("text_config").with_defaults(**defaults).replaced(tie_word_embeddings=tied)
    text_keys.require_one_of("model_type", model_type, None)
    text_keys.require_one_of("hidden_act", "silu", None)
    return text_keys


def with_encoder(keys: ConfigKeys, text_keys: ConfigKeys, config: ModelConfig) -> ModelConfig:
    """The model with its encoder, whose features the first layers add."""
    config = with_pictures(keys, text_keys, config, image_token_id=IMAGE_TOKEN_ID, sections=SECTIONS)
    assert config.vision is not None, "it has been read"
    return replace(config, vision=replace(config.vision, feature_layers=feature_layers(keys, config)))


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen3vl.`: the text part alone, the encoder is in a file of its own."""
    keys.require_one_of("attention.sliding_window", 0, None)
    return decoder_from_gguf(keys, file, FAMILY.name, biases="attention")


FAMILY = Family(
    name="Qwen3-VL",
    examples="Qwen3-VL 2B, 4B, 8B, 32B",
    architectures=("Qwen3VLForConditionalGeneration",),
    model_types=("qwen3_vl",),
    gguf_architectures=("qwen3vl",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(llama.forward, project=normed_queries_keys_values),
    encode=qwen_vision.encode,
    mmproj=qwen_mmproj.MMPROJ,
)
