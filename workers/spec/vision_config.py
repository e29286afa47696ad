"""The shape of the encoder of pictures, and the treatment of their pixels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cactus_actors.models.checked_files import invalid, read_json_object
from cactus_actors.protocol.pictures import MAX_PATCHES
from cactus_actors.workers.spec.config_keys import ConfigKeys

Activation = Literal["gelu_pytorch_tanh", "gelu"]
ACTIVATIONS: tuple[Activation, ...] = ("gelu_pytorch_tanh", "gelu")

PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")
"""Files with the numbers of an image processor, the first that is there counts; the second has them in a section."""


class PixelScaling(NamedTuple):
    """A value of a pixel is (byte * rescale - mean) / std, for red, green and blue."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    rescale: float


@dataclass(frozen=True, kw_only=True)
class Projector:
    """A network of two layers from merged patches to the text's hidden states."""

    hidden_size: int
    activation: Activation
    has_bias: bool
    has_norm: bool  # LayerNorm before it


@dataclass(frozen=True, kw_only=True)
class VisionConfig:
    """The shape of an encoder.

    Patches of `patch_size` x `patch_size` pixels have learned positions on a grid of `positions_per_side` squared;
    `merge_size` x `merge_size` patches make one embedding. A patch has a position of the grid (`bucketed`), or one
    between them: the edges of the grid are those of the tile (`interpolated`), or its corners are the outer patches
    (`by_corners`). Or all tiles have the size of the grid (`whole`), or columns and rows have positions of their own
    (`by_axes`).

    With `rotary_theta`, queries and keys also turn by rows and columns; with `turns_apart` by columns in the first half
    of their lanes and by rows in the other one. `feature_layers` are the layers after which
    features are taken, in the order of their tensors; the text's first layers add them to the tokens of the picture,
    those of the first of these layers first (DeepStack: Meng et al. 2024). `conv_layers` have a gated convolution over
    the grid of patches in the place of attention, with `conv_side` squared taps (LFM3-VL).
    """

    image_token_id: int
    hidden_size: int
    ffn_size: int
    num_layers: int
    num_heads: int
    patch_size: int
    positions_per_side: int
    merge_size: int
    norm_eps: float
    activation: Activation
    scaling: PixelScaling
    positions: Literal["bucketed", "interpolated", "by_corners", "whole", "by_axes"] = "bucketed"
    has_channels_last: bool = False  # in the pixels of a patch
    has_square_tiles: bool = True  # of at most the grid of positions
    projector: Projector | None = None
    num_frames: int = 1  # of a patch of a video; a picture is one that stands still
    rotary_theta: float = 0.0
    turns_apart: bool = False
    own_head_dim: int = 0  # where it is not hidden_size / num_heads
    clips: bool = False  # inputs and outputs of products have bounds
    standardises: bool = False  # means of patches are shifted and scaled
    stand_in_id: int | None = None  # the token whose embeddings of each layer placeholders have
    feature_layers: tuple[int, ...] = ()
    num_kv_heads: int = 0  # as many as heads if 0
    conv_layers: tuple[int, ...] = ()
    conv_side: int = 0

    @property
    def head_dim(self) -> int:
        return self.own_head_dim or self.hidden_size // self.num_heads

    @property
    def unit(self) -> int:
        """The side in pixels of the square that becomes one embedding."""
        return self.patch_size * self.merge_size

    @property
    def merged_patches(self) -> int:
        """Patches of one embedding."""
        return self.merge_size**2

    def num_tokens(self, width: int, height: int) -> int | None:
        """The embeddings of a tile of so many pixels; None for tiles that the model does not have."""
        columns, rows = width // self.unit, height // self.unit
        if min(columns, rows) < 1 or (columns * self.unit, rows * self.unit) != (width, height):
            return None
        if self.has_square_tiles and (columns != rows or width > self.positions_per_side * self.patch_size):
            return None
        if self.positions == "by_axes" and max(columns, rows) * self.merge_size > self.positions_per_side:
            return None
        if self.positions == "whole" and columns * self.merge_size != self.positions_per_side:
            return None
        return columns * rows if columns * rows * self.merged_patches <= MAX_PATCHES else None


