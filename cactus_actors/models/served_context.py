"""The context length for which a model is served, from its files; routers and workers use the same one.

A model with LongRoPE is served within the context of its short factors: a longer sequence would need all its keys
recomputed with the long ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cactus_actors.models.gguf_file import GGUFFile

DEFAULT_CONTEXT = 2048
_CONTEXTS = {
    "MistralForCausalLM": 131_072,
    "MixtralForCausalLM": 131_072,
    "Qwen2ForCausalLM": 32_768,
    "Qwen3ForCausalLM": 32_768,
    "Qwen3MoeForCausalLM": 32_768,
    "Gemma2ForCausalLM": 8_192,
    "Gemma3ForCausalLM": 131_072,
    "Gemma3nForCausalLM": 32_768,
    "Gemma4ForCausalLM": 131_072,
    "Phi3ForCausalLM": 4_096,
    "SmolLM3ForCausalLM": 32_768,
    "Lfm2ForCausalLM": 128_000,
    "Lfm2MoeForCausalLM": 128_000,
    "Lfm3ForCausalLM": 128_000,
    "Ministral3ForCausalLM": 262_144,
    "GptOssForCausalLM": 131_072,
    # the model types of parts for text
    "gemma3_text": 131_072,
    "gemma3n_text": 32_768,
    "gemma4_text": 131_072,
    "ministral3": 262_144,
    "mistral": 131_072,
}
"""transformers' default for a missing `max_position_embeddings`."""
_ORIGINAL_OF_PHI3 = 4_096
"""The default of transformers' Phi3Config if the top level of the file has no original context."""


def context_of_json(config: Mapping[str, Any]) -> Any:
    """The context of a config.json; an invalid value is returned unchanged."""
    architectures = config.get("architectures")
    named = [one for one in architectures if isinstance(one, str)] if isinstance(architectures, list) else []
    named.append(str(config.get("model_type")))
    assumed = next((_CONTEXTS[one] for one in named if one in _CONTEXTS), DEFAULT_CONTEXT)
    context = config.get("max_position_embeddings", assumed)
    scaling = config.get("rope_scaling") or config.get("rope_parameters")
    if not isinstance(scaling, dict) or scaling.get("short_factor") == scaling.get("long_factor"):
        return context
    key = "original_max_position_embeddings"
    original = _ORIGINAL_OF_PHI3 if "Phi3ForCausalLM" in named else scaling.get(key, context)
    return _least(context, config.get(key, original))


def context_of_gguf(file: GGUFFile) -> tuple[str, Any]:
    """The key of the context and its value, as `context_of_json`."""
    architecture = file.metadata.get("general.architecture")
    key = f"{architecture}.context_length"
    context = file.metadata.get(key)
    factors = ("rope_factors_short.weight", "rope_factors_long.weight")
    if not all(name in file.tensors for name in factors):
        return key, context
    short, long = (file.read_tensor(name) for name in factors)
    if short.tobytes() == long.tobytes():
        return key, context
    original = file.metadata.get(f"{architecture}.rope.scaling.original_context_length", context)
    return key, _least(context, original)


def _least(context: Any, original: Any) -> Any:
    return min(context, original) if type(context) is int and type(original) is int else context
