"""Random rotary embeddings of all kinds and spellings."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.differential.shape import Shape

THETAS = [100.0, 10000, 10000.0, 500000.0, 1e6]
PARTS = [0.25, 0.5, 0.75, 1.0]
KINDS = ["default", "linear", "llama3", "yarn", "longrope", "dynamic"]


def rope_scaling(random: Random, shape: Shape, kind: str | None = None) -> dict[str, Any]:
    """The value of `rope_scaling`; its factors fit the whole head or the part that is drawn with it."""
    kind = kind or random.choice(KINDS)
    section: dict[str, Any] = {random.choice(["rope_type", "rope_type", "type"]): kind}
    if kind in ("linear", "llama3", "yarn", "dynamic"):
        section["factor"] = random.choice([1.0, 2.0, 4.0, 8.0, 3])
    if kind == "llama3":
        section |= {"low_freq_factor": 1.0, "high_freq_factor": random.choice([2.0, 4.0])}
    if kind == "yarn":
        section |= some(
            random,
            beta_fast=random.choice([32, 16.0, 4]),
            beta_slow=random.choice([1, 2.0]),
            mscale=random.choice([0.707, 1.0]),
            mscale_all_dim=random.choice([0.5, 1.0]),
            attention_factor=random.choice([1.0, 1.3, 0.8]),
            truncate=random.choice([True, False]),
        )
    if kind in ("longrope", "su"):
        num_pairs = random.choice([shape.head_dim // 2, int(shape.head_dim * random.choice(PARTS)) // 2])
        section |= {
            "short_factor": [random.choice([1.0, 1.25, 2]) for _ in range(num_pairs)],
            "long_factor": [random.choice([1.0, 4.0, 16.5]) for _ in range(num_pairs)],
        }
        if random.random() < 0.2:
            section["long_factor"] = section["short_factor"]
        section |= some(random, factor=random.choice([1.0, 4.0, 32.0]), attention_factor=random.choice([1.0, 1.2]))
    if kind in ("llama3", "yarn", "longrope", "su") and random.random() < 0.7:
        section["original_max_position_embeddings"] = random.choice([8, 16, 32, 64])
    return section


def rope_parameters(random: Random, shape: Shape, kind: str | None = None) -> dict[str, Any]:
    """The value of `rope_parameters`: the base is in the same object as the scaling."""
    section = rope_scaling(random, shape, kind)
    section |= some(random, rope_theta=random.choice(THETAS))
    if random.random() < 0.15:
        section["partial_rotary_factor"] = random.choice(PARTS)
    return section


def rope_parameters_by_layer(random: Random, shape: Shape) -> dict[str, Any]:
    """The value of `rope_parameters` if kinds of layers have embeddings of their own."""
    kinds = {kind: rope_parameters(random, shape, "default") for kind in ("full_attention", "sliding_attention")}
    if random.random() < 0.5:
        kinds["full_attention"] = rope_parameters(random, shape)
    if random.random() < 0.15:
        del kinds[random.choice(sorted(kinds))]
    return kinds


def growing_rope_parameters(random: Random, shape: Shape) -> dict[str, Any]:
    """The value of `rope_parameters` with attention temperature scaling by position."""
    kind = random.choice(["yarn", "yarn", "yarn", "default", "linear", "llama3"])
    section = rope_parameters(random, shape, kind)
    return (
        section
        | {"llama_4_scaling_beta": random.choice([0, 0.1, 0.4])}
        | some(random, original_max_position_embeddings=random.choice([4, 16, 4096]))
    )


def proportional_rope_parameters_by_layer(random: Random, shape: Shape) -> dict[str, Any]:
    """The value of `rope_parameters` by kind of layer, with some embeddings that rotate a part of the dimensions."""
    found = {}
    for kind in ("full_attention", "sliding_attention"):
        name = random.choice(["default", "proportional", "proportional", "yarn", "llama3", "linear", None])
        if name == "proportional":
            part = some(random, partial_rotary_factor=random.choice([*PARTS, 0.3]), factor=random.choice([1.0, 4]))
            found[kind] = {"rope_type": name, "rope_theta": random.choice(THETAS)} | part
        elif name is not None:
            found[kind] = rope_parameters(random, shape, name)
    return found


def some(random: Random, **values: Any) -> dict[str, Any]:
    """About half of these keys."""
    return {key: value for key, value in values.items() if random.random() < 0.5}
