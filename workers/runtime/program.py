"""A graph as records for the compiled step, with buffers, offsets into the weights, and barriers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from cactus_actors.workers.runtime.graph import Graph, GraphOperation, Value
from cactus_actors.workers.runtime.layout import WeightLayout
from cactus_actors.workers.runtime.op_codes import RECURRENCES, OpCode, RowKind

OPERATION = np.dtype(
    [
        ("code", np.int64),
        ("rows", np.int64),  # how many rows it goes over, a `RowKind`
        ("source_rows", np.int64),
        ("is_sliced", np.int64),  # whether threads share its rows when these are few
        ("rows_together", np.int64),  # that are one thread's at least, if they are not sliced
        ("slice_width", np.int64),  # what is shared, for operations that go over columns
        ("run_end", np.int64),  # end of the run that begins with it, or 0; rows of a run are independent
        ("barrier", np.int64),  # whether all threads must have finished it before the next one
        ("source", np.int64),  # buffers
        ("target", np.int64),
        ("source_width", np.int64),  # from one row of a buffer to the next: floats, or bytes if encoded
        ("target_width", np.int64),
        ("is_head", np.int64),  # whether the matrix is in the arena of the output
        ("start", np.int64),  # of the matrix (bytes) or the vector (floats) in its arena
        ("stride", np.int64),  # bytes of the matrix: from one expert's to the next
        ("next_start", np.int64),  # of the matrix that is multiplied with next
        ("next_bytes", np.int64),
        ("next_is_head", np.int64),
        ("num_rows", np.int64),  # of the matrix
        ("num_columns", np.int64),  # of the matrix, or of the rows worked on
        ("layer", np.int64),
        ("num_heads", np.int64),  # of attention
        ("num_kv_heads", np.int64),
        ("head_dim", np.int64),
        ("heads_before", np.int64),  # of the layer in the cache, see `CachedLayer`
        ("dims_before", np.int64),
        ("columns_before", np.int64),
        ("rope", np.int64),
        ("column", np.int64),
        ("count", np.int64),
        ("window", np.int64),
        ("flag", np.int64),
        ("source_column", np.int64),
        ("site", np.int64),  # of an adapter
        ("bias_start", np.int64),  # of another vector, or -1
        ("num_key_heads", np.int64),  # of a recurrence
        ("key_dim", np.int64),
        ("num_value_heads", np.int64),
        ("value_dim", np.int64),
        ("state_start", np.int64),  # floats in a slot
        ("num_parts", np.int64),
        ("part_size", np.int64),
        ("scale", np.float32),
        ("softcap", np.float32),
        ("epsilon", np.float32),
    ],
    align=True,
)

ROWS_TOGETHER = 8
"""Encoded rows are interleaved by at most eight: two threads never write to the same group."""

ROWS_OF_TASK = 32
"""Rows that go through a run together. Half of it is a multiple of the rows that any format interleaves."""

MOST_ROWS_OF_TASK = ROWS_OF_TASK + ROWS_TOGETHER
"""Those of the last task, with what would be less than a tile after it."""

_WHOLE_PHASE = RECURRENCES | {
    *(OpCode.MATMUL, OpCode.ATTEND, OpCode.LOGIT_STATS),
    *(OpCode.GROUP, OpCode.ENCODE_CHOSEN, OpCode.EXPERT_MATMUL),
    *(OpCode.ADAPTER_DOWN, OpCode.ADAPTER_UP),
}
"""Operations whose threads do not work on separate rows."""

_MIXES_ROWS = _WHOLE_PHASE - {OpCode.MATMUL, OpCode.ADAPTER_DOWN, OpCode.ADAPTER_UP}
_READS_OTHER_ROWS = {OpCode.GATHER, OpCode.SHORT_CONV, OpCode.COMBINE, OpCode.MERGE, OpCode.GRID_CONV}
"""Operations that begin a run: they read rows written by other threads."""

_BY_COLUMNS = {
    *(OpCode.NORM, OpCode.ENCODE, OpCode.GATE, OpCode.ADD, OpCode.BIAS, OpCode.SCALE),
    *(OpCode.SIGMOID_GATE, OpCode.CLAMPED_GATE, OpCode.GELU_TIMES, OpCode.LAYER_NORM, OpCode.ACTIVATE),
    *(OpCode.ADD_GIVEN, OpCode.STANDARDISE),
}
_BY_HEADS = {OpCode.NORM_HEADS, OpCode.ROTATE, OpCode.SCALE_QUERIES, OpCode.STORE, OpCode.GATE_HEADS}
_BY_OWN_HEADS = {OpCode.UNIT_HEADS, OpCode.GATED_NORM}
"""Operations whose rows are cut when there are few: by columns, by key-value heads with their queries, or by the
heads of a recurrence."""

_READS_BEYOND_ITS_SLICE = _READS_OTHER_ROWS | {OpCode.NORM, OpCode.GATE, OpCode.CLAMPED_GATE, OpCode.LAYER_NORM}
"""Operations that read what another thread may have written just before."""


@dataclass(frozen=True)
class Buffer:
    """A buffer with one row for each of `rows`: float32, or encoded bytes.

    A value that only operations of one run use has rows for a task of each thread, so that they stay in its cache.
    """

    width: int  # floats or bytes per row
    rows: RowKind
    is_encoded: bool
    stride: int = 0  # floats or bytes per row of a task; 0 for a buffer with all rows

    def num_rows(self, max_rows: int, threads: int) -> int:
        """Rows that it needs in steps of up to `max_rows`: few ones do not go through a run in tasks."""
        has_tasks = self.stride and max_rows >= threads * ROWS_OF_TASK
        return threads * MOST_ROWS_OF_TASK if has_tasks else max_rows


@dataclass(frozen=True)
class Program:
    """The operations of a step, and the buffers between them."""

    operations: NDArray[Any]  # records of OPERATION
    without_head: NDArray[Any]  # as far as the hidden states
    buffers: tuple[Buffer, ...]
    hidden: int  # the buffers they end in
    logits: int
    logit_stats: int
    inputs: tuple[int, ...] = ()  # the buffers that are written before the first operation
    features: tuple[int, ...] = ()  # the buffers of results beside these

    @classmethod
    def of(cls, graph: Graph, layout: WeightLayout) -> Program:
        """The program of a graph with weights in this layout."""
        assert graph.hidden is not None, "a graph ends in its output"
        assert graph.logits is not None, "a graph ends in its output"
        assert graph.logit_stats is not None, "a graph ends in its output"
        records, buffers, buffer_of = records_of(graph, layout)
        places = [index for index, op in enumerate(graph.operations) if op.target is graph.hidden]
        without_head = records[: places[0] + 1].copy()
        without_head["barrier"][-1] = True
        without_head["run_end"] = np.minimum(without_head["run_end"], len(without_head))
        _look_ahead(without_head)
        return cls(
            records,
            without_head,
            buffers,
            hidden=buffer_of[graph.hidden],
            logits=buffer_of[graph.logits],
            logit_stats=buffer_of[graph.logit_stats],
            inputs=tuple(buffer_of[value] for value in graph.inputs),
            features=tuple(buffer_of[value] for value in graph.features),
        )


@dataclass(frozen=True)
class EncoderProgram:
    """The operations of an encoder of pictures in parts, between which all rows of all values are complete."""

    parts: tuple[NDArray[Any], ...]  # records of OPERATION
    buffers: tuple[Buffer, ...]
    inputs: tuple[int, ...]  # the buffers that are written before the first part
    outputs: tuple[int, ...]  # of the embeddings and of features beside them

    @classmethod
    def of(cls, graph: Graph, layout: WeightLayout) -> EncoderProgram:
        """The program of an encoder's graph with weights in this layout.

        A part is an attention, a convolution over the grid, or a run, which may be computed some rows at a time.
        """
        assert graph.hidden is not None, "a graph ends in its output"
        records, buffers, buffer_of = records_of(graph, layout)
        parts = []
        begin = 0
        while begin < len(records):
            end = max(int(records[begin]["run_end"]), begin + 1)
            if records[begin]["code"] == OpCode.GRID_CONV and begin + 1 < end:
                records[begin]["run_end"], records[begin + 1]["run_end"], end = begin + 1, end, begin + 1
            part = records[begin:end].copy()
            part["run_end"] = np.maximum(part["run_end"] - begin, 0)
            part["barrier"][-1] = True
            parts.append(part)
            begin = end
        inputs = tuple(buffer_of[value] for value in graph.inputs)
        outputs = tuple(buffer_of[value] for value in (graph.hidden, *graph.features))
        return cls(tuple(parts), buffers, inputs, outputs)


def records_of(graph: Graph, layout: WeightLayout) -> tuple[NDArray[Any], tuple[Buffer, ...], dict[Value, int]]:
    """The records of a graph's operations, its buffers, and the buffer of each value."""
    buffers, buffer_of = _assign_buffers(graph, layout)
    layers = graph.cached_layers
    records = np.zeros(len(graph.operations), OPERATION)
    for index, (record, op) in enumerate(zip(records, graph.operations, strict=True)):
        after = graph.operations[index + 1] if index + 1 < len(records) else None
        record["code"], record["rows"] = op.code, _rows_of(op)
        record["is_sliced"] = op.code in _BY_COLUMNS | _BY_HEADS | _BY_OWN_HEADS
        record["rows_together"] = ROWS_TOGETHER if op.code in _BY_COLUMNS else 1
        record["barrier"] = after is None or _needs_barrier(op, after)
        for name, value in (("source", op.source), ("target", op.target)):
            if value is not None:
                record[name] = buffer_of[value]
                record[f"{name}_width"] = buffers[buffer_of[value]].width
                if op.code in _BY_COLUMNS and not value.is_encoded:
                    record["slice_width"] = buffers[buffer_of[value]].width
        if op.source is not None:
            record["num_columns"], record["source_rows"] = op.source.width, op.source.rows
        if op.matrices:
            matrix = op.matrices[0]
            record["start"], record["is_head"] = layout.start_of(matrix), matrix.is_head
            record["num_rows"], record["num_columns"] = matrix.num_rows, matrix.num_columns
            record["stride"] = layout.num_bytes(matrix)
        if op.vector is not None:
            record["start"] = layout.vector_starts[op.vector]
            if op.code is OpCode.BIAS:
                record["num_columns"] = sum(op.vector.lengths)
        for name in ("layer", "rope", "column", "count", "window", "flag", "scale", "softcap", "epsilon"):
            record[name] = getattr(op, name)
        record["source_column"], record["site"] = op.source_column, op.site
        record["bias_start"] = -1 if op.bias is None else layout.vector_starts[op.bias]
        if op.attention_heads is not None:
            for name, size in op.attention_heads._asdict().items():
                record[name] = size
        if op.code in (OpCode.STORE, OpCode.ATTEND):
            for name in ("heads_before", "dims_before", "columns_before"):
                record[name] = getattr(layers[op.layer], name)
        if op.heads is not None:
            for name in ("num_key_heads", "key_dim", "num_value_heads", "value_dim"):
                record[name] = getattr(op.heads, name)
        if op.state is not None:
            record["state_start"], record["num_parts"] = op.state.start, op.state.num_parts
            record["part_size"] = op.state.part_size
    _look_ahead(records)
    _find_runs(records, graph.operations)
    return records, buffers, buffer_of


