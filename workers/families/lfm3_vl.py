"""LFM3-VL (Liquid AI 2026): LFM3 with an encoder of convolutions and attention over pictures in their own shapes."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import lfm3
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.vision_config import Projector, VisionConfig, activation_of, pixel_scaling
from cactus_actors.workers.vision import lfm3_vision

# Defaults of Lfm3VlConfig and Lfm3VlVisionConfig of transformers for missing keys.
DEFAULTS = {
    "image_token_id": 125030,
    "projector_hidden_act": "gelu",
    "projector_hidden_size": 4096,
    "projector_bias": True,
    "tie_word_embeddings": True,
}
VISION_DEFAULTS = {
    "hidden_size": 1024,
    "intermediate_size": 2560,
    "in_channels": 3,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "num_hidden_layers": 14,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "conv_kernel_size": 3,
    "norm_eps": 1e-5,
}
THETA = 1e6
FULL, CONV = "full_attention", "conv"


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Lfm3VlForConditionalGeneration."""
    keys.require_one_of("auto_map", None)
    keys.require_one_of("quantization_config", None)
    keys = keys.with_defaults(**DEFAULTS)
    # As in transformers, the text part's own key of this name is ignored.
    tied = keys.boolean("tie_word_embeddings", default=True)
    text_keys = keys.below("text_config").replaced(tie_word_embeddings=tied)
    text_keys.require_one_of("model_type", "lfm3", None)
    config = lfm3.read_json(text_keys)
    image_token_id = keys.integer("image_token_id", "token_id")
    if image_token_id >= config.vocab_size:
        raise invalid(keys.path, f"image_token_id {image_token_id} is outside the vocabulary")
    return replace(config, family=FAMILY.name, vision=_encoder(keys, image_token_id))


def _encoder(keys: ConfigKeys, image_token_id: int) -> VisionConfig:
    vision = keys.below("vision_config").with_defaults(**VISION_DEFAULTS)
    vision.require_one_of("in_channels", 3)
    hidden_size = vision.integer("hidden_size", "hidden_size")
    num_heads = vision.integer("num_attention_heads", "num_heads")
    num_kv_heads = vision.integer("num_key_value_heads", "num_kv_heads")
    vision.require(hidden_size % (4 * num_heads) == 0, "num_attention_heads", "heads of a multiple of 4 lanes")
    vision.require_one_of("head_dim", hidden_size // num_heads, None)
    vision.require(num_heads % num_kv_heads == 0, "num_key_value_heads", f"divisors of {num_heads}")
    num_layers = vision.integer("num_hidden_layers", "num_layers")
    side = vision.integer("conv_kernel_size", "num_taps")
    vision.require(side % 2 == 1, "conv_kernel_size", "odd numbers")
    rotary = vision.below("rope_parameters")
    rotary.require_one_of("rope_type", "axial", "default", None)
    patch_size = vision.integer("patch_size", "patch_size")
    return VisionConfig(
        image_token_id=image_token_id,
        hidden_size=hidden_size,
        ffn_size=vision.integer("intermediate_size", "ffn_size"),
        num_layers=num_layers,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        patch_size=patch_size,
        positions_per_side=0,
        merge_size=vision.integer("spatial_merge_size", "merge_size"),
        norm_eps=vision.number("norm_eps", "norm_eps"),
        activation="gelu",  # of the projector alone
        scaling=pixel_scaling(keys.path.parent),
        has_square_tiles=False,
        num_frames=vision.integer("temporal_patch_size", "num_frames"),
        rotary_theta=rotary.number("rope_theta", "rope_theta", THETA),
        conv_layers=_conv_layers(vision, num_layers),
        conv_side=side,
        projector=Projector(
            hidden_size=keys.integer("projector_hidden_size", "ffn_size"),
            activation=activation_of(keys, "projector_hidden_act"),
            has_bias=keys.boolean("projector_bias", default=True),
            has_norm=True,
        ),
    )


def _conv_layers(vision: ConfigKeys, num_layers: int) -> tuple[int, ...]:
    """The layers with a convolution: the first two and every other one, where `layer_types` does not say it."""
    if vision.get("layer_types") is None:
        return tuple(index for index in range(num_layers) if index < 2 or index % 2)
    kinds = vision.strings("layer_types", num_layers)
    vision.require(set(kinds) <= {FULL, CONV}, "layer_types", f"{CONV} and {FULL}")
    return tuple(index for index, kind in enumerate(kinds) if kind == CONV)


def read_gguf(_keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """Refuse the file: the format has no architecture for this family."""
    raise invalid(file.path, "LFM3-VL has no GGUF architecture")


FAMILY = Family(
    name="LFM3-VL",
    examples="LFM3-VL 2B",
    architectures=("Lfm3VlForConditionalGeneration",),
    model_types=("lfm3_vl",),
    gguf_architectures=(),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=lfm3.forward,
    encode=lfm3_vision.encode,
)
