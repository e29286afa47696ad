"""Encoders of Qwen's models, drawn at random, with pictures, and the axes of the text's positions."""

from __future__ import annotations

from random import Random
from typing import Any

from cactus_actors.protocol.pictures import PreparedPicture
from tests.support.models.random_pictures import random_picture

QWEN_TYPES = {name: f"{name}_text" for name in ("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")}
"""Types of the models that are compared with pictures, and of their text parts."""


def drawn_qwen_encoder(model_type: str, text: dict[str, Any], random: Random) -> dict[str, Any]:
    """The keys above the text's; the placeholder is the last token of the vocabulary."""
    num_heads, merging = random.choice([1, 2, 3]), random.choice([1, 2, 2, 3])
    vision: dict[str, Any] = {
        "model_type": random.choice([model_type, f"{model_type}_vision"]),
        "depth": random.randint(1, 4),
        "hidden_size": num_heads * random.choice([4, 8, 12, 16, 20]),
        "intermediate_size": random.randint(5, 60),
        "num_heads": num_heads,
        "patch_size": random.choice([2, 3, 4, 5]),
        "spatial_merge_size": merging,
        "temporal_patch_size": random.choice([1, 2, 2, 3]),
        "out_hidden_size": text["hidden_size"],
        "num_position_embeddings": random.randint(1, 7) ** 2,
        "hidden_act": random.choice(["gelu_pytorch_tanh", "gelu"]),
    }
    if model_type.startswith("qwen3_vl"):
        count = random.randint(0, min(vision["depth"], text["num_hidden_layers"]))
        vision["deepstack_visual_indexes"] = random.sample(range(vision["depth"]), count)
    if random.random() < 0.1:
        vision["rope_parameters"] = {"rope_type": "axial", "rope_theta": random.choice([100.0, 50000.0])}
    return {"image_token_id": text["vocab_size"] - 1, "vision_config": vision}


def drawn_qwen_pictures(vision: dict[str, Any], random: Random) -> tuple[PreparedPicture, ...]:
    """One or two pictures that fit the encoder."""
    unit = vision["spatial_merge_size"] * vision["patch_size"]
    pictures = []
    for _ in range(random.randint(1, 2)):
        columns, rows = random.randint(1, 5), random.randint(1, 5)
        size = (columns * unit, rows * unit, columns * rows)
        pictures.append(random_picture([size], random.randrange(1 << 30)))
    return tuple(pictures)


def with_sections(text: dict[str, Any], random: Random) -> dict[str, Any]:
    """The keys of a text part with the pairs of lanes of each axis, in most cases."""
    key = next((key for key in ("rope_scaling", "rope_parameters") if isinstance(text.get(key), dict)), None)
    if random.random() < 0.2:
        return text
    sections = {"mrope_section": [random.randint(0, 4) for _ in range(3)]}
    if random.random() < 0.5:
        sections["mrope_interleaved"] = True  # type: ignore[assignment]
    if key is None:
        key, sections = "rope_parameters", {"rope_type": "default", **sections}  # type: ignore[dict-item]
    return text | {key: {**(text.get(key) or {}), **sections}}
