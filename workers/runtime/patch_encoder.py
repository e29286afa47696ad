"""The encoder of pictures: a program over the patches of one tile, in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.pictures import PictureTile
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.attention_items import GROUP, attention_scratch
from cactus_actors.workers.kernels.thread_team import ThreadTeam
from cactus_actors.workers.runtime.attention_groups import groups_of_one
from cactus_actors.workers.runtime.cache_shape import cache_shape_of
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.runtime.layout import WeightLayout
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.program import EncoderProgram
from cactus_actors.workers.runtime.step_arguments import (
    NUM_GROUPS,
    NUM_LOGITS,
    NUM_TOKENS,
    AdapterArrays,
    ModelShape,
    PackedWeights,
    RotaryArrays,
    StepInputs,
)
from cactus_actors.workers.runtime.weight_refs import TableRef
from cactus_actors.workers.runtime.workspace import new_choices, new_workspace
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.patches import patches_of, positions_of, rotary_rows_of

BLOCK_SIZE = 16
ROWS_OF_GROUP = 8
"""Encoded rows are interleaved by so many: a piece begins with a group."""

MAX_ROWS = 1024
"""About the most patches of a piece, so that no other sequence waits long for it; tiles of SmolVLM have as many."""

MAX_PAIRS = 1 << 22
"""About the most patches of a piece of attention, times all patches."""

KEPT_PATCHES = 1 << 12
"""The memory of larger tiles is freed after them."""


class Piece(NamedTuple):
    """Operations on the patches of a tile from `first` to before `end`."""

    operations: NDArray[Any]
    first: int
    end: int


class PatchEncoder:
    """Runs the encoder of a model on the threads and with the compiled step of its text part.

    The embeddings of a tile are the same bits for any number of threads, and for pieces of any size. Keys and values of
    the patches have the format of the text's cache, so that both parts use one compiled step. One caller at a time.
    """

    def __init__(
        self,
        config: ModelConfig,
        graph: Graph,
        layout: WeightLayout,
        weights: PackedWeights,
        rotary: RotaryArrays,
        *,
        adapters: AdapterArrays,
        team: ThreadTeam,
        kv_format: str,
    ) -> None:
        assert config.vision is not None, "a graph of an encoder has a config"
        vision = self._vision = config.vision
        self._hidden_size = config.hidden_size
        self._has_axes = any(rope.axes for rope in config.ropes)
        self._cache_shape = cache_shape_of(graph)
        self._program = EncoderProgram.of(graph, layout)
        self._tables = tables_of(graph, layout, weights)
        self._team = team
        self._kv_format = kv_format
        self._shape = ModelShape(vision.norm_eps)
        self._weights, self._rotary = weights, rotary
        self._choices, self._adapters = new_choices(None, 0), adapters  # neither is used by an encoder
        self._max_patches = 0
        self._pieces: list[Piece] = []  # that are left of the tile, the next one at the end
        self._num_tokens = 0

    @property
    def image_token_id(self) -> int:
        """The placeholder token, whose embeddings those of pictures replace."""
        return self._vision.image_token_id

    @property
    def token_side(self) -> int:
        """The side in pixels of an embedding's square, if tokens have positions on several axes; 0 otherwise."""
        return self._vision.unit if self._has_axes else 0

    def check(self, tile: PictureTile) -> None:
        """Raise InvalidRequest for a tile that does not fit this model."""
        size = f"a tile of {tile.width} x {tile.height} pixels"
        num_tokens = self._vision.num_tokens(tile.width, tile.height)
        if num_tokens is None:
            raise InvalidRequest(f"{size} does not fit this model", param="images")
        if num_tokens != tile.num_tokens:
            raise InvalidRequest(f"{size} has {num_tokens} embeddings, not {tile.num_tokens}", param="images")
        if len(tile.pixels) != 3 * tile.width * tile.height:
            raise InvalidRequest(f"{size} has {len(tile.pixels)} bytes", param="images")

    def begin(self, tile: PictureTile) -> None:
        """Begin a tile; the one before it is dropped."""
        vision = self._vision
        num_patches = tile.num_tokens * vision.merged_patches
        self._make_room(num_patches)
        inputs = (patches_of(tile, vision), *(positions_of(tile, vision, table) for table in self._tables))
        for index, values in zip(self._program.inputs, inputs, strict=True):
            target = self._rows_of(index, num_patches)
            target[:, : values.shape[1]] = values
            target[:, values.shape[1] :] = 0
        if vision.rotary_theta:
            for table, values in zip(self._rotary[:2], rotary_rows_of(tile, vision), strict=True):
                parts = np.split(values, 2, axis=1)[::-1] if vision.turns_apart else [values]
                for start, part in zip(self._rotary.starts, parts, strict=True):
                    table[start : start + part.size] = part.ravel()
        self._num_tokens = tile.num_tokens
        self._step.sizes[:] = num_patches, tile.num_tokens, 0, 1, tile.width // vision.patch_size
        self._step.ends[:num_patches] = num_patches - 1
        self._pieces = list(self._pieces_of(num_patches))[::-1]

    def advance(self) -> bool:
        """Compute the next piece of the tile; returns True if it was the last one."""
        piece = self._pieces.pop()
        self._team.run(
            piece.operations,
            self._shape,
            self._weights,
            self._rotary,
            self._step_of(piece),
            self._cache.arrays,
            self._choices,
            self._adapters,
            self._workspace._replace(starts=self._starts_at(piece.first)),
            None,
        )
        return not self._pieces

    def embeddings(self) -> NDArray[np.float32]:
        """The embeddings of the complete tile, and its features beside them, as an array of the caller."""
        parts = [self._rows_of(output, self._num_tokens) for output in self._program.outputs]
        embeddings = np.concatenate([part[:, : self._hidden_size] for part in parts], axis=1)
        if self._max_patches > KEPT_PATCHES:
            self._max_patches = 0
            del self._workspace, self._cache, self._step, parts
        return embeddings

    def _pieces_of(self, num_patches: int) -> Iterator[Piece]:
        """The pieces of a tile, in order. A convolution over the grid reads all rows of its source, and is cheap."""
        unit = ROWS_OF_GROUP * self._vision.merged_patches
        for part in self._program.parts:
            code = part[0]["code"]
            max_rows = MAX_PAIRS // num_patches if code == OpCode.ATTEND else MAX_ROWS
            size = num_patches if code == OpCode.GRID_CONV else max(max_rows // unit, 1) * unit
            for first in range(0, num_patches, size):
                yield Piece(part, first, min(first + size, num_patches))

    def _step_of(self, piece: Piece) -> StepInputs:
        """The inputs of a step whose rows are those of a piece."""
        num_rows, step = piece.end - piece.first, self._step
        firsts = np.arange(0, num_rows, GROUP)
        num_tiles = len(firsts)
        step.tiles[:num_tiles, 0], step.tiles[:num_tiles, 1] = firsts, np.minimum(firsts + GROUP, num_rows)
        step.sizes[NUM_TOKENS], step.sizes[NUM_LOGITS] = num_rows, num_rows // self._vision.merged_patches
        step.sizes[NUM_GROUPS] = num_tiles
        return step._replace(
            positions=step.positions[piece.first :],
            rotary_rows=step.rotary_rows[piece.first :],
            ends=step.ends[piece.first :],
        )

    def _starts_at(self, first: int) -> NDArray[np.int64]:
        """The places in the buffers of a patch's rows."""
        rows = {RowKind.TOKENS: first, RowKind.LOGITS: first // self._vision.merged_patches, RowKind.CHOICES: 0}
        offsets = [0 if buffer.stride else buffer.width * rows[buffer.rows] for buffer in self._program.buffers]
        return self._workspace.starts + np.array(offsets, np.int64)

    def _rows_of(self, index: int, num_rows: int) -> NDArray[np.float32]:
        """The first rows of a buffer with their padding, a view."""
        width, start = self._program.buffers[index].width, int(self._workspace.starts[index])
        return self._workspace.floats[start : start + width * num_rows].reshape(num_rows, width)

    def _make_room(self, num_patches: int) -> None:
        """Provide memory for a tile of `num_patches` patches; it grows, up to KEPT_PATCHES for longer than a tile."""
        if num_patches <= self._max_patches:
            return
        self._max_patches = num_patches
        vision, program = self._vision, self._program
        max_rows: Mapping[RowKind, int] = {
            RowKind.TOKENS: num_patches,
            RowKind.LOGITS: num_patches // vision.merged_patches,
            RowKind.CHOICES: 0,
        }
        self._workspace = new_workspace(
            program.buffers,
            max_rows,
            threads=self._team.size,
            scratch_size=attention_scratch(vision.head_dim),
            num_operations=max(map(len, program.parts)),
        )
        num_blocks = -(-num_patches // BLOCK_SIZE)
        self._cache = KVCache.allocate(self._cache_shape, num_blocks, BLOCK_SIZE, self._kv_format)
        self._step = _new_step(num_patches, num_blocks)
        if vision.rotary_theta:
            self._rotary = _new_rotary(num_patches, vision.head_dim, 2 if vision.turns_apart else 1)


def tables_of(graph: Graph, layout: WeightLayout, weights: PackedWeights) -> list[NDArray[Any]]:
    """The tables of an encoder, (length, width) each, as views of the weights."""
    return [_table(each, layout.vector_starts[each], weights) for each in graph.tables]


def _table(table: TableRef, start: int, weights: PackedWeights) -> NDArray[Any]:
    rows = sum(table.lengths)
    return weights.vectors[start : start + rows * table.width].reshape(rows, table.width)


def _new_rotary(num_patches: int, head_dim: int, num_parts: int) -> RotaryArrays:
    """Room for a row of each patch, for equal parts of the lanes of a head."""
    size = num_patches * head_dim // 2
    cosines, sines = (aligned_zeros((size,), np.float32) for _ in range(2))
    starts = np.arange(num_parts, dtype=np.int64) * (size // num_parts)
    return RotaryArrays(cosines, sines, starts, np.full(num_parts, head_dim // num_parts, np.int64))


def _new_step(num_patches: int, num_blocks: int) -> StepInputs:
    """The inputs of a tile, which is one sequence."""
    positions = np.arange(num_patches, dtype=np.int32)
    return StepInputs(
        sizes=np.zeros(5, np.int64),
        token_ids=np.zeros(num_patches, np.int32),
        positions=positions,
        rotary_rows=positions,
        sequence_of_token=np.zeros(num_patches, np.int32),
        block_tables=np.arange(num_blocks, dtype=np.int32).reshape(1, num_blocks),
        logit_rows=np.zeros(1, np.int32),
        tiles=np.zeros((num_patches, 2), np.int32),
        groups=groups_of_one(num_patches),
        states=np.zeros((1, 7), np.int64),
        adapters=np.zeros(0, np.int32),
        ends=np.zeros(num_patches, np.int32),
        is_given=np.zeros(0, np.int32),
        given=np.zeros((0, 0), np.float32),
    )
