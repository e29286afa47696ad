"""Configs of one small shape, parsed by each family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cactus_actors.workers.families.registry import family_of_architectures
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig

MISTRAL, QWEN2, QWEN3 = "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"
GEMMA2, GEMMA3, GEMMA3_IMAGES = "Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"
PHI3, SMOLLM3 = "Phi3ForCausalLM", "SmolLM3ForCausalLM"
LLAMA, LFM2 = "LlamaForCausalLM", "Lfm2ForCausalLM"
MIXTRAL, QWEN3_MOE = "MixtralForCausalLM", "Qwen3MoeForCausalLM"
DECODERS = (MISTRAL, QWEN2, QWEN3, GEMMA2, GEMMA3, PHI3, SMOLLM3)
SHAPE = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
}
SLIDING, FULL = "sliding_attention", "full_attention"


def read(architecture: str, values: dict[str, Any] | None = None, **changes: Any) -> ModelConfig:
    """The config of the family; by default of SHAPE with some keys changed."""
    path = Path("config.json")
    given = (SHAPE if values is None else values) | changes
    return family_of_architectures(path, [architecture]).read_json(ConfigKeys(path, given))


def longrope(**changes: Any) -> dict[str, Any]:
    factors = {"short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [1.0, 4.0, 8.0, 16.0]}
    return {"rope_type": "longrope"} | factors | changes
