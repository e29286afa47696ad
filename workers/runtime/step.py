"""The compiled step: every thread runs the operations of a program over the tokens of a batch.

Operations over rows give each thread rows of its own, products and attention give it columns or tasks of its
own; a barrier stands where one thread reads what another has written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import njit
from numpy.typing import NDArray

from workers.kernels.attention import attend, fetch_first_keys
from workers.kernels.barrier import cycles, follow, next_task, notify, wait
from workers.kernels.cache import store_keys_values
from workers.kernels.chunks import PART
from workers.kernels.experts import choose_experts
from workers.kernels.matrix import WIDTH_MULTIPLE, Matrix, decode_row, encode_row, matmul, num_blocks
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
from workers.kernels.softmax import survey
from workers.runtime.graph import Code, Rows

EMBED, GATHER, NORM, ENCODE, MATMUL = map(int, (Code.EMBED, Code.GATHER, Code.NORM, Code.ENCODE, Code.MATMUL))
BIAS, NORM_HEADS, ROTATE, STORE, ATTEND = map(
    int, (Code.BIAS, Code.NORM_HEADS, Code.ROTATE, Code.STORE, Code.ATTEND)
)
GATE, ADD, SOFTCAP, STORE_STATE, CHOOSE, COMBINE = map(
    int, (Code.GATE, Code.ADD, Code.SOFTCAP, Code.STORE_STATE, Code.CHOOSE, Code.COMBINE)
)
SURVEY, GROUP, ENCODE_CHOSEN = map(int, (Code.SURVEY, Code.GROUP, Code.ENCODE_CHOSEN))
TOKENS, LOGITS, CHOICES = int(Rows.TOKENS), int(Rows.LOGITS), int(Rows.CHOICES)

ROWS_TOGETHER = 8
"""Encoded rows stand interleaved by eight at most: two threads never write to the same group."""

NUM_TOKENS, NUM_LOGITS, NUM_TILES = range(3)

PIECES = 8
"""Of a thread's share of a matrix: one that is held up leaves the rest to the others."""

BLOCKS_TOGETHER = 2
"""A tile has as many blocks at most: pieces are cut at multiples of it."""

FETCHED_BYTES = 128 * 1024
"""Of a thread's share of the next matrix, at most, while it waits for others."""


class Shape(NamedTuple):
    """The numbers of a ModelConfig that compiled code reads."""

    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_eps: float


class Weights(NamedTuple):
    """Arenas; a format's tuple picks its kernels when the step is compiled."""

    body: Any
    head: Any  # embedding, output, routers
    vectors: NDArray[Any]  # float32


class Rotary(NamedTuple):
    """Cosines and sines of every rope, position and pair of lanes."""

    cosines: NDArray[Any]
    sines: NDArray[Any]
    num_positions: int
    rotary_dim: int


class Step(NamedTuple):
    """A Batch, copied to where it stays, and the tiles of tokens that attention works on."""

    sizes: NDArray[Any]  # int64: NUM_TOKENS, NUM_LOGITS, NUM_TILES
    token_ids: NDArray[Any]  # (max_tokens,)
    positions: NDArray[Any]  # (max_tokens,)
    sequence_of_token: NDArray[Any]  # (max_tokens,)
    block_tables: NDArray[Any]  # (max_sequences, max_blocks)
    logit_rows: NDArray[Any]  # (max_rows,)
    tiles: NDArray[Any]  # (max_tokens + 1,) first tokens: a tile is a run of tokens of one sequence


class Workspace(NamedTuple):
    """What lives between two operations; buffers lie in two arenas at `starts`."""

    floats: NDArray[Any]
    encoded: NDArray[Any]
    starts: NDArray[Any]  # (buffers,)
    scratch: NDArray[Any]  # (ranks * scratch_size,) of attention
    scratch_size: int
    barrier: NDArray[Any]
    tasks: NDArray[Any]  # (operations * ranks,) how many tasks, or pieces of a share, are taken


class Choices(NamedTuple):
    """Which experts the tokens of a step have chosen; a choice is a token and one of its experts."""

    num_chosen: int  # experts for each token
    ids: NDArray[Any]  # (choices,)
    weights: NDArray[Any]  # (choices,) float32
    starts: NDArray[Any]  # (experts + 1,) where an expert's choices begin when they are sorted
    choice_at: NDArray[Any]  # (choices,) which choice stands at a place of that order
    place_of: NDArray[Any]  # the inverse


