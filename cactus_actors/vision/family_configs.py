"""Reads PictureConfig from config.json and the processor's files, for each family.

Keys and defaults are those of transformers' image processors (Idefics3ImageProcessor, Lfm2VlImageProcessor,
Qwen2VLImageProcessor, Gemma3ImageProcessor, Gemma4ImageProcessor) and of the models' configurations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args

from cactus_actors.models.checked_files import read_json_object
from cactus_actors.protocol.pictures import MAX_PATCHES
from cactus_actors.vision.config_section import ConfigSection
from cactus_actors.vision.picture_config import PictureConfig, Resampling

MAX_TILES = 100

_HALF = (0.5, 0.5, 0.5)
_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
_CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
_RESAMPLINGS: tuple[Resampling, ...] = get_args(Resampling)
_LANCZOS, _BILINEAR, _BICUBIC = 1, 2, 3
"""Pillow numbers its filters in this order."""
_SOFT_TOKENS = (70, 140, 280, 560, 1120)
_ALSO_FOR_TEXT = ("gemma3", "gemma4")
"""Models of these types are served for text alone if they have no image processor."""
_QWEN_IMAGE_IDS = {"lfm3_vl": 125030, "qwen3_5": 248056, "qwen3_5_moe": 248056}
_QWEN_IDS_AROUND = {"qwen3_5": (248053, 248054), "qwen3_5_moe": (248053, 248054)}


class _Files(NamedTuple):
    """config.json, and the settings of the model's processor for pictures and for their text."""

    model: ConfigSection
    pictures: ConfigSection
    text: ConfigSection


def picture_config_of(directory: Path) -> PictureConfig | None:
    """The picture settings of the model in `directory`; None for a model of another family, or for text alone.

    Raises ModelFileInvalid with the key of an unsupported value.
    """
    path = directory / "config.json"
    values = read_json_object(path)
    read = _READERS.get(str(values.get("model_type")))
    if read is None or not isinstance(values.get("vision_config"), dict):
        return None
    text_path, picture_path = directory / "processor_config.json", directory / "preprocessor_config.json"
    text = read_json_object(text_path) if text_path.is_file() else {}
    pictures: Any = text.get("image_processor")
    if values["model_type"] in _ALSO_FOR_TEXT and pictures is None and not picture_path.is_file():
        return None
    if isinstance(pictures, dict):  # as transformers 5 writes it
        section = ConfigSection(text_path, pictures, "image_processor.")
    else:
        section = ConfigSection(picture_path, read_json_object(picture_path))
    files = _Files(ConfigSection(path, values), section, ConfigSection(text_path, text))
    if not section.flag("do_resize", True):
        raise section.refused("do_resize", "pictures are always resized")
    return read(files)


