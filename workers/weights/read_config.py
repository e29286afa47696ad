"""Reads a model's config from config.json or from GGUF metadata, and checks it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cactus_actors.models.files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from workers.models.config import ModelConfig

SUPPORTED_ARCHITECTURES = ("LlamaForCausalLM",)
SUPPORTED_GGUF_ARCHITECTURES = ("llama",)

# Inclusive bounds of what a sane model has; they keep a corrupt file from asking for absurd sizes.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "vocab_size": (2, 1 << 24),
    "hidden_size": (2, 1 << 17),
    "ffn_size": (1, 1 << 19),
    "num_layers": (1, 1 << 12),
    "num_heads": (1, 1 << 12),
    "num_kv_heads": (1, 1 << 12),
    "head_dim": (2, 1 << 11),
    "max_context": (1, 1 << 24),
    "rope_theta": (1.0, 1e12),
    "norm_eps": (1e-12, 0.1),
}


def config_from_json(path: Path, values: Mapping[str, Any]) -> ModelConfig:
    """The config in a Hugging Face config.json; `path` names it in errors (ModelFileInvalid)."""
    keys = _Keys(path, values)
    architectures = values.get("architectures")
    if not isinstance(architectures, list) or not any(
        name in SUPPORTED_ARCHITECTURES for name in architectures
    ):
        raise invalid(
            path, f"architectures is {architectures}; supported: {', '.join(SUPPORTED_ARCHITECTURES)}"
        )
    rope = values.get("rope_parameters") or {}
    scaling = values.get("rope_scaling") or {}
    if not isinstance(rope, dict) or not isinstance(scaling, dict):
        raise invalid(path, "rope_scaling and rope_parameters must be objects")
    scaling_type = (rope | scaling).get("rope_type", (rope | scaling).get("type", "default"))
    keys.require(scaling_type == "default", "rope_scaling", "null or the type default")
    keys.require_one_of("auto_map", None)  # it names custom code, which is never run
    keys.require_one_of("attention_bias", False, None)
    keys.require_one_of("mlp_bias", False, None)
    keys.require_one_of("rope_interleaved", False, None)
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("quantization_config", None)
    keys.require_one_of("partial_rotary_factor", 1.0, None)
    if values.get("use_sliding_window", True):
        keys.require_one_of("sliding_window", None)
    num_heads = keys.integer("num_attention_heads", "num_heads")
    hidden_size = keys.integer("hidden_size", "hidden_size")
    theta_default = rope.get("rope_theta", 10000.0)
    return keys.checked(
        ModelConfig(
            architecture="llama",
            vocab_size=keys.integer("vocab_size", "vocab_size"),
            hidden_size=hidden_size,
            ffn_size=keys.integer("intermediate_size", "ffn_size"),
            num_layers=keys.integer("num_hidden_layers", "num_layers"),
            num_heads=num_heads,
            num_kv_heads=keys.integer("num_key_value_heads", "num_kv_heads", num_heads),
            head_dim=keys.integer("head_dim", "head_dim", hidden_size // num_heads),
            rope_theta=keys.number("rope_theta", "rope_theta", theta_default),
            norm_eps=keys.number("rms_norm_eps", "norm_eps", 1e-6),
            max_context=keys.integer("max_position_embeddings", "max_context", 2048),
            tie_embeddings=keys.boolean("tie_word_embeddings", default=False),
        )
    )


def config_from_gguf(file: GGUFFile) -> ModelConfig:
    """The config in the metadata of a GGUF file; the vocabulary is as large as the embedding has rows."""
    keys = _Keys(file.path, file.metadata)
    architecture = file.metadata.get("general.architecture")
    if architecture not in SUPPORTED_GGUF_ARCHITECTURES:
        supported = ", ".join(SUPPORTED_GGUF_ARCHITECTURES)
        raise invalid(file.path, f"general.architecture is {architecture!r}; supported: {supported}")
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise invalid(file.path, "no tensor token_embd.weight of two dimensions; a file of vocabulary only?")
    vocab_size = embedding.shape[0]
    tokens = file.metadata.get("tokenizer.ggml.tokens", [])
    keys.require(
        isinstance(tokens, list) and len(tokens) <= vocab_size,
        "tokenizer.ggml.tokens",
        f"as many as the embedding has rows ({vocab_size})",
    )
    keys.require_one_of("llama.vocab_size", vocab_size, None)
    keys.require_one_of("llama.rope.scaling.type", "none", None)
    keys.require_one_of("llama.expert_count", 0, None)
    keys.require_one_of("llama.attention.sliding_window", 0, None)
    keys.require("rope_freqs.weight" not in file.tensors, "rope_freqs.weight", "no scaled rotary frequencies")
    num_heads = keys.integer("llama.attention.head_count", "num_heads")
    hidden_size = keys.integer("llama.embedding_length", "hidden_size")
    head_dim = keys.integer("llama.attention.key_length", "head_dim", hidden_size // num_heads)
    keys.require_one_of("llama.rope.dimension_count", head_dim, None)
    keys.require_one_of("llama.attention.value_length", head_dim, None)
    return keys.checked(
        ModelConfig(
            architecture="llama",
            vocab_size=vocab_size,
            hidden_size=hidden_size,
            ffn_size=keys.integer("llama.feed_forward_length", "ffn_size"),
            num_layers=keys.integer("llama.block_count", "num_layers"),
            num_heads=num_heads,
            num_kv_heads=keys.integer("llama.attention.head_count_kv", "num_kv_heads", num_heads),
            head_dim=head_dim,
            rope_theta=keys.number("llama.rope.freq_base", "rope_theta", 10000.0),
            norm_eps=keys.number("llama.attention.layer_norm_rms_epsilon", "norm_eps"),
            max_context=keys.integer("llama.context_length", "max_context"),
            tie_embeddings="output.weight" not in file.tensors,
        )
    )


@dataclass(frozen=True)
class _Keys:
    """The raw keys of one file; every error names the file and the key."""

    path: Path
    values: Mapping[str, Any]

    def require(self, condition: bool, key: str, supported: str) -> None:
        if not condition:
            value = self.values.get(key)
            shown = f" {value!r:.100}" if value is not None else ""
            raise invalid(self.path, f"{key}{shown} is not supported; supported: {supported}")

    def require_one_of(self, key: str, *supported: str | float | None) -> None:
        value = self.values.get(key)
        plain = value is None or isinstance(value, str | int | float)
        self.require(plain and value in supported, key, " or ".join(map(str, supported)))

    def integer(self, key: str, bounds: str, default: int | None = None) -> int:
        value = self._get(key, default)
        if type(value) is not int:
            raise invalid(self.path, f"{key} must be an integer, not {value!r:.100}")
        self._check_bounds(key, value, bounds)
        return value

    def number(self, key: str, bounds: str, default: float | None = None) -> float:
        value = self._get(key, default)
        if type(value) not in (int, float) or not math.isfinite(value):
            raise invalid(self.path, f"{key} must be a finite number, not {value!r:.100}")
        self._check_bounds(key, value, bounds)
        return float(value)

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self._get(key, default)
        if type(value) is not bool:
            raise invalid(self.path, f"{key} must be true or false, not {value!r:.100}")
        return value

    def checked(self, config: ModelConfig) -> ModelConfig:
        """`config`, once the relations between its values hold."""
        if config.num_heads % config.num_kv_heads:
            raise invalid(
                self.path,
                f"the {config.num_heads} attention heads cannot share {config.num_kv_heads} key/value heads",
            )
        if config.head_dim % 2:
            raise invalid(self.path, f"head size {config.head_dim} is odd; rotary embedding needs pairs")
        return config

    def _get(self, key: str, default: Any) -> Any:
        value = self.values.get(key)
        if value is None:
            value = default
        if value is None:
            raise invalid(self.path, f"{key} is missing")
        return value

    def _check_bounds(self, key: str, value: float, bounds: str) -> None:
        low, high = _BOUNDS[bounds]
        if not low <= value <= high:
            raise invalid(self.path, f"{key} is {value}, outside {low} to {high}")
