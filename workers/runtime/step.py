"""The compiled step: every thread runs the operations of a program over the tokens of a batch.

Operations over rows give each thread rows of its own, products and attention give it columns or tasks of its
own; a barrier stands where one thread reads what another has written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import njit
from numpy.typing import NDArray

from workers.kernels.attention import attend
from workers.kernels.barrier import next_task, wait
from workers.kernels.cache import store_keys_values
from workers.kernels.experts import choose_experts
from workers.kernels.matrix import Matrix, decode_row, encode_row, matmul, num_blocks
from workers.kernels.rows import (
    add_row,
    gate_gelu,
    gate_silu,
    norm_head,
    rms_norm,
    rotate,
    scale_row,
    softcap_row,
)
from workers.kernels.short_conv import short_conv, store_state
from workers.runtime.graph import Code, Rows

EMBED, GATHER, NORM, ENCODE, MATMUL = (
    int(code) for code in (Code.EMBED, Code.GATHER, Code.NORM, Code.ENCODE, Code.MATMUL)
)
BIAS, NORM_HEADS, ROTATE, STORE, ATTEND = (
    int(code) for code in (Code.BIAS, Code.NORM_HEADS, Code.ROTATE, Code.STORE, Code.ATTEND)
)
GATE, ADD, STORE_STATE, SHORT_CONV, SOFTCAP = (
    int(code) for code in (Code.GATE, Code.ADD, Code.STORE_STATE, Code.SHORT_CONV, Code.SOFTCAP)
)
CHOOSE, GROUP, ENCODE_CHOSEN, EXPERT_MATMUL, COMBINE = (
    int(code) for code in (Code.CHOOSE, Code.GROUP, Code.ENCODE_CHOSEN, Code.EXPERT_MATMUL, Code.COMBINE)
)
TOKENS, LOGITS = int(Rows.TOKENS), int(Rows.LOGITS)

ROWS_TOGETHER = 8
"""Encoded rows stand interleaved by eight at most: two threads never write to the same group."""


class Shape(NamedTuple):
    """The numbers of a ModelConfig that compiled code reads."""

    num_heads: int
    num_kv_heads: int
    head_dim: int
    num_chosen: int  # experts for each token
    norm_eps: float


class Weights(NamedTuple):
    """Arenas; a format's tuple picks its kernels when the step is compiled."""

    body: Any
    head: Any  # embedding and output
    vectors: NDArray[Any]  # float32


class Rotary(NamedTuple):
    """Cosines and sines of every rope, position and pair of lanes."""

    cosines: NDArray[Any]
    sines: NDArray[Any]
    num_positions: int
    rotary_dim: int


class Step(NamedTuple):
    """The arrays of a Batch, and the tiles of tokens that attention works on."""

    token_ids: NDArray[Any]  # (tokens,)
    positions: NDArray[Any]  # (tokens,)
    sequence_of_token: NDArray[Any]  # (tokens,)
    block_tables: NDArray[Any]  # (sequences, max_blocks)
    logit_rows: NDArray[Any]  # (rows,)
    tiles: NDArray[Any]  # (tiles + 1,) first tokens: a tile is a run of tokens of one sequence


class Workspace(NamedTuple):
    """What lives between two operations; buffers lie in two arenas at `starts`."""

    floats: NDArray[Any]
    encoded: NDArray[Any]
    starts: NDArray[Any]  # (buffers,)
    scratch: NDArray[Any]  # (ranks * scratch_size,) of attention
    scratch_size: int
    expert_ids: NDArray[Any]  # (tokens * chosen,)
    expert_weights: NDArray[Any]
    expert_starts: NDArray[Any]  # (experts + 1,) into the choices in the order of experts
    choice_at: NDArray[Any]  # (tokens * chosen,) which choice stands at a place of that order
    place_of: NDArray[Any]  # the inverse
    barrier: NDArray[Any]
    tasks: NDArray[Any]  # (operations,) how many tasks of an operation are taken