def _look_ahead(records: NDArray[Any]) -> None:
    """Set in every record the next matrix to be multiplied; after the last one, the first."""
    matmuls = np.flatnonzero(records["code"] == OpCode.MATMUL)
    for index, record in enumerate(records):
        later = matmuls[matmuls > index]
        after = records[later[0] if len(later) else matmuls[0]]
        record["next_start"], record["next_bytes"] = after["start"], after["stride"]
        record["next_is_head"] = after["is_head"]


def _find_runs(records: NDArray[Any], operations: Sequence[GraphOperation]) -> None:
    """Set where runs begin and end."""
    for index, (op, begin) in enumerate(zip(operations, _begins_of_runs(operations), strict=True)):
        records[begin]["run_end"] = 0 if op.code in _MIXES_ROWS else index + 1


def _begins_of_runs(operations: Sequence[GraphOperation]) -> list[int]:
    """Where the run of each operation begins: in a run, rows are independent of each other and of earlier writes."""
    begins: list[int] = []
    for index, op in enumerate(operations):
        before = operations[index - 1] if index else op
        is_elsewhere = _rows_of(op) is not _rows_of(before) or before.code in _MIXES_ROWS
        is_first = not begins or is_elsewhere or op.code in _MIXES_ROWS | _READS_OTHER_ROWS
        begins.append(index if is_first else begins[-1])
    return begins


