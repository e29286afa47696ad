"""Recurrences, divided into tasks of the threads: a sequence and a part of its state each."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.barrier import next_task
from cactus_actors.workers.kernels.causal_conv import causal_conv
from cactus_actors.workers.kernels.delta_rule import COLUMNS_OF_PART, delta_rule
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.selective_scan import selective_scan
from cactus_actors.workers.kernels.shift import shift
from cactus_actors.workers.runtime.op_codes import OpCode
from cactus_actors.workers.runtime.step_arguments import (
    END_OF_DRAFTS,
    END_OF_KNOWN,
    FIRST_TOKEN,
    NUM_SEQUENCES,
    SAVE_AT,
    SAVE_SLOT,
    SLOT,
    SOURCE_SLOT,
    PackedWeights,
    StepInputs,
    Workspace,
)

CAUSAL_CONV, SELECTIVE_SCAN, SHIFT = map(int, (OpCode.CAUSAL_CONV, OpCode.SELECTIVE_SCAN, OpCode.SHIFT))


@internal(error_model="numpy")
def recur_in_tasks(
    op: Any, index: int, weights: PackedWeights, step: StepInputs, slots: Any, work: Workspace, rank: int, size: int
) -> None:
    """Run a rank's tasks of a recurrence over the known tokens of each sequence, then over its drafts.

    The known tokens advance the state in the sequence's slot; on the way it may be saved in another slot. Drafts
    advance a copy.
    """
    floats_of_slot, flat = slots.shape[1], slots.reshape(slots.size)
    states, part_size = step.states, op.part_size
    copy = rank * work.scratch_size
    while True:
        task = next_task(work.tasks, index * size)
        if task >= step.sizes[NUM_SEQUENCES] * op.num_parts:
            return
        sequence, part = task // op.num_parts, task % op.num_parts
        place = op.state_start + part * part_size
        state = states[sequence, SLOT] * floats_of_slot + place
        source = states[sequence, SOURCE_SLOT]
        if source < 0:
            for offset in range(part_size):
                flat[state + offset] = 0
        elif source != states[sequence, SLOT]:
            _copy(flat, source * floats_of_slot + place, flat, state, part_size)
        first, known, end = (
            states[sequence, FIRST_TOKEN],
            states[sequence, END_OF_KNOWN],
            states[sequence, END_OF_DRAFTS],
        )
        save_at = states[sequence, SAVE_AT]
        if save_at > first:
            _advance(op, flat, state, part, weights, work, first, save_at)
            _copy(flat, state, flat, states[sequence, SAVE_SLOT] * floats_of_slot + place, part_size)
            first = save_at
        if known > first:
            _advance(op, flat, state, part, weights, work, first, known)
        if end > known:
            _copy(flat, state, work.scratch, copy, part_size)
            _advance(op, work.scratch, copy, part, weights, work, known, end)


@internal(error_model="numpy")
def _copy(source: Any, source_start: int, target: Any, target_start: int, count: int) -> None:
    for offset in range(count):
        target[target_start + offset] = source[source_start + offset]


@internal(error_model="numpy")
def _advance(
    op: Any, state: Any, state_start: int, part: int, weights: PackedWeights, work: Workspace, first: int, end: int
) -> None:
    """Advance a part of a state by the tokens `first` to before `end`, and write their results."""
    floats = work.floats
    rows = work.starts[op.source] + first * op.source_width
    out = work.starts[op.target] + first * op.target_width
    if op.code == CAUSAL_CONV:
        causal_conv(
            state,
            state_start,
            part,
            floats,
            rows + op.source_column,
            op.source_width,
            end - first,
            weights.vectors,
            op.start,
            op.column,
            op.count,
            op.bias_start,
            floats,
            out,
            op.target_width,
        )
        return
    if op.code == SHIFT:
        shift(
            state,
            state_start,
            part,
            floats,
            rows,
            op.source_width,
            end - first,
            op.count,
            floats,
            out,
            op.target_width,
        )
        return
    parts_of_head = -(-op.value_dim // COLUMNS_OF_PART)
    head, column = part // parts_of_head, part % parts_of_head * COLUMNS_OF_PART
    key_head = head // (op.num_value_heads // op.num_key_heads)
    if op.code == SELECTIVE_SCAN:
        keys = rows + op.num_value_heads * op.value_dim
        queries = keys + op.num_key_heads * op.key_dim
        selective_scan(
            state,
            state_start,
            op.key_dim,
            floats,
            queries + key_head * op.key_dim,
            keys + key_head * op.key_dim,
            rows + head * op.value_dim + column,
            queries + op.num_key_heads * op.key_dim + head,
            op.num_value_heads,
            op.source_width,
            end - first,
            min(COLUMNS_OF_PART, op.value_dim - column),
            weights.vectors[op.start + head],
            floats,
            out + head * op.value_dim + column,
            op.target_width,
        )
        return
    keys = rows + op.num_key_heads * op.key_dim
    values = keys + op.num_key_heads * op.key_dim
    delta_rule(
        state,
        state_start,
        op.key_dim,
        floats,
        rows + key_head * op.key_dim,
        keys + key_head * op.key_dim,
        values + head * op.value_dim + column,
        values + op.num_value_heads * op.value_dim + head,
        op.num_value_heads,
        op.source_width,
        end - first,
        min(COLUMNS_OF_PART, op.value_dim - column),
        op.scale,
        floats,
        out + head * op.value_dim + column,
        op.target_width,
    )
