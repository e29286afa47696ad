"""The text parts of models with images, and keys of config.json beside them."""

from __future__ import annotations

from typing import Any

from tests.differential.qwen_encoders import QWEN_TYPES

TEXTS = {
    **{"gemma3": ("gemma3_text",), "gemma4": ("gemma4_text",), "mistral3": ("ministral3", "ministral3", "mistral")},
    **{"smolvlm": ("llama",), "idefics3": ("llama",), "lfm2_vl": ("lfm2",), "lfm3_vl": ("lfm3",)},
    **{model_type: (text_type,) for model_type, text_type in QWEN_TYPES.items()},
}
"""The types of the text part of models with images."""

VISION = {
    **{"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1},
    **{"image_size": 28, "patch_size": 14},
}
IMAGES: dict[str, dict[str, Any]] = {
    "gemma4": {"vision_config": None, "audio_config": None},
    "gemma3": {"vision_config": {**VISION, "model_type": "siglip_vision_model"}, "mm_tokens_per_image": 4},
    "mistral3": {"vision_config": {**VISION, "head_dim": 8, "model_type": "pixtral"}},
}