def _rows_of(op: GraphOperation) -> RowKind:
    value = op.target if op.target is not None else op.source
    return value.rows if value is not None else RowKind.TOKENS


def _needs_barrier(op: GraphOperation, after: GraphOperation) -> bool:
    if op.code is OpCode.ADAPTER_DOWN and after.code in (OpCode.ADAPTER_DOWN, OpCode.ENCODE):
        return False  # both read the same rows and write others
    if op.code in _WHOLE_PHASE or after.code in _WHOLE_PHASE or after.code in _READS_BEYOND_ITS_SLICE:
        return True
    if any((op.code in kind) != (after.code in kind) for kind in (_BY_COLUMNS, _BY_HEADS, _BY_OWN_HEADS)):
        return True
    if op.code in _BY_HEADS and after.code in _BY_HEADS and op.attention_heads != after.attention_heads:
        return True
    return _rows_of(op) is not _rows_of(after)


def _assign_buffers(graph: Graph, layout: WeightLayout) -> tuple[tuple[Buffer, ...], dict[Value, int]]:
    """A buffer for each value, reused for a value of exactly the same shape when it is dead.

    Rows of another width would overlap rows that another thread still reads.
    """
    last_use = {
        value: index
        for index, op in enumerate(graph.operations)
        for value in (op.source, op.target)
        if value is not None
    }
    for index, op in enumerate(graph.operations):
        if op.code is OpCode.GRID_CONV:  # other threads read all of its source until the run ends
            assert op.source is not None, "it convolves something"
            last_use[op.source] = max(last_use[op.source], _end_of_run(graph.operations, index))
    kept = (graph.hidden, graph.logits, *graph.features)
    kinds = {value: _buffer_of(value, layout) for value in (*graph.inputs, *last_use)}
    for each in _values_of_tasks(graph.operations) - {*kept, *graph.inputs}:
        stride = layout.row_stride(each.width, for_head=each.for_head) if each.is_encoded else kinds[each].width
        kinds[each] = replace(kinds[each], stride=stride)
    buffers: list[Buffer] = []
    buffer_of: dict[Value, int] = {}
    free: defaultdict[Buffer, list[int]] = defaultdict(list)
    for given in graph.inputs:
        buffer_of[given] = len(buffers)
        buffers.append(kinds[given])
    for index, op in enumerate(graph.operations):
        if op.target is not None and op.target not in buffer_of:
            buffer = kinds[op.target]
            if free[buffer]:
                buffer_of[op.target] = free[buffer].pop()
            else:
                buffer_of[op.target] = len(buffers)
                buffers.append(buffer)
        for value in {op.source, op.target} - {None}:
            if value is not None and last_use[value] == index and value not in kept:
                free[kinds[value]].append(buffer_of[value])
    return tuple(buffers), buffer_of


