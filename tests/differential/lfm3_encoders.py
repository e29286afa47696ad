"""Encoders of LFM3-VL, drawn at random."""

from __future__ import annotations

from random import Random
from typing import Any


def drawn_lfm3_encoder(text: dict[str, Any], random: Random) -> dict[str, Any]:
    """The keys above the text's; the placeholder is the last token of the vocabulary."""
    num_kv_heads = random.choice([1, 1, 2, 3])
    num_heads, num_layers = num_kv_heads * random.choice([1, 2, 3]), random.randint(1, 4)
    vision: dict[str, Any] = {
        "model_type": "lfm3_vl_vision",
        "hidden_size": num_heads * random.choice([4, 8, 12, 20]),
        "intermediate_size": random.randint(5, 60),
        "num_hidden_layers": num_layers,
        "num_attention_heads": num_heads,
        "num_key_value_heads": num_kv_heads,
        "patch_size": random.choice([2, 3, 4, 5]),
        "spatial_merge_size": random.choice([1, 2, 2, 3]),
        "temporal_patch_size": random.choice([1, 2, 2, 3]),
        "conv_kernel_size": random.choice([1, 3, 3, 3, 5, 7]),
        "norm_eps": random.choice([1e-6, 1e-5, 1e-3]),
    }
    if random.random() < 0.7:
        vision["layer_types"] = [random.choice(["conv", "conv", "full_attention"]) for _ in range(num_layers)]
    if random.random() < 0.5:
        vision["rope_parameters"] = {"rope_type": "axial", "rope_theta": random.choice([100.0, 50000.0])}
    return {
        "image_token_id": text["vocab_size"] - 1,
        "projector_hidden_size": random.randint(5, 60),
        "projector_hidden_act": random.choice(["gelu", "gelu_pytorch_tanh"]),
        "projector_bias": random.choice([True, False]),
        "vision_config": vision,
    }
