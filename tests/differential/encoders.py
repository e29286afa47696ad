"""Encoders of pictures, drawn at random, and a picture for each."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from cactus_actors.protocol.pictures import PreparedPicture
from tests.differential.lfm3_encoders import drawn_lfm3_encoder
from tests.differential.qwen_encoders import QWEN_TYPES, drawn_qwen_encoder, drawn_qwen_pictures
from tests.support.models.random_pictures import TileSize, image_token_id_of, prompt_with, random_picture

PROCESSOR = {
    "do_normalize": True,
    "image_mean": [0.5, 0.45, 0.4],
    "image_std": [0.5, 0.25, 0.3],
    "rescale_factor": 1 / 255,
}
"""The preprocessor_config.json of each encoder."""

NAMES_OF_MERGING = {"idefics3": "scale_factor", "smolvlm": "scale_factor", "lfm2_vl": "downsample_factor"}
"""The key with the side of merged patches, by type of model."""

WITH_PICTURES = {*NAMES_OF_MERGING, *QWEN_TYPES, "gemma3", "gemma4", "lfm3_vl"}
"""The types of models that are compared with pictures."""


@dataclass(frozen=True)
class Encoder:
    """The keys of config.json above the text's, and pictures that fit them."""

    keys: dict[str, Any]
    pictures: tuple[PreparedPicture, ...]

    def prompt(self, text: tuple[int, ...]) -> tuple[int, ...]:
        """Placeholders between the tokens of a text."""
        num_tiles = sum(len(picture.tiles) for picture in self.pictures)
        text = text[-1:] * max(0, num_tiles - len(text)) + text
        return tuple(prompt_with(self.pictures, image_token_id_of(self.keys), text))


def drawn_encoder(model_type: str, text: dict[str, Any], random: Random) -> Encoder:
    """An encoder of odd sizes for such a text part; its placeholder is the last token of the vocabulary."""
    vocab_size = text["vocab_size"]
    if model_type in QWEN_TYPES or model_type == "lfm3_vl":
        is_qwen = model_type in QWEN_TYPES
        keys = drawn_qwen_encoder(model_type, text, random) if is_qwen else drawn_lfm3_encoder(text, random)
        return Encoder(keys, drawn_qwen_pictures(keys["vision_config"], random))
    if model_type == "gemma4":
        return _drawn_gemma4_encoder(vocab_size, random)
    merging, patch_size = random.choice([1, 2, 2, 3]), random.choice([2, 3, 4, 5])
    per_side = merging * random.randint(1, 4)
    num_heads = random.choice([1, 2, 3])
    vision: dict[str, Any] = {
        "hidden_size": num_heads * random.choice([4, 6, 8, 12, 16]),
        "intermediate_size": random.randint(5, 60),
        "num_hidden_layers": random.randint(1, 3),
        "num_attention_heads": num_heads,
        "patch_size": patch_size,
        "hidden_act": random.choice(["gelu_pytorch_tanh", "gelu"]),
        "layer_norm_eps": random.choice([1e-6, 1e-5, 1e-3]),
    }
    if model_type == "gemma3":
        side = per_side // merging
        vision |= {"model_type": "siglip_vision_model", "image_size": per_side * patch_size, "vision_use_head": False}
        above: dict[str, Any] = {"image_token_index": vocab_size - 1, "mm_tokens_per_image": side**2}
        sizes = [_size(side, side, merging * patch_size)] * random.randint(1, 3)
        return Encoder(above | {"vision_config": vision}, (random_picture(sizes, random.randrange(1 << 30)),))
    above = {"image_token_id": vocab_size - 1, NAMES_OF_MERGING[model_type]: merging}
    if model_type == "lfm2_vl":
        above |= {
            "projector_hidden_size": random.randint(5, 60),
            "projector_hidden_act": random.choice(["gelu", "gelu_pytorch_tanh"]),
            "projector_bias": random.choice([True, False]),
            "projector_use_layernorm": random.choice([True, False]),
        }
        vision |= {"model_type": "siglip2_vision_model", "num_patches": per_side**2}
        vision |= {"vision_use_head": random.choice([True, False])}
        # torch resizes positions wrongly to a grid of one column: every row becomes the mean of the first one.
        fewest = 2 if merging == 1 else 1
        sizes = [_size(random.randint(fewest, 4), random.randint(1, 4), merging * patch_size) for _ in range(2)]
    else:
        vision |= {"model_type": f"{model_type}_vision", "image_size": per_side * patch_size}
        side = random.randint(1, per_side // merging)
        sizes = [_size(side, side, merging * patch_size)] * random.randint(1, 3)
    return Encoder(above | {"vision_config": vision}, (random_picture(sizes, random.randrange(1 << 30)),))


def _drawn_gemma4_encoder(vocab_size: int, random: Random) -> Encoder:
    merging, patch_size = random.choice([2, 2, 3]), random.choice([2, 3, 4, 5])
    num_kv_heads = random.choice([1, 2, 3])
    vision = {
        "model_type": "gemma4_vision",
        "hidden_size": random.choice([10, 24, 36, 48]),
        "intermediate_size": random.randint(5, 60),
        "num_hidden_layers": random.randint(1, 3),
        "num_attention_heads": num_kv_heads * random.choice([1, 2]),
        "num_key_value_heads": num_kv_heads,
        "head_dim": random.choice([4, 8, 12, 20, 36]),
        "patch_size": patch_size,
        "pooling_kernel_size": merging,
        "position_embedding_size": merging * random.randint(5, 9),
        "rms_norm_eps": random.choice([1e-6, 1e-5, 1e-3]),
        "use_clipped_linears": random.choice([True, False]),
        "standardize": random.choice([True, False]),
        "rope_parameters": {"rope_type": "axial", "rope_theta": random.choice([100.0, 10000.0])},
    }
    sizes = [_size(random.randint(1, 5), random.randint(1, 5), merging * patch_size) for _ in range(2)]
    pictures = tuple(random_picture([size], random.randrange(1 << 30)) for size in sizes)
    return Encoder({"image_token_id": vocab_size - 1, "vision_config": vision}, pictures)


def _size(columns: int, rows: int, unit: int) -> TileSize:
    return columns * unit, rows * unit, columns * rows
