"""Attention, divided into tasks of the threads."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.attention import advance, attend, begin, finish
from cactus_actors.workers.kernels.attention_items import Items, common_range_of, items_at, range_of
from cactus_actors.workers.kernels.attention_places import lanes_of, set_places
from cactus_actors.workers.kernels.attention_tiles import CHUNK
from cactus_actors.workers.kernels.barrier import next_task
from cactus_actors.workers.kernels.cache_formats import CachedLayer
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import LANES, fetch, fetch_for_write
from cactus_actors.workers.runtime.op_codes import RowKind
from cactus_actors.workers.runtime.step_arguments import NUM_GROUPS, NUM_LOGITS, StepInputs, Workspace

LOGITS = int(RowKind.LOGITS)


@internal(error_model="numpy", inline="always")
def attend_in_tasks(
    op: Any, index: int, vectors: Any, step: StepInputs, cache: Any, work: Workspace, rank: int, size: int
) -> None:
    """Run a rank's tasks of attention: a group of tiles and a key-value head each.

    A tile of rows with logits is one row, and each is a group.
    """
    num_tasks = (step.sizes[NUM_LOGITS] if op.rows == LOGITS else step.sizes[NUM_GROUPS]) * op.num_kv_heads
    layer = cached_layer(op)
    while True:
        task = next_task(work.tasks, index * size)
        if task >= num_tasks:
            return
        group, kv_head = task // op.num_kv_heads, task % op.num_kv_heads
        _set_following(op, layer, min(task + size, num_tasks - 1), step, cache, work, rank)
        if op.rows == LOGITS:
            _attend_alone(op, layer, kv_head, group, group + 1, vectors, step, cache, work, rank)
        elif step.groups[group, 1] - step.groups[group, 0] == 1:
            row, end = _rows_of_tile(step, step.groups[group, 0])
            _attend_alone(op, layer, kv_head, row, end, vectors, step, cache, work, rank)
        else:
            _attend_together(op, layer, kv_head, group, vectors, step, cache, work, rank)


@internal(error_model="numpy")
def token_of_row(op: Any, row: int, step: StepInputs) -> Any:
    """The token that a row of an operation belongs to."""
    return step.logit_rows[row] if op.rows == LOGITS else row


@internal(error_model="numpy")
def _rows_of_tile(step: StepInputs, tile: int) -> tuple[Any, Any]:
    """The first row of a tile of tokens, and the end."""
    return step.tiles[tile, 0], step.tiles[tile, 1]


@internal(error_model="numpy")
def cached_layer(op: Any) -> CachedLayer:
    """The layer of the cache that an operation reads or writes."""
    return CachedLayer(op.num_kv_heads, op.head_dim, op.heads_before, op.dims_before, op.columns_before)


@internal(error_model="numpy")
def _attend_alone(
    op: Any,
    layer: CachedLayer,
    kv_head: int,
    row: int,
    end: int,
    vectors: Any,
    step: StepInputs,
    cache: Any,
    work: Workspace,
    rank: int,
) -> None:
    """Rows of one sequence."""
    token = token_of_row(op, row, step)
    heads_per_kv_head = op.num_heads // op.num_kv_heads
    column = kv_head * heads_per_kv_head * op.head_dim
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
        step.ends if op.flag else step.positions,  # of causal attention, its own
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
    _clear_padding(op, kv_head, row, end, work)


@internal(error_model="numpy")
def _attend_together(
    op: Any,
    layer: CachedLayer,
    kv_head: int,
    group: int,
    vectors: Any,
    step: StepInputs,
    cache: Any,
    work: Workspace,
    rank: int,
) -> None:
    """Tiles of several sequences, which read the chunks that they share once.

    Each sequence goes on from chunk to chunk as it would alone: before the shared ones, if it has a window, and
    after them it is alone.
    """
    first_tile, end_tile, lanes = step.groups[group, 0], step.groups[group, 1], cache.keys.shape[2]
    heads_per_kv_head = op.num_heads // op.num_kv_heads
    column = kv_head * heads_per_kv_head * op.head_dim
    items = items_at(rank * work.scratch_size, layer.head_dim)
    shared_low, shared_high = 0, step.groups[group, 2] * lanes
    place = 0
    for tile in range(first_tile, end_tile):
        row, end = _rows_of_tile(step, tile)
        count = (end - row) * heads_per_kv_head
        begin(
            cache,
            layer,
            work.scratch,
            items,
            place,
            0,
            count,
            work.floats,
            work.starts[op.source] + row * op.source_width + column,
            op.source_width,
            heads_per_kv_head,
            step.positions[row],
            step.ends if op.flag else step.positions,
            row,
            op.window,
            op.scale,
            op.softcap,
            vectors,
            op.bias_start + kv_head * heads_per_kv_head if op.bias_start >= 0 else -1,
            work.starts[op.target] + row * op.target_width + column,
            op.target_width,
        )
        low, high = common_range_of(work.scratch, items, place, count)
        shared_low, shared_high = max(shared_low, low), min(shared_high, high)
        place += count
    shared_low, shared_high = (shared_low + CHUNK - 1) // CHUNK * CHUNK, shared_high // CHUNK * CHUNK
    if shared_low >= shared_high:
        shared_low = shared_high = 0

    _advance_alone(op, layer, kv_head, group, 0, shared_low, step, cache, work, items)
    sequence = step.sequence_of_token[step.tiles[first_tile, 0]]
    advance(
        cache,
        layer,
        kv_head,
        step.block_tables,
        sequence,
        shared_low,
        shared_high,
        work.scratch,
        items,
        0,
        place,
        op.softcap,
    )
    _advance_alone(op, layer, kv_head, group, shared_high, step.block_tables.shape[1] * lanes, step, cache, work, items)
    finish(layer, work.scratch, items, place, work.floats)
    for tile in range(first_tile, end_tile):
        row, end = _rows_of_tile(step, tile)
        _clear_padding(op, kv_head, row, end, work)


@internal(error_model="numpy")
def _advance_alone(
    op: Any,
    layer: CachedLayer,
    kv_head: int,
    group: int,
    floor: int,
    ceiling: int,
    step: StepInputs,
    cache: Any,
    work: Workspace,
    items: Items,
) -> None:
    """Advance each tile of a group in the lanes floor..ceiling-1 of its sequence."""
    place = 0
    for tile in range(step.groups[group, 0], step.groups[group, 1]):
        row, end = _rows_of_tile(step, tile)
        count = (end - row) * (op.num_heads // op.num_kv_heads)
        low, high = range_of(work.scratch, items, place, count)
        advance(
            cache,
            layer,
            kv_head,
            step.block_tables,
            step.sequence_of_token[row],
            max(low, floor),
            min(high, ceiling),
            work.scratch,
            items,
            place,
            count,
            op.softcap,
        )
        place += count


@internal(error_model="numpy")
def _clear_padding(op: Any, kv_head: int, row: int, end: int, work: Workspace) -> None:
    """The columns after the last head, once for each row."""
    if kv_head == op.num_kv_heads - 1:
        for each in range(row, end):
            start = work.starts[op.target] + each * op.target_width
            for padding in range(start + op.num_heads * op.head_dim, start + op.target_width):
                work.floats[padding] = 0


@internal(error_model="numpy", inline="always")
def _set_following(
    op: Any, layer: CachedLayer, task: int, step: StepInputs, cache: Any, work: Workspace, rank: int
) -> None:
    """Set the places of a thread's next task, whose first chunk is fetched during the last one of this task.

    Its first row's queries, which another thread may have written, are fetched at once.
    """
    group, kv_head = task // op.num_kv_heads, task % op.num_kv_heads
    row = group if op.rows == LOGITS else step.tiles[step.groups[group, 0], 0]
    token = token_of_row(op, row, step)
    sequence, position = step.sequence_of_token[token], step.positions[token]
    low, high = lanes_of(cache, position, position, op.window)
    chunk, after = low // CHUNK * CHUNK, items_at(rank * work.scratch_size, layer.head_dim).after
    set_places(cache, layer, kv_head, step.block_tables, sequence, low, high, chunk, work.scratch, after)
    width = op.num_heads // op.num_kv_heads * op.head_dim
    source = work.starts[op.source] + row * op.source_width + kv_head * width
    target = work.starts[op.target] + row * op.target_width + kv_head * width
    for column in range(0, width, LANES):
        fetch(work.floats, source + column)
        fetch_for_write(work.floats, target + column)
