"""Reads PictureConfig from the file of an encoder (mmproj), for each kind of projector.

A value without a key is that of the released models, as in llama.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cactus_actors.protocol.pictures import MAX_PATCHES
from cactus_actors.vision.config_section import ConfigSection
from cactus_actors.vision.picture_config import PictureConfig, Resampling

if TYPE_CHECKING:  # a model in a directory needs no gguf
    from cactus_actors.models.mmproj_file import MmprojFile

PREFIX = "clip.vision."


def picture_config_of_mmproj(mmproj: MmprojFile) -> PictureConfig:
    """The picture settings of an encoder; raises ModelFileInvalid with the key of an unsupported value."""
    values = {
        key.removeprefix(PREFIX): value if isinstance(value, int | float | str | list) else value.tolist()
        for key, value in mmproj.file.metadata.items()
        if key.startswith(PREFIX)
    }
    vision = ConfigSection(mmproj.file.path, values, PREFIX)
    return READERS[mmproj.projector](vision, mmproj)


def _idefics3(vision: ConfigSection, mmproj: MmprojFile) -> PictureConfig:
    patch_size, merge_size = vision.integer("patch_size"), vision.integer("projector.scale_factor")
    tile_size = _tile_size(vision, patch_size, merge_size)
    return PictureConfig(
        family="idefics3",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=mmproj.image_token_id,
        tile_size=tile_size,
        longest_edge=vision.integer("preproc_image_size", 4 * tile_size),
        splits=True,
        **_values(vision, "lanczos"),
    )


def _lfm2(vision: ConfigSection, mmproj: MmprojFile) -> PictureConfig:
    patch_size, merge_size = vision.integer("patch_size"), vision.integer("projector.scale_factor")
    unit, tile_size = patch_size * merge_size, 512
    if tile_size % unit:
        raise vision.refused("patch_size", f"tiles of {tile_size} pixels are no multiple of {unit}")
    return PictureConfig(
        family="lfm2_vl",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=mmproj.image_token_id,
        tile_size=tile_size,
        splits=True,
        has_thumbnail=True,
        min_tiles=2,
        max_tiles=10,
        min_pixels=64 * unit**2,
        max_pixels=256 * unit**2,
        tolerance=2.0,
        **_values(vision, "bilinear"),
    )


def _gemma3(vision: ConfigSection, mmproj: MmprojFile) -> PictureConfig:
    patch_size, merge_size = vision.integer("patch_size"), vision.integer("projector.scale_factor", 4)
    tile_size = _tile_size(vision, patch_size, merge_size)
    return PictureConfig(
        family="gemma3",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=mmproj.image_token_id,
        **_ids_around(mmproj),
        tile_size=tile_size,
        max_tiles=4,
        min_crop_side=256,
        tolerance=1.2,
        **_values(vision, "bilinear"),
    )


def _gemma4(vision: ConfigSection, mmproj: MmprojFile) -> PictureConfig:
    patch_size, merge_size = vision.integer("patch_size"), vision.integer("projector.scale_factor", 3)
    num_tokens = 280
    if num_tokens * merge_size**2 > MAX_PATCHES:
        raise vision.refused("projector.scale_factor", f"pictures of more than {MAX_PATCHES} patches are not supported")
    return PictureConfig(
        family="gemma4",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=mmproj.image_token_id,
        **_ids_around(mmproj),
        max_pixels=num_tokens * (patch_size * merge_size) ** 2,
        **_values(vision, "bicubic"),
    )


def _qwen3vl(vision: ConfigSection, mmproj: MmprojFile) -> PictureConfig:
    patch_size, merge_size = vision.integer("patch_size"), vision.integer("spatial_merge_size", 2)
    unit = patch_size * merge_size
    return PictureConfig(
        family="qwen_vl",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=mmproj.image_token_id,
        **_ids_around(mmproj),
        min_pixels=vision.integer("image_min_pixels", 64 * unit**2),
        max_pixels=vision.integer("image_max_pixels", 16384 * unit**2),
        **_values(vision, "bicubic"),
    )


def _tile_size(vision: ConfigSection, patch_size: int, merge_size: int) -> int:
    """The side of a tile, in pixels: whole groups of merged patches."""
    tile_size = vision.integer("image_size")
    if tile_size % (patch_size * merge_size):
        raise vision.refused("image_size", f"not a multiple of {patch_size} (a patch) * {merge_size} (scale_factor)")
    return tile_size


def _ids_around(mmproj: MmprojFile) -> dict[str, Any]:
    """The tokens before and after a picture."""
    start, end = mmproj.ids_around
    return {"start_token_id": start, "end_token_id": end}


def _values(vision: ConfigSection, resampling: Resampling) -> dict[str, Any]:
    """The settings of the filter and of the normalisation."""
    mean, std = (vision.channels(key) for key in ("image_mean", "image_std"))
    if min(std) <= 0:
        raise vision.refused("image_std", "expected positive numbers")
    return {"resampling": resampling, "rescale": 1 / 255, "mean": mean, "std": std}


READERS: Mapping[str, Callable[[ConfigSection, MmprojFile], PictureConfig]] = {
    "idefics3": _idefics3,
    "lfm2": _lfm2,
    "gemma3": _gemma3,
    "gemma4v": _gemma4,
    "qwen3vl_merger": _qwen3vl,
}
"""By `clip.projector_type`, which models/mmproj_file.py has checked."""
