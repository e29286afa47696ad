"""Granite 3 (Granite Team, IBM 2024): Llama with factors of embedding, scores, residuals and logits."""

from __future__ import annotations

from typing import Any

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

# Defaults of GraniteConfig and GraniteMoeConfig of transformers for missing keys.
DEFAULTS = {"max_position_embeddings": 2048, "rms_norm_eps": 1e-6}


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of GraniteForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    return decoder_from_json(keys, FAMILY.name, biases="all", **factors_from_json(keys))


def factors_from_json(keys: ConfigKeys) -> dict[str, Any]:
    """The four factors; each is 1 if it is missing."""
    return {
        "embedding_scale": keys.number("embedding_multiplier", "factor", 1.0),
        "attention_scale": keys.number("attention_multiplier", "factor", 1.0),
        "residual_scale": keys.number("residual_multiplier", "factor", 1.0),
        "logit_scale": 1 / keys.number("logits_scaling", "factor", 1.0),
    }


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `granite.`, which Granite 4 without Mamba layers has as well."""
    return decoder_from_gguf(
        keys, file, FAMILY.name, layers=layers_from_gguf(keys), biases="all", **factors_from_gguf(keys)
    )


def layers_from_gguf(keys: ConfigKeys, *, has_experts: bool = False) -> tuple[Layer, ...]:
    """All layers are alike; `rope.scaling.finetuned` is false if they have no rotary embedding."""
    rotates = keys.boolean("rope.scaling.finetuned", default=True)
    return (Layer(rope=0 if rotates else None, has_experts=has_experts),) * keys.integer("block_count", "num_layers")


def factors_from_gguf(keys: ConfigKeys) -> dict[str, Any]:
    """The four factors of a GGUF file."""
    has_scale = keys.get("attention.scale") not in (None, 0.0)
    return {
        "embedding_scale": keys.number("embedding_scale", "factor", 1.0),
        "attention_scale": keys.number("attention.scale", "factor") if has_scale else None,
        "residual_scale": keys.number("residual_scale", "factor", 1.0),
        "logit_scale": 1 / keys.number("logit_scale", "factor", 1.0),
    }


FAMILY = Family(
    name="Granite",
    examples="Granite 3.0 to 3.3 2B, 8B",
    architectures=("GraniteForCausalLM",),
    model_types=("granite",),
    gguf_architectures=("granite",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=llama.forward,
    adjust_gguf=llama.rotate_half,
)
