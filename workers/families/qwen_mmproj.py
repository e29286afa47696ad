"""The encoder of Qwen3-VL and Qwen3.5 in its own GGUF file (mmproj), and the axes of positions in that of the text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.mmproj_file import MmprojFile
from cactus_actors.workers.families.mmproj_reader import Composed, MmprojReader
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.mmproj_config import require_gelu, side_of_positions, vision_from_mmproj
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.qwen_vision_config import THETA
from cactus_actors.workers.spec.rotary import interleaved_axes
from cactus_actors.workers.spec.vision_config import VisionConfig
from cactus_actors.workers.vision.qwen_vision import NAME

NUM_FRAMES = 2
"""Every file has a kernel for each of the two frames of a patch."""
FEATURES, COUNT = "is_deepstack_layers", "n_deepstack_layers"
"""The layers of the encoder with features, and the number of layers of the text that add them."""


def read_mmproj(keys: ConfigKeys, mmproj: MmprojFile) -> VisionConfig:
    """The keys of the projector qwen3vl_merger."""
    require_gelu(mmproj)
    vision = vision_from_mmproj(
        keys,
        mmproj,
        merge_size=keys.integer("spatial_merge_size", "merge_size", 2),
        positions_per_side=side_of_positions(mmproj),
        positions="by_corners",
        has_square_tiles=False,
        num_frames=NUM_FRAMES,
        rotary_theta=THETA,
    )
    keys.require(vision.head_dim % 4 == 0, "attention.head_count", "heads of a multiple of 4 lanes")
    return replace(vision, feature_layers=_feature_layers(keys, vision.num_layers))


def _feature_layers(keys: ConfigKeys, num_layers: int) -> tuple[int, ...]:
    marks = [False] * num_layers if keys.get(FEATURES) is None else keys.get(FEATURES)
    is_valid = isinstance(marks, list) and len(marks) == num_layers and all(type(each) is bool for each in marks)
    keys.require(is_valid, FEATURES, f"true or false for each of {num_layers} layers")
    return tuple(index for index, mark in enumerate(marks) if mark)


def with_features(config: ModelConfig, vision: VisionConfig, mmproj: MmprojFile) -> ModelConfig:
    """The text model whose first layers add the features that its file counts."""
    text, count = _text_keys(mmproj), len(vision.feature_layers)
    if text.integer(COUNT, "count", 0) != count:
        raise invalid(
            mmproj.file.path,
            f"clip.vision.{FEATURES} has {count} true, but {text.prefix}{COUNT} of {text.path.name} is"
            f" {text.get(COUNT)!r:.40}: of another model",
        )
    text.require(count <= config.num_layers, COUNT, f"at most {config.num_layers} layers")
    return _with_axes(config, vision, mmproj)


def without_features(config: ModelConfig, vision: VisionConfig, mmproj: MmprojFile) -> ModelConfig:
    """The text model of a family that adds no features."""
    _text_keys(mmproj).require_one_of(COUNT, 0, None)
    return with_features(config, vision, mmproj)


def _with_axes(config: ModelConfig, vision: VisionConfig, mmproj: MmprojFile) -> ModelConfig:
    """The text model with positions on the three axes that its file describes."""
    text, (rope,) = _text_keys(mmproj), config.ropes
    key = "rope.dimension_sections"
    given = text.get(key)
    sections = given if isinstance(given, list) else []
    are_counts = len(sections) in (3, 4) and all(type(each) is int and each >= 0 for each in sections)
    is_whole = are_counts and sum(sections[:3]) == sum(sections) == rope.num_pairs
    text.require(is_whole, key, f"the numbers of pairs of three axes, {rope.num_pairs} in all")
    return replace(config, ropes=(replace(rope, axes=interleaved_axes(rope.num_pairs, sections)),), vision=vision)


def _text_keys(mmproj: MmprojFile) -> ConfigKeys:
    metadata = mmproj.text.metadata
    return ConfigKeys(mmproj.text.path, metadata, f"{metadata['general.architecture']}.")


def _frames(_vision: VisionConfig, *kernels: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.stack(kernels, axis=2)


MMPROJ = MmprojReader(
    projector="qwen3vl_merger",
    read=read_mmproj,
    names={
        "v.patch_embd": f"{NAME}.patch_embed.proj",
        "v.position_embd": f"{NAME}.pos_embed",
        "v.blk.*.ln1": f"{NAME}.blocks.*.norm1",
        "v.blk.*.attn_qkv": f"{NAME}.blocks.*.attn.qkv",
        "v.blk.*.attn_out": f"{NAME}.blocks.*.attn.proj",
        "v.blk.*.ln2": f"{NAME}.blocks.*.norm2",
        "v.blk.*.ffn_up": f"{NAME}.blocks.*.mlp.linear_fc1",
        "v.blk.*.ffn_down": f"{NAME}.blocks.*.mlp.linear_fc2",
        "v.deepstack.*.norm": f"{NAME}.deepstack_merger_list.*.norm",
        "v.deepstack.*.fc1": f"{NAME}.deepstack_merger_list.*.linear_fc1",
        "v.deepstack.*.fc2": f"{NAME}.deepstack_merger_list.*.linear_fc2",
        "v.post_ln": f"{NAME}.merger.norm",
        "mm.0": f"{NAME}.merger.linear_fc1",
        "mm.2": f"{NAME}.merger.linear_fc2",
    },
    composed={
        f"{NAME}.patch_embed.proj": Composed(
            parts=("v.patch_embd.weight", "v.patch_embd.weight.1"),
            part_shape=lambda vision: (vision.hidden_size, 3, vision.patch_size, vision.patch_size),
            shape=lambda vision: (vision.hidden_size, 3, NUM_FRAMES, vision.patch_size, vision.patch_size),
            compose=_frames,
        )
    },
    join=with_features,
)
