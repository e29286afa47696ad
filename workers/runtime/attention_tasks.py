"""Attention, divided into tasks of the threads."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.attention import attend, fetch_first_keys
from cactus_actors.workers.kernels.barrier import next_task
from cactus_actors.workers.kernels.cache_formats import CachedLayer
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.runtime.op_codes import RowKind
from cactus_actors.workers.runtime.step_arguments import NUM_LOGITS, NUM_TILES, StepInputs, Workspace

LOGITS = int(RowKind.LOGITS)


@internal(error_model="numpy", inline="always")
def attend_in_tasks(
    op: Any, index: int, vectors: Any, step: StepInputs, cache: Any, work: Workspace, rank: int, size: int
) -> None:
    """Run a rank's tasks of attention: a tile of tokens and a key-value head each.

    A tile of rows with logits is one row.
    """
    num_tasks = (step.sizes[NUM_LOGITS] if op.rows == LOGITS else step.sizes[NUM_TILES]) * op.num_kv_heads
    heads_per_kv_head = op.num_heads // op.num_kv_heads
    layer = cached_layer(op)
    while True:
        task = next_task(work.tasks, index * size)
        if task >= num_tasks:
            return
        tile, kv_head = task // op.num_kv_heads, task % op.num_kv_heads
        row, end = tile, tile + 1
        if op.rows != LOGITS:
            row, end = step.tiles[tile], step.tiles[tile + 1]
        token = token_of_row(op, row, step)
        _fetch_keys(op, layer, min(task + size, num_tasks - 1), step, cache)
        column = kv_head * heads_per_kv_head * op.head_dim
        ends = step.ends if op.flag else step.positions  # of causal attention, its own
        attend(
            cache,
            layer,
            kv_head,
            step.block_tables,
            step.sequence_of_token[token],
            work.floats,
            work.starts[op.source] + row * op.source_width + column,
            op.source_width,
            end - row,
            heads_per_kv_head,
            step.positions[token],
            ends,
            token,
            op.window,
            op.scale,
            op.softcap,
            vectors,
            op.bias_start + kv_head * heads_per_kv_head if op.bias_start >= 0 else -1,
            work.scratch,
            rank * work.scratch_size,
            work.floats,
            work.starts[op.target] + row * op.target_width + column,
            op.target_width,
        )
        if kv_head == op.num_kv_heads - 1:
            for each in range(row, end):
                start = work.starts[op.target] + each * op.target_width
                for padding in range(start + op.num_heads * op.head_dim, start + op.target_width):
                    work.floats[padding] = 0


@internal(error_model="numpy")
def token_of_row(op: Any, row: int, step: StepInputs) -> Any:
    """The token that a row of an operation belongs to."""
    return step.logit_rows[row] if op.rows == LOGITS else row


@internal(error_model="numpy")
def cached_layer(op: Any) -> CachedLayer:
    """The layer of the cache that an operation reads or writes."""
    return CachedLayer(op.num_kv_heads, op.head_dim, op.heads_before, op.dims_before, op.columns_before)


@internal(error_model="numpy", inline="always")
def _fetch_keys(op: Any, layer: CachedLayer, task: int, step: StepInputs, cache: Any) -> None:
    """Prefetch the first keys of a thread's next task while it works on another.

    Successive tiles of several tokens read the same keys.
    """
    tile, kv_head = task // op.num_kv_heads, task % op.num_kv_heads
    is_single = op.rows == LOGITS or step.tiles[tile + 1] - step.tiles[tile] == 1
    if is_single:
        token = token_of_row(op, tile if op.rows == LOGITS else step.tiles[tile], step)
        sequence, position = step.sequence_of_token[token], step.positions[token]
        fetch_first_keys(cache, layer, kv_head, step.block_tables, sequence, position, op.window)
