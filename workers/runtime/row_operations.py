"""Operations on single rows: norms, activations, rotary embeddings, stores into the cache."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.cache_stores import store_keys_values
from cactus_actors.workers.kernels.encoder_kernels import (
    activate_gelu,
    activate_tanh_gelu,
    clamp_row,
    layer_norm,
    merge_rows,
    standardise_row,
)
from cactus_actors.workers.kernels.grid_conv import grid_conv
from cactus_actors.workers.kernels.head_kernels import (
    delta_gates,
    gated_norm_head,
    norm_gated_head,
    scan_gates,
    sigmoid_gate,
    unit_head,
)
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE, Matrix, decode_row, encode_row
from cactus_actors.workers.kernels.row_kernels import (
    add_row,
    gate_clamped,
    gate_gelu,
    gate_head,
    gate_silu,
    gelu_times,
    growth_of_queries,
    norm_head,
    norm_plain_head,
    rms_norm,
    rotate,
    scale_row,
    softcap_row,
)
from cactus_actors.workers.kernels.short_conv import short_conv, store_state
from cactus_actors.workers.kernels.stream_kernels import (
    add_to_streams,
    correct_streams,
    cut_gates,
    level_streams,
    mix_streams,
    take_stream,
)
from cactus_actors.workers.runtime.attention_tasks import cached_layer, token_of_row
from cactus_actors.workers.runtime.expert_operations import choose_or_combine
from cactus_actors.workers.runtime.op_codes import OpCode
from cactus_actors.workers.runtime.step_arguments import (
    GRID_COLUMNS,
    ExpertChoices,
    ModelShape,
    PackedWeights,
    RotaryArrays,
    StepInputs,
    Workspace,
)

EMBED, GATHER, NORM, ENCODE, GATE = map(int, (OpCode.EMBED, OpCode.GATHER, OpCode.NORM, OpCode.ENCODE, OpCode.GATE))
BIAS, NORM_HEADS, ROTATE, STORE, ADD = map(
    int, (OpCode.BIAS, OpCode.NORM_HEADS, OpCode.ROTATE, OpCode.STORE, OpCode.ADD)
)
DELTA_GATES, UNIT_HEADS, GATED_NORM = map(int, (OpCode.DELTA_GATES, OpCode.UNIT_HEADS, OpCode.GATED_NORM))
SIGMOID_GATE, GELU_TIMES = map(int, (OpCode.SIGMOID_GATE, OpCode.GELU_TIMES))
SOFTCAP, STORE_STATE, CHOOSE, COMBINE = map(int, (OpCode.SOFTCAP, OpCode.STORE_STATE, OpCode.CHOOSE, OpCode.COMBINE))
NORM_COLUMNS, SCALE, SCORE = map(int, (OpCode.NORM_COLUMNS, OpCode.SCALE, OpCode.SCORE))
SCALE_QUERIES, GATE_HEADS, CLAMPED_GATE = map(int, (OpCode.SCALE_QUERIES, OpCode.GATE_HEADS, OpCode.CLAMPED_GATE))
LAYER_NORM, ACTIVATE, MERGE, JOIN = map(int, (OpCode.LAYER_NORM, OpCode.ACTIVATE, OpCode.MERGE, OpCode.JOIN))
ADD_GIVEN, GRID_CONV = int(OpCode.ADD_GIVEN), int(OpCode.GRID_CONV)
CLAMP, STANDARDISE = int(OpCode.CLAMP), int(OpCode.STANDARDISE)
TAKE_STREAM, MIX_STREAMS, CORRECT_STREAMS = map(int, (OpCode.TAKE_STREAM, OpCode.MIX_STREAMS, OpCode.CORRECT_STREAMS))
ADD_TO_STREAMS, LEVEL_STREAMS, AVERAGE_STREAMS = map(
    int, (OpCode.ADD_TO_STREAMS, OpCode.LEVEL_STREAMS, OpCode.AVERAGE_STREAMS)
)


@internal(error_model="numpy", inline="always")
def work_on_row(
    op: Any,
    row: int,
    num_rows: int,
    part: int,  # of `parts` slices of the row
    parts: int,
    shape: ModelShape,
    weights: PackedWeights,
    rotary: RotaryArrays,
    step: StepInputs,
    cache: Any,
    choices: ExpertChoices,
    work: Workspace,
) -> None:
    """Run an operation on one row, or on a slice of it."""
    floats, code = work.floats, op.code
    source = work.starts[op.source] + row * op.source_width
    target = work.starts[op.target] + row * op.target_width
    units = -(-op.slice_width // WIDTH_MULTIPLE)
    first, last = units * part // parts * WIDTH_MULTIPLE, units * (part + 1) // parts * WIDTH_MULTIPLE
    first_head, last_head = op.num_kv_heads * part // parts, op.num_kv_heads * (part + 1) // parts
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
        for padding in range(width, last):  # a product leaves what was there
            floats[source + padding] = 0
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
        rotary_dim = rotary.dims[op.rope]
        table = rotary.starts[op.rope] + step.rotary_rows[token_of_row(op, row, step)] * (rotary_dim // 2)
        shared = op.num_heads // op.num_kv_heads
        lanes = target + op.column
        for head in range(first_head * shared, last_head * shared):
            rotate(floats, lanes + head * op.head_dim, rotary_dim, rotary.cosines, rotary.sines, table)
        last_key = op.num_heads + (first_head if op.flag else last_head)
        for head in range(op.num_heads + first_head, last_key):
            rotate(floats, lanes + head * op.head_dim, rotary_dim, rotary.cosines, rotary.sines, table)
    elif code == STORE:
        block_size = cache.states.shape[2]
        position = step.positions[row]
        block = step.block_tables[step.sequence_of_token[row], position // block_size]
        keys = source + op.column
        values = keys + op.num_kv_heads * op.head_dim
        slot = position % block_size
        store_keys_values(cache, cached_layer(op), block, slot, floats, keys, values, first_head, last_head)
    elif code == ADD:
        count = min(last, op.num_columns) - first
        add_row(floats, target + first, floats, source + first, count)
    elif code == ADD_GIVEN:
        token = token_of_row(op, row, step)
        if step.is_given[token]:
            count = min(last, op.count) - first
            add_row(floats, target + first, step.given[token], op.column + first, count)
    elif code == BIAS:
        count = min(last, op.num_columns) - first
        add_row(floats, target + first, weights.vectors, op.start + first, count)
    elif code == NORM_HEADS:
        shared = op.count // op.num_kv_heads
        for head in range(first_head * shared, last_head * shared):
            start = target + op.column + head * op.head_dim
            if op.flag:
                norm_plain_head(floats, start, op.head_dim, shape.norm_eps)
            else:
                norm_head(floats, start, weights.vectors, op.start, op.head_dim, shape.norm_eps)
    elif code == EMBED:
        if op.flag and step.is_given[row]:
            for column in range(op.num_columns):
                floats[target + column] = step.given[row, column]
            for padding in range(op.num_columns, op.target_width):
                floats[target + padding] = 0
        else:
            matrix = Matrix(op.start, op.num_rows, op.num_columns)
            token = step.token_ids[row]
            decode_row(weights.head, matrix, token if token < op.num_rows else 0, floats, target)
            if op.scale != 1:
                scale_row(floats, target, op.num_columns, op.scale)
    elif code == GATHER:
        token = work.starts[op.source] + step.logit_rows[row] * op.source_width
        for column in range(op.source_width):
            floats[target + column] = floats[token + column]
    elif code == JOIN:
        for column in range(op.num_columns):
            floats[target + op.column + column] = floats[source + column]
        for padding in range(op.column + op.num_columns, op.target_width):
            floats[target + padding] = 0
    elif code == SOFTCAP:
        softcap_row(floats, target, op.target_width, op.softcap)
    elif code == NORM_COLUMNS:
        norm_head(floats, target + op.column, weights.vectors, op.start, op.count, shape.norm_eps)
    elif code == SCALE:
        factor = weights.vectors[op.start] if op.flag else op.scale
        scale_row(floats, target + first, min(last, op.num_columns) - first, factor)
    elif code == SCALE_QUERIES:
        growth = growth_of_queries(step.positions[token_of_row(op, row, step)], op.scale, op.count)
        shared = op.num_heads // op.num_kv_heads * op.head_dim
        if growth != 1:
            scale_row(floats, target + first_head * shared, (last_head - first_head) * shared, growth)
    elif code == GATE_HEADS:
        shared = op.num_heads // op.num_kv_heads
        for head in range(first_head * shared, last_head * shared):
            gate_head(floats, target + head * op.head_dim, op.head_dim, floats[source + head])
    elif code in (SCORE, CHOOSE, COMBINE):
        choose_or_combine(op, row, source, target, weights.vectors, choices, work)
    elif code == SIGMOID_GATE:
        count = min(last, op.count) - first
        if op.flag:
            gate_head(floats, target + first, count, floats[source])
        else:
            sigmoid_gate(floats, target + first, floats, source + op.column + first, count)
    elif code == CLAMPED_GATE:
        expert = choices.ids[choices.choice_at[row]]
        biases = op.start + expert * 2 * op.count
        gate_clamped(
            floats,
            source,
            op.count,
            weights.vectors,
            biases,
            op.scale,
            op.softcap,
            floats,
            target,
            first,
            last,
        )
    elif code == GELU_TIMES:
        count = min(last, op.count) - first
        gelu_times(floats, target + first, floats, source + op.column + first, count)
    elif code in (DELTA_GATES, UNIT_HEADS, GATED_NORM):
        _work_on_heads(op, source, target, part, parts, shape, weights, floats)
    elif code in (LAYER_NORM, ACTIVATE, MERGE, CLAMP, STANDARDISE):
        _work_on_patch(op, row, target, first, last, weights, work)
    elif code >= TAKE_STREAM:
        _work_on_streams(op, source, target, weights, floats)
    elif code == GRID_CONV:
        columns = step.sizes[GRID_COLUMNS]
        grid_conv(
            floats,
            work.starts[op.source],
            op.source_width,
            row,
            num_rows // columns,
            columns,
            op.window,
            weights.vectors,
            op.start,
            op.column,
            op.count,
            target,
        )
    else:
        _convolve(op, row, source, target, weights, step, cache.states, floats)


@internal(error_model="numpy")
def _work_on_heads(
    op: Any, source: int, target: int, part: int, parts: int, shape: ModelShape, weights: PackedWeights, floats: Any
) -> None:
    """An operation on the heads of a recurrence."""
    if op.code == DELTA_GATES and op.flag:
        scan_gates(
            floats,
            source + op.source_column,
            weights.vectors,
            op.start,
            op.num_value_heads,
            floats,
            target + op.column,
        )
    elif op.code == DELTA_GATES:
        delta_gates(floats, source, weights.vectors, op.start, op.num_value_heads, floats, target + op.column)
    elif op.code == UNIT_HEADS:
        for head in range(op.count * part // parts, op.count * (part + 1) // parts):
            unit_head(floats, target + op.column + head * op.key_dim, op.key_dim)
    else:
        heads, value_dim = op.num_value_heads, op.value_dim
        for head in range(heads * part // parts, heads * (part + 1) // parts):
            start, gate = target + head * value_dim, source + op.column + head * value_dim
            if op.flag:
                gains = op.start + head * value_dim
                norm_gated_head(floats, start, weights.vectors, gains, floats, gate, value_dim, shape.norm_eps)
            else:
                gated_norm_head(floats, start, weights.vectors, op.start, floats, gate, value_dim, shape.norm_eps)
        for padding in range(heads * value_dim, op.target_width if part == parts - 1 else 0):
            floats[target + padding] = 0


@internal(error_model="numpy")
def _work_on_patch(
    op: Any, row: int, target: int, first: int, last: int, weights: PackedWeights, work: Workspace
) -> None:
    """An operation of an encoder on the row at `target`."""
    floats, width = work.floats, op.num_columns
    if op.code == LAYER_NORM:
        source = work.starts[op.source] + row * op.source_width
        layer_norm(
            floats,
            source,
            weights.vectors,
            op.start,
            op.bias_start,
            width,
            op.epsilon,
            floats,
            target,
            first,
            last,
        )
    elif op.code == ACTIVATE:
        count = min(last, width) - first
        if op.flag:
            activate_gelu(floats, target + first, count)
        else:
            activate_tanh_gelu(floats, target + first, count)
    elif op.code == CLAMP:
        source = work.starts[op.source] + row * op.source_width
        low, high = weights.vectors[op.start], weights.vectors[op.start + 1]
        clamp_row(floats, source, width, low, high, target + op.column)
        if op.column + width + WIDTH_MULTIPLE > op.target_width:
            for padding in range(op.column + width, op.target_width):
                floats[target + padding] = 0
    elif op.code == STANDARDISE:
        count = min(last, width) - first
        standardise_row(floats, target + first, weights.vectors, op.start + first, op.bias_start + first, count)
    else:
        source = work.starts[op.source] + row * op.count * op.source_width
        merge_rows(floats, source, op.source_width, op.count, width, op.flag != 0, target, op.target_width)


@internal(error_model="numpy")
def _work_on_streams(op: Any, source: int, target: int, weights: PackedWeights, floats: Any) -> None:
    """An operation on several residual streams."""
    width, num_streams = op.column, op.count
    if op.code == TAKE_STREAM:
        has_gains, first = op.flag != 0, source + op.source_column
        take_stream(floats, first, weights.vectors, op.start, has_gains, width, target, op.target_width)
    elif op.code == MIX_STREAMS:
        mix_streams(floats, source, target, num_streams, width)
    elif op.code == CORRECT_STREAMS:
        correct_streams(floats, source, target, op.source_column, num_streams, width)
    elif op.code == ADD_TO_STREAMS:
        add_to_streams(floats, source, target, num_streams, width)
    elif op.code == LEVEL_STREAMS:
        level_streams(floats, target, num_streams, width)
    elif op.code == AVERAGE_STREAMS:
        merge_rows(floats, source, width, num_streams, width, True, target, op.target_width)
    else:
        cut_gates(floats, target, op.count, op.scale)


@internal(error_model="numpy")
def _convolve(
    op: Any, row: int, source: int, target: int, weights: PackedWeights, step: StepInputs, states: Any, floats: Any
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
