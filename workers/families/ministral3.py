"""Ministral 3 (Mistral AI 2025): Mistral with YaRN, and queries that grow with the position.

The text part of models with images is read as well; theirs may be an older Mistral.
"""

from __future__ import annotations

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama, mistral
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.spec.attention_heads import heads_from_gguf, heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig, QueryGrowth
from cactus_actors.workers.spec.rope_config import rope_from_gguf, rope_from_json
from cactus_actors.workers.spec.sliding_window import window_from_gguf, window_from_json

# Defaults of Ministral3Config of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 262144,
    "rms_norm_eps": 1e-5,
}
DEFAULT_ROPE = {
    "rope_type": "yarn",
    "rope_theta": 1000000.0,
    "factor": 16.0,
    "original_max_position_embeddings": 16384,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale_all_dim": 1.0,
    "mscale": 1.0,
    "llama_4_scaling_beta": 0.1,
}
SCALED_ROPES = ("llama3", "yarn", "longrope")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Ministral3ForCausalLM, or of the text part of Mistral3ForConditionalGeneration."""
    keys.require_one_of("quantization_config", None)
    if keys.get("text_config") is not None:
        tied = keys.boolean("tie_word_embeddings", default=True)
        # As transformers has it: the text's own key of this name does not count.
        keys = keys.below("text_config").replaced(tie_word_embeddings=tied)
        keys.require_one_of("model_type", "ministral3", "mistral", None)
        if keys.get("model_type") != "ministral3":
            return mistral.read_json(keys)
    return _read_text(keys.with_defaults(**DEFAULTS))


def _read_text(keys: ConfigKeys) -> ModelConfig:
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("attention_bias", False, None)
    keys.require_one_of("layer_types", None)
    if keys.get("rope_parameters") is None and keys.get("rope_scaling") is None:
        keys = keys.replaced(rope_parameters=DEFAULT_ROPE)
    return decoder_from_json(
        keys,
        FAMILY.name,
        window=window_from_json(keys),
        ropes=(rope_from_json(keys, heads_from_json(keys).head_dim),),
        query_growth=_growth_from_json(keys),
    )


def _growth_from_json(keys: ConfigKeys) -> QueryGrowth:
    """The growth of the queries; its keys are in the object of the rotary scaling."""
    section = keys.below("rope_scaling" if keys.get("rope_scaling") else "rope_parameters")
    is_scaled = (section.get("rope_type") or section.get("type")) in SCALED_ROPES
    key = "original_max_position_embeddings"
    period = keys.get(key) if is_scaled and keys.get(key) is not None else section.get(key)
    if period is None and is_scaled:
        period = keys.get("max_position_embeddings")
    return QueryGrowth(
        section.number("llama_4_scaling_beta", "growth"),
        section.replaced(**{key: period}).integer(key, "max_context"),
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `mistral3.`."""
    keys.require_one_of("expert_count", 0, None)
    growth = keys.number("attention.temperature_scale", "growth", 0.0)
    period_key = "rope.scaling.original_context_length"
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        window=window_from_gguf(keys),
        ropes=(rope_from_gguf(keys, file, heads_from_gguf(keys).head_dim),),
        query_growth=QueryGrowth(growth, keys.integer(period_key, "max_context")) if growth else None,
    )


FAMILY = Family(
    name="Ministral 3",
    examples="Ministral 3 3B, 8B, 14B; the text part of Mistral Small 3.1 and 3.2",
    architectures=("Ministral3ForCausalLM", "Mistral3ForConditionalGeneration"),
    model_types=("ministral3", "mistral3"),
    gguf_architectures=("mistral3",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=llama.forward,
    adjust_gguf=llama.rotate_half,
)
