"""The shape of an encoder of pictures from the metadata of its GGUF file (mmproj)."""

from __future__ import annotations

import math
from typing import Any

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.mmproj_file import MmprojFile
from cactus_actors.protocol.pictures import MAX_PATCHES
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.vision_config import PixelScaling, VisionConfig


def vision_from_mmproj(keys: ConfigKeys, mmproj: MmprojFile, *, merge_size: int, **special: Any) -> VisionConfig:
    """The encoder that the keys below `clip.vision.` describe; `special` adds to it.

    The side of the grid of positions is that of `image_size`, and heads share the hidden size, unless they are given.
    """
    hidden_size, num_heads = (
        keys.integer("embedding_length", "hidden_size"),
        keys.integer("attention.head_count", "num_heads"),
    )
    has_even_heads = "own_head_dim" in special or hidden_size % (2 * num_heads) == 0
    keys.require(has_even_heads, "attention.head_count", "heads of equal and even size")
    num_layers = keys.integer("block_count", "num_layers")
    keys.require(num_layers <= len(mmproj.file.tensors), "block_count", f"at most {len(mmproj.file.tensors)} tensors")
    patch_size = keys.integer("patch_size", "patch_size")
    per_side = special.pop("positions_per_side", None) or keys.integer("image_size", "image_size") // patch_size
    keys.require(per_side >= merge_size, "image_size", "room for one embedding")
    return VisionConfig(
        image_token_id=mmproj.image_token_id,
        hidden_size=hidden_size,
        ffn_size=keys.integer("feed_forward_length", "ffn_size"),
        num_layers=num_layers,
        num_heads=num_heads,
        patch_size=patch_size,
        positions_per_side=per_side,
        merge_size=merge_size,
        norm_eps=keys.number("attention.layer_norm_epsilon", "norm_eps"),
        activation="gelu_pytorch_tanh",
        scaling=_scaling(keys),
        **special,
    )


def require_gelu(mmproj: MmprojFile) -> None:
    """Refuse another activation than GELU, by its tanh approximation."""
    ConfigKeys(mmproj.file.path, mmproj.file.metadata, "clip.").require_one_of("use_gelu", True)


def num_rows(mmproj: MmprojFile, name: str) -> int:
    """The rows of a matrix."""
    info = mmproj.file.tensors.get(name)
    if info is None or len(info.shape) != 2:
        raise invalid(mmproj.file.path, f"no tensor {name!r} of two dimensions")
    return info.shape[0]


def side_of_positions(mmproj: MmprojFile) -> int:
    """The side of the square grid that the learned positions fill."""
    name = "v.position_embd.weight"
    num_positions = num_rows(mmproj, name)
    side = math.isqrt(num_positions)
    if side**2 != num_positions or num_positions > MAX_PATCHES:
        raise invalid(
            mmproj.file.path, f"tensor {name!r} has {num_positions} rows, not a square of at most {MAX_PATCHES}"
        )
    return side


def _scaling(keys: ConfigKeys) -> PixelScaling:
    mean, std = (_of_channels(keys, key) for key in ("image_mean", "image_std"))
    keys.require(min(std) > 0, "image_std", "positive numbers")
    return PixelScaling(mean, std, 1 / 255)


def _of_channels(keys: ConfigKeys, key: str) -> tuple[float, float, float]:
    keys.require(keys.get(key) is not None, key, "three numbers")
    red, green, blue = keys.numbers(key, 3, default=0.5)
    return red, green, blue
