"""The treatment of pictures is read from a model's files; what is not supported is refused by its key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.pictures import MAX_PATCHES
from cactus_actors.vision.families import processor_of
from cactus_actors.vision.family_configs import picture_config_of
from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import PictureProcessor

VISION: dict[str, dict[str, Any]] = {
    "smolvlm": {"patch_size": 16, "image_size": 512},
    "idefics3": {"patch_size": 14, "image_size": 364},
    "lfm2_vl": {"patch_size": 16},
    "qwen3_vl": {"patch_size": 16, "spatial_merge_size": 2},
    "qwen3_5": {"patch_size": 16, "spatial_merge_size": 2},
    "lfm3_vl": {"patch_size": 16, "spatial_merge_size": 2},
    "gemma3": {"patch_size": 14, "image_size": 896},
    "gemma4": {"patch_size": 16, "pooling_kernel_size": 3},
}
PICTURES: dict[str, dict[str, Any]] = {
    "smolvlm": {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}},
    "idefics3": {},
    "lfm2_vl": {},
    "qwen3_vl": {"patch_size": 16, "size": {"shortest_edge": 65536, "longest_edge": 16777216}},
    "qwen3_5": {"patch_size": 16},
    "lfm3_vl": {"patch_size": 16, "min_pixels": 1024, "max_pixels": 4096},
    "gemma3": {"size": {"height": 896, "width": 896}, "do_pan_and_scan": None, "resample": 2},
    "gemma4": {},
}
MODEL: dict[str, dict[str, Any]] = {"smolvlm": {"scale_factor": 4, "image_token_id": 49190}}


def read(directory: Path, model_type: str, changes: dict[str, dict[str, Any]] | None = None) -> PictureConfig | None:
    """The config of files as the models publish them; `changes` are those of a file."""
    changed = changes or {}
    config = {"model_type": model_type, "vision_config": VISION.get(model_type, {}), **MODEL.get(model_type, {})}
    files = {
        "config.json": config | changed.get("config", {}),
        "preprocessor_config.json": PICTURES.get(model_type, {}) | changed.get("preprocessor_config", {}),
        "processor_config.json": changed.get("processor_config", {}),
    }
    for name, values in files.items():
        (directory / name).write_text(json.dumps(values))
    return picture_config_of(directory)


def test_the_published_smolvlm_config_is_read(tmp_path: Path) -> None:
    config = read(tmp_path, "smolvlm", {"processor_config": {"image_seq_len": 64}})
    assert config == PictureConfig(
        family="idefics3",
        patch_size=16,
        merge_size=4,
        image_token_id=49190,
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
        rescale=1 / 255,
        resampling="lanczos",
        tile_size=512,
        longest_edge=2048,
        splits=True,
    )
    assert config.unit == 64


@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        ("idefics3", {"family": "idefics3", "unit": 28, "tile_size": 364, "longest_edge": 1456}),
        (
            "lfm2_vl",
            {"family": "lfm2_vl", "min_pixels": 65536, "max_pixels": 262144, "max_tiles": 10, "tolerance": 2.0},
        ),
        ("qwen3_vl", {"family": "qwen_vl", "unit": 32, "min_pixels": 65536, "max_pixels": 16777216}),
        ("qwen3_5", {"family": "qwen_vl", "image_token_id": 248056, "min_pixels": 3136, "max_pixels": 1003520}),
        ("lfm3_vl", {"family": "qwen_vl", "image_token_id": 125030, "min_pixels": 1024, "max_pixels": 4096}),
        ("gemma3", {"family": "gemma3", "merge_size": 4, "tile_size": 896, "resampling": "bilinear"}),
        (
            "gemma4",
            {"family": "gemma4", "unit": 48, "max_pixels": 280 * 48 * 48, "mean": (0.0,) * 3, "std": (1.0,) * 3},
        ),
    ],
)
def test_published_configs_of_other_families_are_read(
    tmp_path: Path, model_type: str, expected: dict[str, Any]
) -> None:
    config = read(tmp_path, model_type)
    assert {name: getattr(config, name) for name in expected} == expected


def test_picture_settings_may_be_in_the_processor_s_file(tmp_path: Path) -> None:
    nested = {
        "image_processor": {"max_image_size": {"longest_edge": 256}, "do_normalize": False, "rescale_factor": 0.5}
    }
    config = read(tmp_path, "smolvlm", {"processor_config": nested})
    assert config is not None
    assert (config.tile_size, config.mean, config.std, config.rescale) == (256, (0.0,) * 3, (1.0,) * 3, 0.5)
    (tmp_path / "preprocessor_config.json").unlink()
    assert picture_config_of(tmp_path) == config


@pytest.mark.parametrize("model_type", ["gemma3", "gemma4"])
def test_models_of_gemma_without_an_image_processor_are_for_text_alone(tmp_path: Path, model_type: str) -> None:
    assert read(tmp_path, model_type) is not None
    (tmp_path / "preprocessor_config.json").unlink()
    assert picture_config_of(tmp_path) is None
    (tmp_path / "processor_config.json").unlink()
    assert picture_config_of(tmp_path) is None


def test_text_models_and_other_families_have_no_picture_config(tmp_path: Path) -> None:
    assert read(tmp_path, "llama") is None
    assert read(tmp_path, "smolvlm", {"config": {"vision_config": None}}) is None
    assert read(tmp_path, "mllama") is None


@pytest.mark.parametrize(
    ("model_type", "file", "change", "key"),
    [
        ("smolvlm", "preprocessor_config", {"do_resize": False}, "do_resize"),
        ("smolvlm", "preprocessor_config", {"size": {"height": 512, "width": 512}}, "size"),
        ("smolvlm", "preprocessor_config", {"size": 512}, "size"),
        ("smolvlm", "preprocessor_config", {"max_image_size": {"longest_edge": 500}}, "max_image_size.longest_edge"),
        ("smolvlm", "preprocessor_config", {"resample": 6}, "resample"),
        ("smolvlm", "preprocessor_config", {"resample": "3"}, "resample"),
        ("smolvlm", "preprocessor_config", {"image_mean": [0.5]}, "image_mean"),
        ("smolvlm", "preprocessor_config", {"image_std": 0}, "image_std"),
        ("smolvlm", "preprocessor_config", {"rescale_factor": -1}, "rescale_factor"),
        ("smolvlm", "preprocessor_config", {"do_image_splitting": 1}, "do_image_splitting"),
        ("smolvlm", "processor_config", {"image_seq_len": 169}, "image_seq_len"),
        ("smolvlm", "config", {"scale_factor": 0}, "scale_factor"),
        ("smolvlm", "config", {"image_token_id": "<image>"}, "image_token_id"),
        ("smolvlm", "config", {"vision_config": {"patch_size": [16, 8]}}, "vision_config.patch_size"),
        ("lfm2_vl", "preprocessor_config", {"downsample_factor": 3}, "downsample_factor"),
        ("lfm2_vl", "preprocessor_config", {"encoder_patch_size": 14}, "encoder_patch_size"),
        ("lfm2_vl", "preprocessor_config", {"tile_size": 500}, "tile_size"),
        ("lfm2_vl", "preprocessor_config", {"max_tiles": 1000}, "max_tiles"),
        ("lfm2_vl", "preprocessor_config", {"min_tiles": 1}, "min_tiles"),
        ("qwen3_vl", "preprocessor_config", {"patch_size": 14}, "patch_size"),
        ("qwen3_vl", "preprocessor_config", {"merge_size": 3}, "merge_size"),
        ("qwen3_vl", "preprocessor_config", {"temporal_patch_size": 1}, "temporal_patch_size"),
        ("gemma3", "preprocessor_config", {"pan_and_scan_min_crop_size": 0}, "pan_and_scan_min_crop_size"),
        ("gemma3", "preprocessor_config", {"pan_and_scan_max_num_crops": 101}, "pan_and_scan_max_num_crops"),
        ("gemma3", "preprocessor_config", {"do_pan_and_scan": 2}, "do_pan_and_scan"),
        ("gemma3", "preprocessor_config", {"size": {"height": 224, "width": 896}}, "size"),
        ("gemma3", "processor_config", {"image_seq_length": 64}, "image_seq_length"),
        ("gemma3", "config", {"mm_tokens_per_image": 200}, "mm_tokens_per_image"),
        ("gemma4", "preprocessor_config", {"max_soft_tokens": 100}, "max_soft_tokens"),
        ("gemma4", "preprocessor_config", {"pooling_kernel_size": 2}, "pooling_kernel_size"),
    ],
)
def test_unsupported_values_are_refused_with_their_key(
    tmp_path: Path, model_type: str, file: str, change: dict[str, Any], key: str
) -> None:
    with pytest.raises(ModelFileInvalid, match=f"{file}.json: (image_processor.)?{key} is "):
        read(tmp_path, model_type, {file: change})


def test_pictures_of_gemma4_have_as_many_tokens_as_transformers_allows_unless_these_are_too_many_patches(
    tmp_path: Path,
) -> None:
    most = {"max_soft_tokens": 1120}
    config = read(tmp_path, "gemma4", {"preprocessor_config": most})
    assert config is not None
    assert config.max_pixels == 1120 * 48**2
    side = {"pooling_kernel_size": 4}
    changes = {"config": {"vision_config": {"patch_size": 16, **side}}, "preprocessor_config": {**most, **side}}
    with pytest.raises(ModelFileInvalid, match=f"max_soft_tokens is 1120: pictures of more than {MAX_PATCHES} patches"):
        read(tmp_path, "gemma4", changes)


class Tokens:
    """A tokenizer with control tokens."""

    def __init__(self, **specials: int) -> None:
        self._specials = {token_id: f"<{name}>" for name, token_id in specials.items()} or {49190: "<image>"}

    def token_of(self, token_id: int) -> str | None:
        return self._specials.get(token_id, "a" if token_id == 1 else None)

    def is_special(self, token_id: int) -> bool:
        return token_id in self._specials


def test_the_tokens_of_pictures_must_be_control_tokens(tmp_path: Path) -> None:
    config = read(tmp_path, "smolvlm")
    assert config is not None
    assert processor_of(config, Tokens()).image_token == "<image>"
    for token_id in (1, 2):
        changed = read(tmp_path, "smolvlm", {"config": {"image_token_id": token_id}})
        assert changed is not None
        with pytest.raises(ModelFileInvalid, match=f"token {token_id}, "):
            processor_of(changed, Tokens())


def qwen(directory: Path, **specials: int) -> PictureProcessor:
    config = read(directory, "qwen3_vl")
    assert config is not None
    return processor_of(config, Tokens(image=151655, **specials))


def test_a_large_picture_of_qwen_becomes_one_of_as_many_patches_as_an_encoder_takes(tmp_path: Path) -> None:
    processor = qwen(tmp_path)
    for size, expected in (((1920, 1080), (1920, 1088)), ((4000, 3000), (2336, 1760)), ((6000, 40), (6016, 32))):
        [tile] = processor.process(Image.new("RGB", size)).picture.tiles
        assert (tile.width, tile.height) == expected
        assert tile.num_tokens * 4 <= MAX_PATCHES


def test_a_prompt_without_a_template_gets_the_tokens_that_the_template_writes(tmp_path: Path) -> None:
    picture = Image.new("RGB", (64, 64))
    found = qwen(tmp_path, start=151652, end=151653).process(picture)
    assert (found.text, found.marked_text) == ("<image>", "<start><image><end>")
    assert qwen(tmp_path, start=151652).process(picture).marked_text == "<image>"
