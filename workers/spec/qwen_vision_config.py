"""The encoder of Qwen3-VL and Qwen3.5 as config.json describes it, and the axes of the text's positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from cactus_actors.models.checked_files import invalid
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.rotary import interleaved_axes
from cactus_actors.workers.spec.vision_config import VisionConfig, activation_of, pixel_scaling

# Defaults of Qwen3VLVisionConfig and Qwen3_5VisionConfig of transformers for missing keys.
DEFAULTS = {
    "depth": 27,
    "hidden_size": 1152,
    "hidden_act": "gelu_pytorch_tanh",
    "intermediate_size": 4304,
    "num_heads": 16,
    "in_channels": 3,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 3584,
    "num_position_embeddings": 2304,
}
FEATURE_LAYERS = [8, 16, 24]
"""Those of Qwen3-VL, where config.json names none."""

NORM_EPS = 1e-6
THETA = 10000.0


def with_pictures(
    keys: ConfigKeys, text_keys: ConfigKeys, config: ModelConfig, *, image_token_id: int, sections: Sequence[int]
) -> ModelConfig:
    """The model with the encoder that `keys` describe; the other arguments are defaults of the family.

    `text_keys` are those of the text part, whose `mrope_section` has the pairs of lanes of each axis.
    """
    image_token_id = keys.integer("image_token_id", "token_id", image_token_id)
    if image_token_id >= config.vocab_size:
        raise invalid(keys.path, f"image_token_id {image_token_id} is outside the vocabulary")
    (rope,) = config.ropes
    axes = interleaved_axes(rope.num_pairs, _sections(text_keys, sections))
    return replace(config, ropes=(replace(rope, axes=axes),), vision=_encoder(keys, config, image_token_id))


def _sections(keys: ConfigKeys, default: Sequence[int]) -> list[int]:
    older, newer = keys.below("rope_scaling"), keys.below("rope_parameters")
    parameters = older if older.values else newer
    found = default if parameters.get("mrope_section") is None else parameters.get("mrope_section")
    numbers = found if isinstance(found, list | tuple) else ()
    is_valid = len(numbers) == 3 and all(type(one) is int and one >= 0 for one in numbers)
    parameters.require(is_valid, "mrope_section", "the numbers of pairs of three axes")
    parameters.require_one_of("mrope_interleaved", True, None)
    return list(numbers)


def _encoder(keys: ConfigKeys, config: ModelConfig, image_token_id: int) -> VisionConfig:
    vision = keys.below("vision_config").with_defaults(**DEFAULTS)
    vision.require_one_of("in_channels", 3)
    vision.require_one_of("out_hidden_size", config.hidden_size)
    hidden_size, num_heads = vision.integer("hidden_size", "hidden_size"), vision.integer("num_heads", "num_heads")
    vision.require(hidden_size % (4 * num_heads) == 0, "num_heads", "heads in hidden_size of a multiple of 4 lanes")
    vision.require_one_of("head_dim", hidden_size // num_heads, None)
    per_side = math.isqrt(vision.integer("num_position_embeddings", "num_patches"))
    vision.require(per_side**2 == vision.get("num_position_embeddings"), "num_position_embeddings", "squares")
    num_layers = vision.integer("depth", "num_layers")
    for key, same in (("num_hidden_layers", num_layers), ("num_attention_heads", num_heads)):
        vision.require_one_of(key, same, None)  # other names of the same
    rotary = vision.below("rope_parameters")
    rotary.require_one_of("rope_type", "axial", "default", None)
    return VisionConfig(
        image_token_id=image_token_id,
        hidden_size=hidden_size,
        ffn_size=vision.integer("intermediate_size", "ffn_size"),
        num_layers=num_layers,
        num_heads=num_heads,
        patch_size=vision.integer("patch_size", "patch_size"),
        positions_per_side=per_side,
        merge_size=vision.integer("spatial_merge_size", "merge_size"),
        norm_eps=NORM_EPS,
        activation=activation_of(vision, "hidden_act"),
        scaling=pixel_scaling(keys.path.parent),
        positions="by_corners",
        has_square_tiles=False,
        num_frames=vision.integer("temporal_patch_size", "num_frames"),
        rotary_theta=rotary.number("rope_theta", "rope_theta", THETA),
    )


def feature_layers(keys: ConfigKeys, config: ModelConfig) -> tuple[int, ...]:
    """The layers of the encoder whose features the first layers of the text add."""
    vision = keys.below("vision_config").with_defaults(deepstack_visual_indexes=FEATURE_LAYERS)
    assert config.vision is not None, "the encoder has been read"
    layers = vision.indices("deepstack_visual_indexes", config.vision.num_layers)
    is_valid = len(set(layers)) == len(layers) <= config.num_layers
    vision.require(is_valid, "deepstack_visual_indexes", f"at most {config.num_layers} different layers")
    return tuple(layers)