def _idefics3(files: _Files) -> PictureConfig:
    model, pictures, text = files
    patch_size = model.part("vision_config").side("patch_size", 32)
    merge_size = model.integer("scale_factor", 2)
    tiles, size = pictures.part("max_image_size"), pictures.part("size")
    if size.has("height") or size.has("width"):
        raise pictures.refused("size", "expected longest_edge")
    tile_size = tiles.integer("longest_edge", 364)
    if tile_size % (patch_size * merge_size):
        raise tiles.refused("longest_edge", f"not a multiple of {patch_size} (a patch) * {merge_size} (scale_factor)")
    num_tokens = (tile_size // (patch_size * merge_size)) ** 2
    if text.has("image_seq_len") and text.integer("image_seq_len", num_tokens) != num_tokens:
        raise text.refused("image_seq_len", f"a tile of {tile_size} x {tile_size} pixels has {num_tokens} tokens")
    return PictureConfig(
        family="idefics3",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=model.integer("image_token_id", 128257),
        tile_size=tile_size,
        longest_edge=size.integer("longest_edge", 4 * 364),
        splits=pictures.flag("do_image_splitting", True),
        **_values(pictures, _LANCZOS, _HALF, _HALF),
    )


def _lfm2_vl(files: _Files) -> PictureConfig:
    model, pictures, text = files
    patch_size = pictures.integer("encoder_patch_size", 16)
    merge_size = pictures.integer("downsample_factor", 2)
    if model.integer("downsample_factor", 2) != merge_size:
        raise pictures.refused("downsample_factor", "config.json has another one")
    if model.part("vision_config").side("patch_size", patch_size) != patch_size:
        raise pictures.refused("encoder_patch_size", "config.json has another vision_config.patch_size")
    unit = patch_size * merge_size
    tile_size = pictures.integer("tile_size", 512)
    if tile_size % unit:
        raise pictures.refused("tile_size", f"not a multiple of {unit}, the side of a token")
    min_tiles, max_tiles = pictures.integer("min_tiles", 2), pictures.integer("max_tiles", 10)
    if not min_tiles <= max_tiles <= MAX_TILES:
        raise pictures.refused("max_tiles", f"expected {min_tiles} (min_tiles) to {MAX_TILES}")
    splits = pictures.flag("do_image_splitting", True) and max_tiles > 1
    if splits and min_tiles == 1:
        raise pictures.refused("min_tiles", "expected 2 or more")
    return PictureConfig(
        family="lfm2_vl",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=model.integer("image_token_id", 396),
        tile_size=tile_size,
        splits=splits,
        has_thumbnail=pictures.flag("use_thumbnail", True),
        has_markers=text.flag("use_image_special_tokens", True),
        min_tiles=min_tiles,
        max_tiles=max_tiles,
        min_pixels=pictures.integer("min_image_tokens", 64) * unit**2,
        max_pixels=pictures.integer("max_image_tokens", 256) * unit**2,
        tolerance=pictures.number("max_pixels_tolerance", 2.0),
        **_values(pictures, _BILINEAR, _HALF, _HALF),
    )


def _qwen_vl(files: _Files) -> PictureConfig:
    model, pictures, _ = files
    patch_size, merge_size = pictures.integer("patch_size", 14), pictures.integer("merge_size", 2)
    vision = model.part("vision_config")
    if vision.side("patch_size", patch_size) != patch_size:
        raise pictures.refused("patch_size", "config.json has another vision_config.patch_size")
    if vision.integer("spatial_merge_size", 2) != merge_size:
        raise pictures.refused("merge_size", "config.json has another vision_config.spatial_merge_size")
    if vision.integer("temporal_patch_size", 2) != pictures.integer("temporal_patch_size", 2):
        raise pictures.refused("temporal_patch_size", "config.json has another vision_config.temporal_patch_size")
    size, ids_around = pictures.part("size"), _QWEN_IDS_AROUND.get(model.text("model_type"), (151652, 151653))
    min_pixels = pictures.integer("min_pixels", size.integer("shortest_edge", 56 * 56))
    max_pixels = pictures.integer("max_pixels", size.integer("longest_edge", 28 * 28 * 1280))
    return PictureConfig(
        family="qwen_vl",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=model.integer("image_token_id", _QWEN_IMAGE_IDS.get(model.text("model_type"), 151655)),
        start_token_id=model.integer("vision_start_token_id", ids_around[0]),
        end_token_id=model.integer("vision_end_token_id", ids_around[1]),
        min_pixels=min_pixels,
        max_pixels=max_pixels,
        **_values(pictures, _BICUBIC, _CLIP_MEAN, _CLIP_STD),
    )


def _gemma3(files: _Files) -> PictureConfig:
    model, pictures, text = files
    vision, size = model.part("vision_config"), pictures.part("size")
    patch_size, image_size = vision.side("patch_size", 16), vision.side("image_size", 224)
    if size.integer("height", 224) != image_size or size.integer("width", 224) != image_size:
        raise pictures.refused("size", f"the encoder takes {image_size} x {image_size} pixels")
    num_tokens = model.integer("mm_tokens_per_image", 256)
    if text.has("image_seq_length") and text.integer("image_seq_length", 256) != num_tokens:
        raise text.refused("image_seq_length", f"mm_tokens_per_image of config.json is {num_tokens}")
    side = math.isqrt(num_tokens)
    if side**2 != num_tokens or image_size % (patch_size * side):
        why = f"not a square that divides {image_size // patch_size} patches per side"
        raise model.refused("mm_tokens_per_image", why)
    return PictureConfig(
        family="gemma3",
        patch_size=patch_size,
        merge_size=image_size // (patch_size * side),
        image_token_id=model.integer("image_token_index", model.integer("image_token_id", 262144)),
        start_token_id=model.integer("boi_token_index", model.integer("boi_token_id", 255999)),
        end_token_id=model.integer("eoi_token_index", model.integer("eoi_token_id", 256000)),
        tile_size=image_size,
        splits=pictures.flag("do_pan_and_scan", False),
        max_tiles=_max_crops(pictures),
        min_crop_side=pictures.integer("pan_and_scan_min_crop_size", 256),
        tolerance=pictures.number("pan_and_scan_min_ratio_to_activate", 1.2),
        **_values(pictures, _BILINEAR, _HALF, _HALF),
    )


def _max_crops(pictures: ConfigSection) -> int:
    count = pictures.integer("pan_and_scan_max_num_crops", 4)
    if count > MAX_TILES:
        raise pictures.refused("pan_and_scan_max_num_crops", f"expected 1 to {MAX_TILES}")
    return count


def _gemma4(files: _Files) -> PictureConfig:
    model, pictures, _ = files
    vision = model.part("vision_config")
    patch_size, merge_size = pictures.integer("patch_size", 16), pictures.integer("pooling_kernel_size", 3)
    if vision.side("patch_size", 16) != patch_size:
        raise pictures.refused("patch_size", "config.json has another vision_config.patch_size")
    if vision.integer("pooling_kernel_size", 3) != merge_size:
        raise pictures.refused("pooling_kernel_size", "config.json has another vision_config.pooling_kernel_size")
    num_tokens = pictures.choice("max_soft_tokens", _SOFT_TOKENS) if pictures.has("max_soft_tokens") else 280
    if num_tokens * merge_size**2 > MAX_PATCHES:
        raise pictures.refused("max_soft_tokens", f"pictures of more than {MAX_PATCHES} patches are not supported")
    return PictureConfig(
        family="gemma4",
        patch_size=patch_size,
        merge_size=merge_size,
        image_token_id=model.integer("image_token_id", 258880),
        start_token_id=model.integer("boi_token_id", 255999),
        end_token_id=model.integer("eoi_token_id", 258882),
        max_pixels=num_tokens * (patch_size * merge_size) ** 2,
        **_values(pictures, _BICUBIC, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), normalises=False),
    )


