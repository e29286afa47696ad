"""The patches of a tile, and their learned positions, as an encoder takes them.

Patches are in the order of `grouped`: square after square of those that are merged, row by row within a square.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.pictures import PictureTile
from cactus_actors.workers.spec.vision_config import VisionConfig


def patches_of(tile: PictureTile, vision: VisionConfig) -> NDArray[np.float32]:
    """The scaled pixels of each patch, (patches, pixels)."""
    scaling, side = vision.scaling, vision.patch_size
    std = np.array(scaling.std)
    factors = (scaling.rescale / std).astype(np.float32)
    offsets = (np.array(scaling.mean) / std).astype(np.float32)
    pixels = np.frombuffer(tile.pixels, np.uint8).reshape(tile.height // side, side, tile.width // side, side, 3)
    values = pixels * factors - offsets
    # (rows, y, columns, x, channels) -> (rows, columns, pixels of a patch)
    axes = (0, 2, 1, 3, 4) if vision.has_channels_last else (0, 2, 4, 1, 3)
    grid = values.transpose(axes)
    if vision.num_frames > 1:  # (rows, columns, channels, frames, y, x)
        grid = np.repeat(grid[:, :, :, None], vision.num_frames, axis=3)
    return grouped(grid.reshape(tile.height // side, tile.width // side, -1), vision.merge_size)


def positions_of(tile: PictureTile, vision: VisionConfig, table: NDArray[np.float32]) -> NDArray[np.float32]:
    """The position of each patch, (patches, hidden), from the table of learned ones."""
    rows, columns = tile.height // vision.patch_size, tile.width // vision.patch_size
    if vision.positions == "whole":
        return grouped(table.reshape(rows, columns, -1), vision.merge_size)
    choose = _POSITIONS[vision.positions]
    return grouped(choose(table, rows, columns, vision.positions_per_side), vision.merge_size)


def rotary_rows_of(tile: PictureTile, vision: VisionConfig) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosines and sines of each patch, (patches, pairs of lanes): half of the pairs turn by rows, half by columns.

    Angles are float32 products, as in Qwen3VLVisionRotaryEmbedding and Gemma4VisionRotaryEmbedding of transformers.
    """
    num_lanes = vision.head_dim // 2
    exponents = np.arange(0, num_lanes, 2, dtype=np.float32) / np.float32(num_lanes)
    frequencies = np.float32(1) / np.power(vision.rotary_theta, exponents.astype(np.float64)).astype(np.float32)
    rows, columns = tile.height // vision.patch_size, tile.width // vision.patch_size
    places = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=2).astype(np.float32)
    angles = (places[..., None] * frequencies).reshape(rows, columns, -1).astype(np.float64)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return grouped(cosines, vision.merge_size), grouped(sines, vision.merge_size)


def grouped(grid: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """The cells of a grid, (rows, columns, width), square after square of `side` x `side`: (cells, width)."""
    rows, columns, width = grid.shape
    squares = grid.reshape(rows // side, side, columns // side, side, width).transpose(0, 2, 1, 3, 4)
    return squares.reshape(-1, width)


def bucketed_positions(table: NDArray[np.float32], rows: int, columns: int, per_side: int) -> NDArray[np.float32]:
    """The entry of a table of `per_side` squared positions for each cell of a grid, (rows, columns, width).

    A cell has the position of its place in the whole, rounded down to the grid of the table, in float32 as in
    transformers' Idefics3VisionEmbeddings (after NaViT: Dehghani et al. 2023).
    """
    down, across = (_buckets(count, per_side) for count in (rows, columns))
    entries: NDArray[np.float32] = table[down[:, None] * per_side + across[None, :]]
    return entries


def _buckets(count: int, per_side: int) -> NDArray[np.intp]:
    step = 1 / per_side
    num_boundaries = int(np.ceil((1.0 - step) / step))
    boundaries = (step + step * np.arange(num_boundaries)).astype(np.float32)
    places = np.arange(count, dtype=np.float32) * np.float32(1 / count)
    found: NDArray[np.intp] = np.searchsorted(boundaries, np.minimum(places, np.float32(1 - 1e-6)), side="right")
    return found


def interpolated_positions(table: NDArray[np.float32], rows: int, columns: int, per_side: int) -> NDArray[np.float32]:
    """A table of `per_side` squared positions resized to a grid, (rows, columns, width).

    Bilinear with antialiasing, as torch's `interpolate` does it for Siglip2VisionEmbeddings of transformers.
    """
    return _mixed(table, _triangles(rows, per_side), _triangles(columns, per_side))


def positions_by_corners(table: NDArray[np.float32], rows: int, columns: int, per_side: int) -> NDArray[np.float32]:
    """A table of `per_side` squared positions stretched to a grid, corner to corner, (rows, columns, width).

    Bilinear, with places in float32 as in Qwen3VLVisionModel of transformers.
    """
    return _mixed(table, _between_corners(rows, per_side), _between_corners(columns, per_side))


def _mixed(table: NDArray[np.float32], down: NDArray[np.float64], across: NDArray[np.float64]) -> NDArray[np.float32]:
    """Mixtures of the rows and columns of a square table, (rows, columns, width)."""
    grid = table.reshape(down.shape[1], across.shape[1], -1)
    resized: NDArray[np.float32] = np.einsum("ri,ijw,cj->rcw", down, grid, across, optimize=True).astype(np.float32)
    return resized


def _between_corners(count: int, per_side: int) -> NDArray[np.float64]:
    """The weights of `per_side` samples for each of `count`, (count, per_side): of the two next to each."""
    places = np.arange(count, dtype=np.float32) * np.float32(per_side - 1) / np.float32(max(count - 1, 1))
    weights: NDArray[np.float64] = np.maximum(0.0, 1 - np.abs(np.arange(per_side) - places[:, None].astype(np.float64)))
    return weights


def _triangles(count: int, per_side: int) -> NDArray[np.float64]:
    """The weights of `per_side` samples for each of `count`, (count, per_side): triangles around their centres."""
    scale = per_side / count
    width = max(scale, 1.0)
    centres = (np.arange(count) + 0.5) * scale
    weights = np.maximum(0.0, 1 - np.abs(np.arange(per_side) + 0.5 - centres[:, None]) / width)
    shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return shares


def positions_by_axes(table: NDArray[np.float32], rows: int, columns: int, per_side: int) -> NDArray[np.float32]:
    """The sums of an entry for the column and one for the row, (rows, columns, width)."""
    across, down = table.reshape(2, per_side, -1)
    sums: NDArray[np.float32] = across[None, :columns] + down[:rows, None]
    return sums


_POSITIONS = {
    "bucketed": bucketed_positions,
    "interpolated": interpolated_positions,
    "by_corners": positions_by_corners,
    "by_axes": positions_by_axes,
}