def compiled_step(fingerprint: str) -> Callable[..., None]:
    """The step that every rank of a team runs.

    `fingerprint` is read only so that numba, which keys its cache by the variables of a closure, compiles
    again when the kernels or the codes of operations have changed. `choices` is None for a model without
    experts, `states` (of the cache) for one without short convolutions: their operations are then not even
    compiled. `profile`, if it is not None, is (ranks, operations, 2) int64: every rank adds the cycles that
    it spends in each operation, and waiting after it.
    """

    @njit(nogil=True, cache=True, error_model="numpy")
    def step_of_rank(
        rank: int,
        size: int,
        signal: Any,
        seen: int,
        operations: Any,
        shape: Shape,
        weights: Weights,
        rotary: Rotary,
        step: Step,
        cache: Any,
        states: Any,
        choices: Any,
        work: Workspace,
        profile: Any,
    ) -> None:
        _ = fingerprint
        while True:
            if rank == 0:
                notify(signal)
            else:
                seen = follow(signal, seen)
                if seen < 0:
                    return
            fetched = 0  # bytes of the next matrix's share
            for index in range(len(operations)):
                op = operations[index]
                code = op.code
                if profile is not None:
                    profile[rank, index, 0] -= cycles()
                if code == MATMUL:
                    fetched = 0
                    _multiply(op, index, weights, step, work, rank, size)
                elif code == ATTEND:
                    _attend(op, index, shape, step, cache, work, rank, size)
                elif code == SURVEY:
                    _survey(op, step, work, rank, size)
                elif code >= GROUP:
                    if choices is not None:
                        _run_experts(op, weights, step, choices, work, rank, size)
                else:
                    num_rows = _num_rows(op, step, choices)
                    if op.is_sliced and num_rows < size * ROWS_TOGETHER:
                        first, last, part, parts = 0, num_rows, rank, size
                    else:
                        first, last = _first_row(num_rows, rank, size), _first_row(num_rows, rank + 1, size)
                        part, parts = 0, 1
                    for row in range(first, last):
                        _work_on_row(
                            op,
                            row,
                            num_rows,
                            part,
                            parts,
                            shape,
                            weights,
                            rotary,
                            step,
                            cache,
                            states,
                            choices,
                            work,
                        )
                if profile is not None:
                    profile[rank, index, 0] += cycles()
                    profile[rank, index, 1] -= cycles()
                if op.barrier:
                    fetched = _meet(op, fetched, weights, work, rank, size)
                if profile is not None:
                    profile[rank, index, 1] += cycles()
            if rank == 0:
                return

    return step_of_rank  # type: ignore[no-any-return]  # numba is untyped


@njit(error_model="numpy", inline="always")
def _meet(op: Any, fetched: int, weights: Weights, work: Workspace, rank: int, size: int) -> Any:
    """Wait for the others, and fetch more of the next matrix's share meanwhile; how much of it is fetched."""
    start = op.next_start + op.next_bytes * rank // size
    data = weights.head.data if op.next_is_head else weights.body.data
    return wait(work.barrier, size, data, start + fetched, start + FETCHED_BYTES) - start


@njit(error_model="numpy", inline="always")
def _num_rows(op: Any, step: Step, choices: Any) -> Any:
    if op.rows == LOGITS:
        return step.sizes[NUM_LOGITS]
    num_tokens = step.sizes[NUM_TOKENS]
    if choices is not None and op.rows == CHOICES:
        return num_tokens * choices.num_chosen
    return num_tokens


