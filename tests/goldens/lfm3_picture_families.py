"""The tiny checkpoints of LFM3-VL."""

from __future__ import annotations

from typing import Any

from tests.goldens.picture_families import PictureFamily

TEXT: dict[str, Any] = {
    "model_type": "lfm3",
    "conv_L_cache": 5,
    "conv_bias": False,
    "max_position_embeddings": 512,
    "norm_eps": 1e-5,
    "rope_parameters": {
        "full_attention": {"rope_type": "proportional", "rope_theta": 100000.0, "partial_rotary_factor": 0.5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    },
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
SCALES = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255}


def config_of(image_token_id: int, text: dict[str, Any], vision: dict[str, Any], **more: Any) -> dict[str, Any]:
    """config.json; the other special tokens follow the image token."""
    return {
        "architectures": ["Lfm3VlForConditionalGeneration"],
        "model_type": "lfm3_vl",
        "image_token_id": image_token_id,
        "video_token_id": image_token_id + 1,
        "vision_start_token_id": image_token_id + 2,
        "vision_end_token_id": image_token_id + 3,
        **more,
        "text_config": TEXT | text,
        "vision_config": {"model_type": "lfm3_vl_vision", **vision},
    }


LFM3_PICTURE_FAMILIES = (
    PictureFamily(
        name="lfm3vl",
        stands_for="LFM3-VL: convolutions of nine taps, two query heads per key-value head in the encoder, tied",
        storage="bfloat16",
        config=config_of(
            200,
            {
                **{"vocab_size": 210, "hidden_size": 32, "intermediate_size": 44, "head_dim": 12},
                **{"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 24},
                "layer_types": ["conv", "sliding_attention", "conv", "full_attention"],
            },
            {
                **{"hidden_size": 32, "intermediate_size": 44, "patch_size": 4, "spatial_merge_size": 2},
                **{"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "conv_kernel_size": 3},
                **{"temporal_patch_size": 2, "norm_eps": 1e-5, "rope_parameters": {"rope_theta": 1e6}},
            },
            projector_hidden_size=40,
            tie_word_embeddings=True,
        ),
        processor=SCALES,
        pictures=(((32, 16, 8),), ((24, 56, 21),)),
        text_length=19,
    ),
    PictureFamily(
        name="lfm3vl-other",
        stands_for="untied, 25 taps, merges of nine, one frame, one key-value head, attention first, no biases",
        storage="float16",
        config=config_of(
            170,
            {
                **{"vocab_size": 176, "hidden_size": 36, "intermediate_size": 50, "head_dim": 10},
                **{"num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 1, "sliding_window": 9},
                **{"use_sandwich_norm": False, "use_attention_gate": False},
                "layer_types": ["full_attention", "conv", "sliding_attention"],
            },
            {
                **{"hidden_size": 24, "intermediate_size": 30, "patch_size": 3, "spatial_merge_size": 3},
                **{"num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1, "conv_kernel_size": 5},
                **{"temporal_patch_size": 1, "norm_eps": 1e-4, "rope_parameters": {"rope_theta": 1000.0}},
                "layer_types": ["full_attention", "conv", "conv"],
            },
            projector_hidden_size=34,
            projector_bias=False,
            projector_hidden_act="gelu_pytorch_tanh",
            tie_word_embeddings=False,
        ),
        processor={"image_mean": [0.48, 0.45, 0.4], "image_std": [0.26, 0.27, 0.28], "rescale_factor": 1 / 255},
        pictures=(((45, 27, 15),), ((9, 63, 7),)),
        text_length=24,
    ),
    PictureFamily(
        name="lfm3vl-wide",
        stands_for="more patches than one part computes, a network as wide as B, C and x, as many heads as kv heads",
        storage="bfloat16",
        config=config_of(
            150,
            {
                **{"vocab_size": 160, "hidden_size": 40, "intermediate_size": 44, "head_dim": 16},
                **{"num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 3, "sliding_window": 30},
                "layer_types": ["conv", "full_attention"],
            },
            {
                **{"hidden_size": 48, "intermediate_size": 72, "patch_size": 2, "spatial_merge_size": 1},
                **{"num_hidden_layers": 3, "num_attention_heads": 3, "num_key_value_heads": 3, "conv_kernel_size": 3},
                **{"temporal_patch_size": 2, "rope_parameters": {"rope_theta": 10000.0}},
            },
            projector_hidden_size=30,
            tie_word_embeddings=True,
        ),
        processor=SCALES,
        pictures=(((30, 24, 180),),),
        text_length=11,
    ),
)
