"""Rotary embeddings as config.json and GGUF metadata describe them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.spec.config_keys import ConfigKeys, is_finite
from cactus_actors.workers.spec.rope_scaling import (
    FactorsScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    ProportionalScaling,
    RopeScaling,
    YarnScaling,
)
from cactus_actors.workers.spec.rotary import Rope

TYPES = "default, linear, llama3, yarn, longrope"
DEFAULT_THETA = 10000.0


def rope_from_json(keys: ConfigKeys, head_dim: int, *, section: str = "", rotates_part: bool = False) -> Rope:
    """The rotary embedding of a config.json.

    Older files say `rope_theta` and `rope_scaling`, newer ones `rope_parameters`; the older keys win where a
    file has both. Models with several ropes have one object in `rope_parameters` for each kind of layer:
    `section` names it. `partial_rotary_factor` is for families that rotate part of a head (`rotates_part`).
    """
    parameters = _parameters(keys, section)
    theta = parameters.number("rope_theta", "rope_theta", keys.number("rope_theta", "rope_theta", DEFAULT_THETA))
    with _naming(keys.path):
        scaling = _scaling(keys, parameters, is_nested=bool(section))
        return _usable(Rope(theta, _rotary_dim(keys, parameters, head_dim, rotates_part), scaling))


def _parameters(keys: ConfigKeys, section: str) -> ConfigKeys:
    """The object that describes the embedding."""
    newer, older = keys.below("rope_parameters"), keys.below("rope_scaling")
    is_nested = any(isinstance(value, dict) for value in newer.values.values())
    if not section:
        keys.require(not is_nested, "rope_parameters", "one rotary embedding for all layers")
        return older if older.values else newer
    keys.require(is_nested or not newer.values, "rope_parameters", "an object for each kind of layer")
    named = newer.below(section)
    if older.get("type") is not None and older.get("rope_type") is None:
        # Versions of transformers disagree on what `type` means here; nothing where the factor is one.
        older.require(older.get("factor") == 1 or older.get("type") == "default", "type", "rope_type")
        return named
    return named.updated(older)


def _rotary_dim(keys: ConfigKeys, parameters: ConfigKeys, head_dim: int, rotates_part: bool) -> int:
    """Number of rotated lanes of a head.

    transformers reads `partial_rotary_factor` in every family. Those that rotate whole heads ignore it
    without a scaling, and fail with one.
    """
    key = "partial_rotary_factor"
    source = parameters if parameters.get(key) is not None else keys
    part = 1.0 if source.get(key) is None else source.get(key)
    source.require(is_finite(part) and 0 < part <= 1, key, "0 to 1")
    if _kind(parameters) == "proportional":
        return head_dim
    if not rotates_part:
        source.require(part == 1 or _kind(parameters) in (None, "default"), key, "1 with a scaling")
        return head_dim
    rotary_dim = int(head_dim * part)
    source.require(rotary_dim > 0 and rotary_dim % 2 == 0, key, f"an even number of the {head_dim} lanes")
    return rotary_dim


def rope_from_gguf(keys: ConfigKeys, file: GGUFFile, head_dim: int, *, theta_key: str = "rope.freq_base") -> Rope:
    """The rotary embedding of a GGUF file; factors of Llama 3 and LongRoPE are in separate tensors."""
    theta = keys.number(theta_key, "rope_theta", DEFAULT_THETA)
    rotary_dim = keys.integer("rope.dimension_count", "head_dim", head_dim)
    keys.require(rotary_dim % 2 == 0, "rope.dimension_count", "an even number")
    with _naming(keys.path):
        return _usable(Rope(theta, rotary_dim, _scaling_of_gguf(keys, file)))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the name of the file to errors of ropes and scalings."""
    try:
        yield
    except ModelFileInvalid as error:
        if error.param is not None:
            raise
        raise invalid(path, error.message) from error


def _usable(rope: Rope) -> Rope:
    rope.frequencies()  # raises for factors of another number of pairs
    return rope


def _kind(keys: ConfigKeys) -> Any:
    return keys.get("rope_type") or keys.get("type")