def _values(
    pictures: ConfigSection,
    resampling: int,
    mean: tuple[float, float, float],
    std: tuple[float, float, float],
    *,
    normalises: bool = True,
) -> dict[str, Any]:
    """The settings of the filter and of the normalisation; the arguments are the family's defaults."""
    if pictures.has("resample"):
        resampling = pictures.choice("resample", range(len(_RESAMPLINGS)))
    is_normalised = pictures.flag("do_normalize", normalises)
    if is_normalised:
        mean, std = pictures.channels("image_mean", mean), pictures.channels("image_std", std)
        if min(std) <= 0:
            raise pictures.refused("image_std", "expected positive numbers")
    else:
        mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    return {
        "resampling": _RESAMPLINGS[resampling],
        "rescale": pictures.number("rescale_factor", 1 / 255) if pictures.flag("do_rescale", True) else 1.0,
        "mean": mean,
        "std": std,
    }


_READERS: dict[str, Callable[[_Files], PictureConfig]] = {
    "idefics3": _idefics3,
    "smolvlm": _idefics3,
    "lfm2_vl": _lfm2_vl,
    "lfm3_vl": _qwen_vl,
    "qwen2_vl": _qwen_vl,
    "qwen2_5_vl": _qwen_vl,
    "qwen3_vl": _qwen_vl,
    "qwen3_vl_moe": _qwen_vl,
    "qwen3_5": _qwen_vl,
    "qwen3_5_moe": _qwen_vl,
    "gemma3": _gemma3,
    "gemma4": _gemma4,
}
"""Readers by `model_type` of config.json."""