def vision_from_json(
    keys: ConfigKeys, *, image_token_id: int, merge_size: int, defaults: Mapping[str, Any], **special: Any
) -> VisionConfig:
    """The encoder that the section `vision_config` describes; `special` adds to it.

    `defaults` are those of its class in transformers. With `num_patches` there, the side of the grid of positions is
    its root, else it is that of `image_size`.
    """
    vision = keys.below("vision_config").with_defaults(**defaults)
    vision.require_one_of("num_channels", 3)
    hidden_size, num_heads = (
        vision.integer("hidden_size", "hidden_size"),
        vision.integer("num_attention_heads", "num_heads"),
    )
    vision.require(
        hidden_size % (2 * num_heads) == 0, "num_attention_heads", "heads of equal and even size in hidden_size"
    )
    patch_size = vision.integer("patch_size", "patch_size")
    if "num_patches" in defaults:
        per_side = math.isqrt(vision.integer("num_patches", "num_patches"))
        vision.require(per_side**2 == vision.get("num_patches"), "num_patches", "squares")
    else:
        per_side = vision.integer("image_size", "image_size") // patch_size
        vision.require(per_side >= merge_size, "image_size", "room for one embedding")
    return VisionConfig(
        image_token_id=image_token_id,
        hidden_size=hidden_size,
        ffn_size=vision.integer("intermediate_size", "ffn_size"),
        num_layers=vision.integer("num_hidden_layers", "num_layers"),
        num_heads=num_heads,
        patch_size=patch_size,
        positions_per_side=per_side,
        merge_size=merge_size,
        norm_eps=vision.number("layer_norm_eps", "norm_eps"),
        activation=activation_of(vision, "hidden_act"),
        scaling=pixel_scaling(keys.path.parent),
        **special,
    )


def activation_of(keys: ConfigKeys, key: str) -> Activation:
    """An activation without a gate."""
    keys.require_one_of(key, *ACTIVATIONS)
    return next(each for each in ACTIVATIONS if each == keys.get(key))


def has_processor(directory: Path) -> bool:
    """True if a directory has the numbers of an image processor; without them a model may be served for text alone."""
    preprocessor, processor = (directory / name for name in PROCESSOR_FILES)
    return preprocessor.is_file() or (
        processor.is_file() and read_json_object(processor).get("image_processor") is not None
    )


def pixel_scaling(directory: Path, *, normalises: bool = True, mean: float = 0.5, std: float = 0.5) -> PixelScaling:
    """The numbers of a model's image processor; raises ModelFileInvalid, for a directory without any too.

    The others are the defaults of its class.
    """
    path = next((directory / name for name in PROCESSOR_FILES if (directory / name).is_file()), None)
    if path is None:
        raise invalid(directory / PROCESSOR_FILES[0], "the image processor of a model that reads pictures is missing")
    keys = ConfigKeys(path, read_json_object(path))
    if keys.get("image_processor") is not None:
        keys = keys.below("image_processor")
    rescale = keys.number("rescale_factor", "factor", 1 / 255) if keys.boolean("do_rescale", default=True) else 1.0
    if not keys.boolean("do_normalize", default=normalises):
        return PixelScaling((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), rescale)
    means, deviations = _of_channels(keys, "image_mean", mean), _of_channels(keys, "image_std", std)
    keys.require(min(deviations) > 0, "image_std", "positive numbers")
    return PixelScaling(means, deviations, rescale)


def _of_channels(keys: ConfigKeys, key: str, default: float) -> tuple[float, float, float]:
    red, green, blue = keys.numbers(key, 3, default=default)
    return red, green, blue