def _scaling(keys: ConfigKeys, scaling: ConfigKeys, *, is_nested: bool) -> RopeScaling | None:
    context = keys.integer("max_position_embeddings", "max_context", 2048)

    def number(key: str, default: float | None = None) -> float:
        return scaling.number(key, "factor", default)

    def optional(key: str) -> float | None:
        return number(key) if scaling.get(key) is not None else None

    def original_context() -> int:
        key = "original_max_position_embeddings"
        given = scaling.integer(key, "max_context", context)
        return given if is_nested else keys.integer(key, "max_context", given)

    match _kind(scaling):
        case None | "default":
            return None
        case "linear":
            return LinearScaling(number("factor"))
        case "proportional" if is_nested:
            part = scaling.get("partial_rotary_factor")
            return ProportionalScaling(1.0 if part is None else float(part), number("factor", 1.0))
        case "llama3":
            return Llama3Scaling(
                number("factor"),
                number("low_freq_factor"),
                number("high_freq_factor"),
                original_context(),
            )
        case "yarn":
            if is_nested:  # transformers looks for it one level above
                scaling.require_one_of("truncate", True, None)
            return YarnScaling(
                factor=number("factor"),
                original_context=original_context(),
                beta_fast=number("beta_fast", 32.0),
                beta_slow=number("beta_slow", 1.0),
                mscale=optional("mscale"),
                mscale_all_dim=optional("mscale_all_dim"),
                attention_factor=optional("attention_factor"),
                truncate=scaling.boolean("truncate", default=True),
            )
        case "longrope" | "su":
            original = original_context()
            return LongRopeScaling(
                short_factors=_factors(scaling, "short_factor"),
                long_factors=_factors(scaling, "long_factor"),
                original_context=original,
                factor=number("factor", context / original),
                attention_factor=optional("attention_factor"),
            )
        case other:
            scaling.require(False, "rope_type" if scaling.get("rope_type") else "type", TYPES)
            raise AssertionError(other)


def _scaling_of_gguf(keys: ConfigKeys, file: GGUFFile) -> RopeScaling | None:
    if "rope_freqs.weight" in file.tensors:
        return FactorsScaling(_tensor(file, "rope_freqs.weight"))
    if "rope_factors_short.weight" in file.tensors:
        context = keys.integer("context_length", "max_context")
        original = keys.integer("rope.scaling.original_context_length", "max_context", context)
        given = keys.get("rope.scaling.attn_factor")
        return LongRopeScaling(
            short_factors=_tensor(file, "rope_factors_short.weight"),
            long_factors=_tensor(file, "rope_factors_long.weight"),
            original_context=original,
            factor=context / original,
            attention_factor=None if given is None else keys.number("rope.scaling.attn_factor", "factor"),
        )
    match keys.get("rope.scaling.type"):
        case None | "none":
            return None
        case "linear":
            return LinearScaling(keys.number("rope.scaling.factor", "factor"))
        case "yarn":
            for key in ("attn_factor", "yarn_attn_factor", "yarn_ext_factor"):
                keys.require_one_of(f"rope.scaling.{key}", 1.0, None)
            return YarnScaling(
                factor=keys.number("rope.scaling.factor", "factor"),
                original_context=keys.integer("rope.scaling.original_context_length", "max_context"),
                beta_fast=keys.number("rope.scaling.yarn_beta_fast", "factor", 32.0),
                beta_slow=keys.number("rope.scaling.yarn_beta_slow", "factor", 1.0),
                mscale=1.0,
                mscale_all_dim=keys.number("rope.scaling.yarn_log_multiplier", "growth", 0.0),
            )
        case other:
            keys.require(False, "rope.scaling.type", "none, linear, yarn")
            raise AssertionError(other)


def _factors(keys: ConfigKeys, key: str) -> tuple[float, ...]:
    values = keys.get(key)
    is_list = isinstance(values, list) and all(map(is_finite, values))
    keys.require(is_list, key, "a list of numbers")
    return tuple(float(value) for value in values)


def _tensor(file: GGUFFile, name: str) -> tuple[float, ...]:
    if name not in file.tensors:
        raise invalid(file.path, f"tensor {name!r} is missing")
    return tuple(np.ravel(file.read_tensor(name)).tolist())