@njit(error_model="numpy", inline="always")
def _first_row(num_rows: int, rank: int, size: int) -> int:
    """Where a rank's share of the rows begins."""
    share = -(-num_rows * rank // (size * ROWS_TOGETHER)) * ROWS_TOGETHER
    return min(num_rows, share)


@njit(error_model="numpy", inline="always")
def _work_on_row(
    op: Any,
    row: int,
    num_rows: int,
    part: int,  # of `parts` slices of the row
    parts: int,
    shape: Shape,
    weights: Weights,
    rotary: Rotary,
    step: Step,
    cache: Any,
    states: Any,
    choices: Any,
    work: Workspace,
) -> None:
    floats, code = work.floats, op.code
    source = work.starts[op.source] + row * op.source_width
    target = work.starts[op.target] + row * op.target_width
    units = -(-op.slice_width // WIDTH_MULTIPLE)
    first, last = units * part // parts * WIDTH_MULTIPLE, units * (part + 1) // parts * WIDTH_MULTIPLE
    first_head, last_head = shape.num_kv_heads * part // parts, shape.num_kv_heads * (part + 1) // parts
    if code == NORM:
        epsilon = shape.norm_eps
        rms_norm(
            floats,
            source,
            weights.vectors,
            op.start,
            op.num_columns,
            epsilon,
            floats,
            target,
            first,
            last,
        )
    elif code == ENCODE:
        rows, encoded, width = work.starts[op.target], work.encoded, op.num_columns
        if op.flag:
            encode_row(weights.head, encoded, rows, num_rows, row, width, floats, source, first, last)
        else:
            encode_row(weights.body, encoded, rows, num_rows, row, width, floats, source, first, last)
    elif code == GATE:
        if op.flag:
            gate_gelu(floats, source, op.count, floats, target, first, last)
        else:
            gate_silu(floats, source, op.count, floats, target, first, last)
    elif code == ROTATE:
        half = rotary.rotary_dim // 2
        table = (op.rope * rotary.num_positions + step.positions[row]) * half
        shared = shape.num_heads // shape.num_kv_heads
        for head in range(first_head * shared, last_head * shared):
            start = target + head * shape.head_dim
            rotate(floats, start, rotary.rotary_dim, rotary.cosines, rotary.sines, table)
        for head in range(shape.num_heads + first_head, shape.num_heads + last_head):
            start = target + head * shape.head_dim
            rotate(floats, start, rotary.rotary_dim, rotary.cosines, rotary.sines, table)
    elif code == STORE:
        block_size = cache.values.shape[3]
        position = step.positions[row]
        block = step.block_tables[step.sequence_of_token[row], position // block_size]
        keys = source + op.column
        values = keys + shape.num_kv_heads * shape.head_dim
        slot = position % block_size
        store_keys_values(cache, op.layer, block, slot, floats, keys, values, first_head, last_head)
    elif code == ADD:
        count = min(last, op.num_columns) - first
        add_row(floats, target + first, floats, source + first, count)
    elif code == BIAS:
        count = min(last, op.num_columns) - first
        add_row(floats, target + first, weights.vectors, op.start + first, count)
    elif code == NORM_HEADS:
        shared = op.count // shape.num_kv_heads
        for head in range(first_head * shared, last_head * shared):
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
    elif code == SOFTCAP:
        softcap_row(floats, target, op.target_width, op.softcap)
    elif code in (CHOOSE, COMBINE):
        if choices is not None:
            _choose_or_combine(op, row, source, target, choices, work)
    elif states is not None:
        _convolve(op, row, source, target, weights, step, states, floats)


@njit(error_model="numpy")
def _convolve(
    op: Any, row: int, source: int, target: int, weights: Weights, step: Step, states: Any, floats: Any
) -> None:
    sequence, position = step.sequence_of_token[row], step.positions[row]
    if op.code == STORE_STATE:
        block_size = states.shape[2]
        block = step.block_tables[sequence, position // block_size]
        store_state(states, op.layer, block, position % block_size, floats, source, op.count)
    else:
        short_conv(
            states,
            op.layer,
            step.block_tables,
            sequence,
            position,
            floats,
            source,
            weights.vectors,
            op.start,
            op.column,
            op.count,
            floats,
            target,
        )


@njit(error_model="numpy", inline="always")
def _multiply(
    op: Any, index: int, weights: Weights, step: Step, work: Workspace, rank: int, size: int
) -> None:
    num_rows = step.sizes[NUM_LOGITS] if op.rows == LOGITS else step.sizes[NUM_TOKENS]
    if op.is_head:
        _multiply_rows(op, index, weights.head, num_rows, work, rank, size)
    else:
        _multiply_rows(op, index, weights.body, num_rows, work, rank, size)


@njit(error_model="numpy")
def _multiply_rows(
    op: Any, index: int, arena: Any, num_rows: int, work: Workspace, rank: int, size: int
) -> None:
    """Work through the pieces of a thread's own share of the blocks, then through what others have left."""
    matrix = Matrix(op.start, op.num_rows, op.num_columns)
    blocks = num_blocks(arena, matrix)
    for victim in range(size):
        owner = (rank + victim) % size
        while True:
            piece = next_task(work.tasks, index * size + owner)
            if piece >= PIECES:
                break
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
                _first_block(blocks, owner * PIECES + piece, size * PIECES),
                _first_block(blocks, owner * PIECES + piece + 1, size * PIECES),
            )


@njit(error_model="numpy", inline="always")
def _first_block(blocks: int, piece: int, pieces: int) -> int:
    """Where one of equal pieces of the blocks begins."""
    return min(blocks, -(-blocks // BLOCKS_TOGETHER) * piece // pieces * BLOCKS_TOGETHER)


@njit(error_model="numpy", inline="always")
def _attend(
    op: Any, index: int, shape: Shape, step: Step, cache: Any, work: Workspace, rank: int, size: int
) -> None:
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


@njit(error_model="numpy", inline="always")
def _fetch_keys(op: Any, task: int, shape: Shape, step: Step, cache: Any) -> None:
    """Let the first keys of a thread's next task arrive while it works on another.

    Tiles of several tokens follow each other in the same keys.
    """
    tile, kv_head = task // shape.num_kv_heads, task % shape.num_kv_heads
    token = step.tiles[tile]
    if step.tiles[tile + 1] - token == 1:
        sequence, position = step.sequence_of_token[token], step.positions[token]
        fetch_first_keys(cache, op.layer, kv_head, step.block_tables, sequence, position, op.window)


@njit(error_model="numpy")
def _survey(op: Any, step: Step, work: Workspace, rank: int, size: int) -> None:
    """Look at a thread's share of the columns, most of which it has computed just now."""
    num_parts = -(-op.num_columns // PART)
    for row in range(step.sizes[NUM_LOGITS]):
        survey(
            work.floats,
            work.starts[op.source] + row * op.source_width,
            op.num_columns,
            num_parts * rank // size,
            num_parts * (rank + 1) // size,
            work.floats,
            work.starts[op.target] + row * op.target_width,
        )


@njit(error_model="numpy")
def _choose_or_combine(
    op: Any, row: int, source: int, target: int, choices: Choices, work: Workspace
) -> None:
    first = row * choices.num_chosen
    if op.code == CHOOSE:
        choose_experts(
            work.floats,
            source,
            op.num_columns,
            op.count,
            op.flag != 0,
            choices.ids,
            choices.weights,
            first,
        )
        return
    floats = work.floats
    for column in range(op.target_width):
        floats[target + column] = 0
    for choice in range(first, first + choices.num_chosen):
        place = work.starts[op.source] + choices.place_of[choice] * op.source_width
        share = choices.weights[choice]
        for column in range(op.target_width):
            floats[target + column] += share * floats[place + column]


@njit(error_model="numpy")
def _run_experts(
    op: Any, weights: Weights, step: Step, choices: Choices, work: Workspace, rank: int, size: int
) -> None:
    if op.code == GROUP:
        if rank == 0:
            _group_by_expert(op.count, step.sizes[NUM_TOKENS] * choices.num_chosen, choices)
    elif op.code == ENCODE_CHOSEN:
        _encode_chosen(op, weights, choices, work, rank, size)
    else:
        _multiply_by_expert(op, weights, choices, work, rank, size)


@njit(error_model="numpy")
def _group_by_expert(num_experts: int, num_choices: int, choices: Choices) -> None:
    """Sort the choices by expert, those of one expert in the order of their tokens."""
    starts = choices.starts
    starts[: num_experts + 1] = 0
    for choice in range(num_choices):
        starts[choices.ids[choice] + 1] += 1
    for expert in range(num_experts):
        starts[expert + 1] += starts[expert]
    for choice in range(num_choices):
        expert = choices.ids[choice]
        choices.choice_at[starts[expert]] = choice
        choices.place_of[choice] = starts[expert]
        starts[expert] += 1
    for expert in range(num_experts, 0, -1):
        starts[expert] = starts[expert - 1]
    starts[0] = 0


@njit(error_model="numpy")
def _encode_chosen(
    op: Any, weights: Weights, choices: Choices, work: Workspace, rank: int, size: int
) -> None:
    for expert in range(rank, op.count, size):
        first, last = choices.starts[expert], choices.starts[expert + 1]
        rows = work.starts[op.target] + first * op.target_width
        for place in range(first, last):
            is_of_token = op.source_rows == TOKENS
            source_row = choices.choice_at[place] // choices.num_chosen if is_of_token else place
            encode_row(
                weights.body,
                work.encoded,
                rows,
                last - first,
                place - first,
                op.num_columns,
                work.floats,
                work.starts[op.source] + source_row * op.source_width,
                0,
                op.source_width,
            )


@njit(error_model="numpy")
def _multiply_by_expert(
    op: Any, weights: Weights, choices: Choices, work: Workspace, rank: int, size: int
) -> None:
    for expert in range(op.count):
        first, last = choices.starts[expert], choices.starts[expert + 1]
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
