"""Prepared pictures as the classes of transformers take them; needs torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from cactus_actors.protocol.pictures import PictureTile, PreparedPicture

QWEN_TYPES = ("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
Inputs = dict[str, torch.Tensor]


def inputs_of(config: Mapping[str, Any], processor: Mapping[str, Any], pictures: Sequence[PreparedPicture]) -> Inputs:
    """The arguments of the model's class for the pictures; those of Idefics3 must have tiles of one size."""
    tiles = [scaled(processor, tile) for picture in pictures for tile in picture.tiles]
    if config["model_type"] == "gemma4":
        return _positioned(tiles, config["vision_config"]["patch_size"])
    if config["model_type"] == "gemma3":
        return {"pixel_values": torch.from_numpy(np.stack(tiles)).permute(0, 3, 1, 2).contiguous()}
    if config["model_type"].startswith(("qwen", "lfm3")):
        return _qwen_inputs(config["vision_config"], tiles)
    if config["model_type"] != "lfm2_vl":
        return {"pixel_values": torch.from_numpy(np.stack(tiles)).permute(0, 3, 1, 2)[None].contiguous()}
    side = config["vision_config"]["patch_size"]
    shapes = [(tile.shape[0] // side, tile.shape[1] // side) for tile in tiles]
    longest = max(rows * columns for rows, columns in shapes)
    patches = np.zeros((len(tiles), longest, side * side * 3), np.float32)
    mask = np.zeros((len(tiles), longest), np.int64)
    for number, (tile, (rows, columns)) in enumerate(zip(tiles, shapes, strict=True)):
        grid = tile.reshape(rows, side, columns, side, 3).swapaxes(1, 2)
        patches[number, : rows * columns] = grid.reshape(rows * columns, -1)
        mask[number, : rows * columns] = 1
    return {
        "pixel_values": torch.from_numpy(patches),
        "spatial_shapes": torch.tensor(shapes),
        "pixel_attention_mask": torch.from_numpy(mask),
    }


def token_types_of(config: Any, token_ids: torch.Tensor) -> Inputs:
    """The arguments that tell placeholders from other tokens, which some models take."""
    names = {"gemma3": "token_type_ids"} | dict.fromkeys(("gemma4", *QWEN_TYPES), "mm_token_type_ids")
    if config.model_type not in names:
        return {}
    return {names[config.model_type]: (token_ids == config.image_token_id).long()}


def _positioned(tiles: Sequence[np.ndarray], side: int) -> Inputs:
    """Patches with their columns and rows, padded at the end."""
    shapes = [(tile.shape[0] // side, tile.shape[1] // side) for tile in tiles]
    longest = max(rows * columns for rows, columns in shapes)
    patches = np.zeros((len(tiles), longest, side * side * 3), np.float32)
    places = np.full((len(tiles), longest, 2), -1, np.int64)
    for number, (tile, (rows, columns)) in enumerate(zip(tiles, shapes, strict=True)):
        grid = tile.reshape(rows, side, columns, side, 3).swapaxes(1, 2)
        patches[number, : rows * columns] = grid.reshape(rows * columns, -1)
        places[number, : rows * columns] = [(column, row) for row in range(rows) for column in range(columns)]
    return {"pixel_values": torch.from_numpy(patches), "image_position_ids": torch.from_numpy(places)}


def scaled(processor: Mapping[str, Any], tile: PictureTile) -> np.ndarray:
    """The scaled pixels of a tile, (height, width, channels)."""
    pixels = np.frombuffer(tile.pixels, np.uint8).reshape(tile.height, tile.width, 3) / 255
    values = (pixels - np.array(processor["image_mean"])) / np.array(processor["image_std"])
    return values.astype(np.float32)


def _qwen_inputs(vision: Mapping[str, Any], tiles: Sequence[np.ndarray]) -> Inputs:
    """Patches square after square of those that are merged, as often as a patch of a video has frames."""
    side, merge, frames = vision["patch_size"], vision["spatial_merge_size"], vision["temporal_patch_size"]
    grids, patches = [], []
    for tile in tiles:
        rows, columns = tile.shape[0] // side, tile.shape[1] // side
        grid = tile.reshape(rows // merge, merge, side, columns // merge, merge, side, 3)
        videos = np.repeat(grid.transpose(0, 3, 1, 4, 6, 2, 5)[..., None, :, :], frames, axis=-3)
        patches.append(videos.reshape(rows * columns, -1))
        grids.append((1, rows, columns))
    return {"pixel_values": torch.from_numpy(np.concatenate(patches)), "image_grid_thw": torch.tensor(grids)}