def compiled_step(fingerprint: str) -> Callable[..., None]:
    """The step that every rank of a team runs.

    `fingerprint` is read only so that numba, which keys its cache by the variables of a closure, compiles
    again when the kernels have changed.
    """

    @njit(nogil=True, cache=True, error_model="numpy")
    def step_of_rank(
        rank: int,
        size: int,
        operations: Any,
        shape: Shape,
        weights: Weights,
        rotary: Rotary,
        step: Step,
        cache: Any,
        work: Workspace,
    ) -> None:
        _ = fingerprint
        for index in range(len(operations)):
            op = operations[index]
            code = op.code
            if code == MATMUL:
                _multiply(op, weights, step, work, rank, size)
            elif code == ATTEND:
                _attend(op, index, shape, step, cache, work, rank)
            elif code == GROUP:
                if rank == 0:
                    _group_by_expert(op, shape, step, work)
            elif code == ENCODE_CHOSEN:
                _encode_chosen(op, shape, weights, work, rank, size)
            elif code == EXPERT_MATMUL:
                _multiply_by_expert(op, weights, work, rank, size)
            else:
                num_rows = _num_rows(op, shape, step)
                for row in range(_first_row(num_rows, rank, size), _first_row(num_rows, rank + 1, size)):
                    _work_on_row(op, row, num_rows, shape, weights, rotary, step, cache, work)
            if op.barrier:
                wait(work.barrier, size)

    return step_of_rank  # type: ignore[no-any-return]  # numba is untyped


@njit(error_model="numpy")
def _num_rows(op: Any, shape: Shape, step: Step) -> int:
    if op.rows == TOKENS:
        return len(step.token_ids)
    if op.rows == LOGITS:
        return len(step.logit_rows)
    return len(step.token_ids) * shape.num_chosen


