"""The config of Gemma 4's encoder of pictures."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.vision_config import PixelScaling, VisionConfig, pixel_scaling

# Defaults of Gemma4VisionConfig of transformers for missing keys.
DEFAULTS = {
    "model_type": "gemma4_vision",
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 16,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "head_dim": 64,
    "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6,
    "pooling_kernel_size": 3,
    "patch_size": 16,
    "position_embedding_size": 10240,
}
THETA = 100.0


def with_pictures(keys: ConfigKeys, text: ModelConfig, pad_token_id: int) -> ModelConfig:
    """The model with the encoder that the section `vision_config` describes.

    `pad_token_id` is the token whose embeddings of each layer the placeholders have.
    """
    image_token_id = keys.integer("image_token_id", "token_id", 258880)
    keys.require(image_token_id < text.vocab_size, "image_token_id", f"tokens of a vocabulary of {text.vocab_size}")
    vision = keys.below("vision_config").with_defaults(**DEFAULTS)
    vision.require_one_of("model_type", "gemma4_vision")
    vision.require_one_of("hidden_activation", "gelu_pytorch_tanh")
    num_heads = vision.integer("num_attention_heads", "num_heads")
    num_kv_heads = vision.integer("num_key_value_heads", "num_kv_heads")
    vision.require(num_heads % num_kv_heads == 0, "num_key_value_heads", f"a divisor of the {num_heads} heads")
    merge_size = vision.integer("pooling_kernel_size", "merge_size")
    # With 1, transformers drops the patches and keeps the padding.
    vision.require(merge_size > 1, "pooling_kernel_size", "numbers from 2 on")
    head_dim = vision.integer("head_dim", "head_dim")
    vision.require(head_dim % 4 == 0, "head_dim", "multiples of 4, for two rotary embeddings")
    return replace(
        text,
        vision=VisionConfig(
            image_token_id=image_token_id,
            hidden_size=vision.integer("hidden_size", "hidden_size"),
            ffn_size=vision.integer("intermediate_size", "ffn_size"),
            num_layers=vision.integer("num_hidden_layers", "num_layers"),
            num_heads=num_heads,
            num_kv_heads=num_kv_heads,
            own_head_dim=head_dim,
            patch_size=vision.integer("patch_size", "patch_size"),
            positions_per_side=vision.integer("position_embedding_size", "num_patches"),
            merge_size=merge_size,
            norm_eps=vision.number("rms_norm_eps", "norm_eps"),
            activation="gelu_pytorch_tanh",
            scaling=_scaling(keys),
            positions="by_axes",
            has_channels_last=True,
            has_square_tiles=False,
            rotary_theta=_theta(vision),
            turns_apart=True,
            clips=vision.boolean("use_clipped_linears", default=False),
            standardises=vision.boolean("standardize", default=False),
            stand_in_id=pad_token_id,
        ),
    )


def _theta(vision: ConfigKeys) -> float:
    if vision.get("rope_parameters") is None:
        return THETA
    rope = vision.below("rope_parameters")
    rope.require_one_of("rope_type", "axial", "default", None)
    return rope.number("rope_theta", "rope_theta", THETA)


def _scaling(keys: ConfigKeys) -> PixelScaling:
    """The scaling of the image processor, which normalises only if asked, and then of the model: 2 * (value - 1/2)."""
    mean, std, rescale = pixel_scaling(keys.path.parent, normalises=False, mean=0.0, std=1.0)
    red, green, blue = (each + spread / 2 for each, spread in zip(mean, std, strict=True))
    halves = std[0] / 2, std[1] / 2, std[2] / 2
    return PixelScaling((red, green, blue), halves, rescale)
