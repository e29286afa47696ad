"""The tiny checkpoints that read pictures: what their files say, and the pictures of their prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tests.support.models.random_pictures import TileSize


@dataclass(frozen=True)
class PictureFamily:
    """One checkpoint; `pictures` has width, height and number of embeddings of each tile of each picture."""

    name: str
    stands_for: str
    storage: Literal["bfloat16", "float16"]
    config: dict[str, Any]
    processor: dict[str, Any]
    pictures: tuple[tuple[TileSize, ...], ...]
    text_length: int


LLAMA = {
    "model_type": "llama",
    "hidden_act": "silu",
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
PICTURE_FAMILIES = (
    PictureFamily(
        name="smolvlm",
        stands_for="SmolVLM, SmolVLM2: pixel shuffle of nine patches, two query heads per key-value head, untied",
        storage="bfloat16",
        config={
            "architectures": ["SmolVLMForConditionalGeneration"],
            "model_type": "smolvlm",
            "image_token_id": 250,
            "scale_factor": 3,
            "tie_word_embeddings": False,
            "text_config": {
                **LLAMA,
                "vocab_size": 260,
                "hidden_size": 32,
                "intermediate_size": 50,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "head_dim": 12,
            },
            "vision_config": {
                "model_type": "smolvlm_vision",
                "hidden_size": 24,
                "intermediate_size": 40,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": 24,
                "patch_size": 4,
            },
        },
        processor={"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255},
        pictures=(((24, 24, 4),) * 3, ((24, 24, 4),)),
        text_length=19,
    ),
    PictureFamily(
        name="idefics3",
        stands_for="Idefics3: tied, tiles smaller than the grid of learned positions, exact GELU in the encoder",
        storage="float16",
        config={
            "architectures": ["Idefics3ForConditionalGeneration"],
            "model_type": "idefics3",
            "image_token_id": 199,
            "scale_factor": 2,
            "tie_word_embeddings": True,
            "text_config": {
                **LLAMA,
                "vocab_size": 203,
                "hidden_size": 40,
                "intermediate_size": 60,
                "num_hidden_layers": 2,
                "num_attention_heads": 5,
                "num_key_value_heads": 5,
                "rms_norm_eps": 1e-6,
            },
            "vision_config": {
                "model_type": "idefics3_vision",
                "hidden_size": 36,
                "intermediate_size": 46,
                "num_hidden_layers": 2,
                "num_attention_heads": 3,
                "image_size": 30,
                "patch_size": 3,
                "hidden_act": "gelu",
                "layer_norm_eps": 1e-5,
            },
        },
        processor={
            "image_mean": [0.48, 0.45, 0.4],
            "image_std": [0.26, 0.27, 0.28],
            "rescale_factor": 1 / 255,
        },
        pictures=(((18, 18, 9),), ((18, 18, 9),) * 2),
        text_length=24,
    ),
    PictureFamily(
        name="smolvlm-large",
        stands_for="tiles of more patches than one part of the encoder computes, one key-value head, no pixel shuffle",
        storage="bfloat16",
        config={
            "architectures": ["Idefics3ForConditionalGeneration"],
            "model_type": "idefics3",
            "image_token_id": 150,
            "scale_factor": 1,
            "tie_word_embeddings": False,
            "text_config": {
                **LLAMA,
                "vocab_size": 160,
                "hidden_size": 54,
                "intermediate_size": 44,
                "num_hidden_layers": 2,
                "num_attention_heads": 3,
                "num_key_value_heads": 1,
                "head_dim": 16,
                "rope_theta": 100000.0,
            },
            "vision_config": {
                "model_type": "idefics3_vision",
                "hidden_size": 36,
                "intermediate_size": 52,
                "num_hidden_layers": 2,
                "num_attention_heads": 1,
                "image_size": 26,
                "patch_size": 2,
            },
        },
        processor={"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "do_rescale": True},
        pictures=(((26, 26, 169),),),
        text_length=11,
    ),
    PictureFamily(
        name="lfm2vl",
        stands_for="LFM2-VL: tiles of any shape, interpolated positions, a projector with a LayerNorm",
        storage="bfloat16",
        config={
            "architectures": ["Lfm2VlForConditionalGeneration"],
            "model_type": "lfm2_vl",
            "image_token_id": 170,
            "downsample_factor": 2,
            "projector_hidden_act": "gelu",
            "projector_hidden_size": 42,
            "projector_bias": True,
            "projector_use_layernorm": True,
            "tie_word_embeddings": True,
            "text_config": {
                "model_type": "lfm2",
                "vocab_size": 180,
                "hidden_size": 40,
                "intermediate_size": 60,
                "block_auto_adjust_ff_dim": False,
                "num_hidden_layers": 3,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "layer_types": ["conv", "full_attention", "conv"],
                "conv_L_cache": 3,
                "conv_bias": False,
                "max_position_embeddings": 512,
                "norm_eps": 1e-5,
                "rope_theta": 1000000.0,
                "bos_token_id": 1,
                "eos_token_id": 2,
                "pad_token_id": 0,
            },
            "vision_config": {
                "model_type": "siglip2_vision_model",
                "hidden_size": 28,
                "intermediate_size": 52,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "num_patches": 25,
                "patch_size": 4,
                "vision_use_head": False,
            },
        },
        processor={"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255},
        pictures=(((32, 16, 8), (24, 56, 21)), ((40, 40, 25),)),
        text_length=21,
    ),
)
