"""Attention, divided into tasks of the threads."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.attention import attend, fetch_first_keys
from cactus_actors.workers.kernels.barrier import next_task
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.runtime.step_arguments import NUM_TILES, ModelShape, StepInputs, Workspace


@internal(error_model="numpy", inline="always")
def attend_in_tasks(
    op: Any,
    index: int,
    shape: ModelShape,
    vectors: Any,
    step: StepInputs,
    cache: Any,
    work: Workspace,
    rank: int,
    size: int,
) -> None:
    """Run a rank's tasks of attention: a tile of tokens and a key-value head each."""
    num_tasks = step.sizes[NUM_TILES] * shape.num_kv_heads
    heads_per_kv_head = shape.num_heads // shape.num_kv_heads
    while True:
        task = next_task(work.tasks, index * size)
        if task >= num_tasks:
            return
        tile, kv_head = task // shape.num_kv_heads, task % shape.num_kv_heads
        token = step.tiles[tile]
        _fetch_keys(op, min(task + size, num_tasks - 1), shape, step, cache)
        column = kv_head * heads_per_kv_head * shape.head_dim
        attend(
            cache,
            op.layer,
            kv_head,
            step.block_tables,
            step.sequence_of_token[token],
            work.floats,
            work.starts[op.source] + token * op.source_width + column,
            op.source_width,
            step.tiles[tile + 1] - token,
            heads_per_kv_head,
            step.positions[token],
            op.window,
            op.scale,
            op.softcap,
            vectors,
            op.bias_start + kv_head * heads_per_kv_head if op.bias_start >= 0 else -1,
            work.scratch,
            rank * work.scratch_size,
            work.floats,
            work.starts[op.target] + token * op.target_width + column,
            op.target_width,
        )
        if kv_head == shape.num_kv_heads - 1:
            for row in range(token, step.tiles[tile + 1]):
                end = work.starts[op.target] + (row + 1) * op.target_width
                for padding in range(end - op.target_width + shape.num_heads * shape.head_dim, end):
                    work.floats[padding] = 0


@internal(error_model="numpy", inline="always")
def _fetch_keys(op: Any, task: int, shape: ModelShape, step: StepInputs, cache: Any) -> None:
    """Prefetch the first keys of a thread's next task while it works on another.

    Successive tiles of several tokens read the same keys.
    """
    tile, kv_head = task // shape.num_kv_heads, task % shape.num_kv_heads
    token = step.tiles[tile]
    if step.tiles[tile + 1] - token == 1:
        sequence, position = step.sequence_of_token[token], step.positions[token]
        fetch_first_keys(cache, op.layer, kv_head, step.block_tables, sequence, position, op.window)