def _values_of_tasks(operations: Sequence[GraphOperation]) -> set[Value]:
    """The values that only operations of one run use.

    An encoder completes the values of a convolution over its grid before the rest of the run.
    """
    runs: defaultdict[Value, set[int]] = defaultdict(set)
    for index, (op, begin) in enumerate(zip(operations, _begins_of_runs(operations), strict=True)):
        is_apart = op.code in _MIXES_ROWS or op.code is OpCode.GRID_CONV
        for value in {op.source, op.target} - {None}:
            if value is not None:
                runs[value].add(-1 - index if is_apart else begin)
    return {value for value, begins in runs.items() if len(begins) == 1 and min(begins) >= 0}


def _end_of_run(operations: Sequence[GraphOperation], begin: int) -> int:
    """The operation before which all threads have finished the run that begins there."""
    others = range(begin + 1, len(operations))
    ends = _MIXES_ROWS | _READS_OTHER_ROWS
    return next((index for index in others if operations[index].code in ends), len(operations))


def _buffer_of(value: Value, layout: WeightLayout) -> Buffer:
    if value.is_encoded:
        return Buffer(layout.row_bytes(value.width, for_head=value.for_head), value.rows, True)
    return Buffer(round_up(value.width, WIDTH_MULTIPLE), value.rows, False)