@njit(error_model="numpy")
def _first_row(num_rows: int, rank: int, size: int) -> int:
    """Where a rank's share of the rows begins."""
    share = -(-num_rows * rank // (size * ROWS_TOGETHER)) * ROWS_TOGETHER
    return min(num_rows, share)


@njit(error_model="numpy")
def _work_on_row(
    op: Any,
    row: int,
    num_rows: int,
    shape: Shape,
    weights: Weights,
    rotary: Rotary,
    step: Step,
    cache: Any,
    work: Workspace,
) -> None:
    floats, code = work.floats, op.code
    source = work.starts[op.source] + row * op.source_width
    target = work.starts[op.target] + row * op.target_width
    if code == NORM:
        rms_norm(floats, source, weights.vectors, op.start, op.num_columns, shape.norm_eps, floats, target)
    elif code == ENCODE:
        rows = work.starts[op.target]
        if op.flag:
            encode_row(weights.head, work.encoded, rows, num_rows, row, op.num_columns, floats, source)
        else:
            encode_row(weights.body, work.encoded, rows, num_rows, row, op.num_columns, floats, source)
    elif code == GATE:
        if op.flag:
            gate_gelu(floats, source, op.count, floats, target)
        else:
            gate_silu(floats, source, op.count, floats, target)
    elif code == ROTATE:
        half = rotary.rotary_dim // 2
        table = (op.rope * rotary.num_positions + step.positions[row]) * half
        for head in range(op.count):
            start = target + head * shape.head_dim
            rotate(floats, start, rotary.rotary_dim, rotary.cosines, rotary.sines, table)
    elif code == STORE:
        block_size = cache.values.shape[3]
        position = step.positions[row]
        block = step.block_tables[step.sequence_of_token[row], position // block_size]
        keys = source + op.column
        values = keys + shape.num_kv_heads * shape.head_dim
        store_keys_values(cache, op.layer, block, position % block_size, floats, keys, values)
    elif code == ADD:
        add_row(floats, target, floats, source, op.num_columns)
    elif code == BIAS:
        add_row(floats, target, weights.vectors, op.start, op.num_columns)
    elif code == NORM_HEADS:
        for head in range(op.count):
            start = target + op.column + head * shape.head_dim
            norm_head(floats, start, weights.vectors, op.start, shape.head_dim, shape.norm_eps)
    elif code == EMBED:
        matrix = Matrix(op.start, op.num_rows, op.num_columns)
        decode_row(weights.head, matrix, step.token_ids[row], floats, target)
        if op.scale != 1:
            scale_row(floats, target, op.num_columns, op.scale)
    elif code == GATHER:
        token = work.starts[op.source] + step.logit_rows[row] * op.source_width
        for column in range(op.source_width):
            floats[target + column] = floats[token + column]
    elif code == STORE_STATE:
        block_size = cache.states.shape[2]
        position = step.positions[row]
        block = step.block_tables[step.sequence_of_token[row], position // block_size]
        store_state(cache.states, op.layer, block, position % block_size, floats, source, op.count)
    elif code == SHORT_CONV:
        short_conv(
            cache.states,
            op.layer,
            step.block_tables,
            step.sequence_of_token[row],
            step.positions[row],
            floats,
            source,
            weights.vectors,
            op.start,
            op.column,
            op.count,
            floats,
            target,
        )
    elif code == SOFTCAP:
        softcap_row(floats, target, op.target_width, op.softcap)
    elif code == CHOOSE:
        first = row * shape.num_chosen
        choose_experts(
            floats,
            source,
            op.num_columns,
            op.count,
            op.flag != 0,
            work.expert_ids,
            work.expert_weights,
            first,
        )
    elif code == COMBINE:
        _combine(op, row, target, work)


@njit(error_model="numpy")
def _multiply(op: Any, weights: Weights, step: Step, work: Workspace, rank: int, size: int) -> None:
    if op.rows == LOGITS:
        _multiply_rows(op, weights.head, len(step.logit_rows), work, rank, size)
    else:
        _multiply_rows(op, weights.body, len(step.token_ids), work, rank, size)


@njit(error_model="numpy")
def _multiply_rows(op: Any, arena: Any, num_rows: int, work: Workspace, rank: int, size: int) -> None:
    matrix = Matrix(op.start, op.num_rows, op.num_columns)
    blocks = num_blocks(arena, matrix)
    matmul(
        arena,
        matrix,
        work.encoded,
        work.starts[op.source],
        num_rows,
        work.floats,
        work.starts[op.target],
        op.target_width,
        op.flag != 0,
        blocks * rank // size,
        blocks * (rank + 1) // size,
    )


@njit(error_model="numpy")
def _attend(op: Any, index: int, shape: Shape, step: Step, cache: Any, work: Workspace, rank: int) -> None:
    num_tasks = (len(step.tiles) - 1) * shape.num_kv_heads
    heads_per_kv_head = shape.num_heads // shape.num_kv_heads
    while True:
        task = next_task(work.tasks, index)
        if task >= num_tasks:
            return
        tile, kv_head = task // shape.num_kv_heads, task % shape.num_kv_heads
        token = step.tiles[tile]
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
            work.scratch,
            rank * work.scratch_size,
            work.floats,
            work.starts[op.target] + token * op.target_width + column,
            op.target_width,
        )


@njit(error_model="numpy")
def _group_by_expert(op: Any, shape: Shape, step: Step, work: Workspace) -> None:
    """Sort the choices by expert, those of one expert in the order of their tokens."""
    num_choices = len(step.token_ids) * shape.num_chosen
    starts = work.expert_starts
    starts[: op.count + 1] = 0
    for choice in range(num_choices):
        starts[work.expert_ids[choice] + 1] += 1
    for expert in range(op.count):
        starts[expert + 1] += starts[expert]
    for choice in range(num_choices):
        expert = work.expert_ids[choice]
        work.choice_at[starts[expert]] = choice
        work.place_of[choice] = starts[expert]
        starts[expert] += 1
    for expert in range(op.count, 0, -1):
        starts[expert] = starts[expert - 1]
    starts[0] = 0


@njit(error_model="numpy")
def _encode_chosen(op: Any, shape: Shape, weights: Weights, work: Workspace, rank: int, size: int) -> None:
    for expert in range(rank, op.count, size):
        first, last = work.expert_starts[expert], work.expert_starts[expert + 1]
        rows = work.starts[op.target] + first * op.target_width
        for place in range(first, last):
            source_row = work.choice_at[place] // shape.num_chosen if op.source_rows == TOKENS else place
            source = work.starts[op.source] + source_row * op.source_width
            encode_row(
                weights.body,
                work.encoded,
                rows,
                last - first,
                place - first,
                op.num_columns,
                work.floats,
                source,
            )


@njit(error_model="numpy")
def _multiply_by_expert(op: Any, weights: Weights, work: Workspace, rank: int, size: int) -> None:
    for expert in range(op.count):
        first, last = work.expert_starts[expert], work.expert_starts[expert + 1]
        if first == last:
            continue
        matrix = Matrix(op.start + expert * op.stride, op.num_rows, op.num_columns)
        blocks = num_blocks(weights.body, matrix)
        matmul(
            weights.body,
            matrix,
            work.encoded,
            work.starts[op.source] + first * op.source_width,
            last - first,
            work.floats,
            work.starts[op.target] + first * op.target_width,
            op.target_width,
            False,
            blocks * rank // size,
            blocks * (rank + 1) // size,
        )


@njit(error_model="numpy")
def _combine(op: Any, row: int, target: int, work: Workspace) -> None:
    floats = work.floats
    for column in range(op.target_width):
        floats[target + column] = 0
    for choice in range(row * op.count, (row + 1) * op.count):
        source = work.starts[op.source] + work.place_of[choice] * op.source_width
        share = work.expert_weights[choice]
        for column in range(op.target_width):
            floats[target + column] += share * floats[source + column]
