"""Packs the tensors of a model into the arenas that compiled code reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.loading.tensor_source import TensorSource
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.runtime.layout import Arenas, WeightLayout, padded_floats
from cactus_actors.workers.runtime.weight_refs import (
    BoundsRef,
    GatedQueriesRef,
    MatrixRef,
    TableRef,
    TransposedRef,
    VectorRef,
)

Tensors = Mapping[str, NDArray[np.float32]]
ROWS_AT_ONCE = 1 << 14
"""Rows of a large matrix in memory as float32, a multiple of the outputs of a block in every format."""

OnProgress = Callable[[int, int], None]
"""(bytes packed, bytes in all)."""


def pack(
    graph: Graph, layout: WeightLayout, tensors: Tensors, arenas: Arenas, on_progress: OnProgress = lambda *_: None
) -> None:
    """Fill zeroed `arenas`, reading one matrix's tensors at a time.

    Raises ModelFileInvalid for a tensor that is missing, has another shape than in the graph, or is not finite;
    it names the file of the tensor.
    """
    shapes = graph.tensor_shapes
    num_packed, num_bytes = 0, sum(layout.num_bytes(matrix) for matrix in graph.matrices)
    for matrix in graph.matrices:
        _pack_matrix(matrix, layout, tensors, shapes, arenas)
        num_packed += layout.num_bytes(matrix)
        on_progress(num_packed, num_bytes)
    for vector in graph.vectors:
        _pack_vector(vector, layout, tensors, shapes, arenas)


def _pack_matrix(
    matrix: MatrixRef, layout: WeightLayout, tensors: Tensors, shapes: Mapping[str, tuple[int, ...]], arenas: Arenas
) -> None:
    weight_format, arena = (layout.head, arenas.head) if matrix.is_head else (layout.body, arenas.body)
    is_transposed = isinstance(matrix, TransposedRef)
    if len(matrix.names) == 1 and matrix.num_rows > ROWS_AT_ONCE and not is_transposed:
        _pack_rows(matrix, layout, tensors, shapes, arena)
        return
    parts = [_read(tensors, name, shapes[name]) for name in matrix.names]
    if is_transposed:
        parts = [np.ascontiguousarray(part.T) for part in parts]
    parts = [part.reshape(len(part), -1) for part in parts]  # kernels of convolutions as matrices
    if isinstance(matrix, GatedQueriesRef):
        parts = _with_gates_last(parts, matrix.num_heads)
    weights = parts[0] if len(parts) == 1 else np.concatenate(parts)
    start = layout.start_of(matrix)
    num_bytes = weight_format.num_bytes(matrix.num_rows, matrix.num_columns)
    weight_format.pack(weights, arena[start : start + num_bytes])


def _pack_rows(
    matrix: MatrixRef,
    layout: WeightLayout,
    tensors: Tensors,
    shapes: Mapping[str, tuple[int, ...]],
    arena: NDArray[np.uint8],
) -> None:
    """Pack a large matrix of one tensor some rows at a time: an embedding may be larger than memory as float32."""
    weight_format = layout.head if matrix.is_head else layout.body
    (name,) = matrix.names
    for first in range(0, matrix.num_rows, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, matrix.num_rows)
        rows = _read(tensors, name, shapes[name], first, last)
        start = layout.start_of(matrix) + weight_format.num_bytes(first, matrix.num_columns)
        weight_format.pack(rows, arena[start : start + weight_format.num_bytes(last - first, matrix.num_columns)])


def _with_gates_last(parts: list[NDArray[np.float32]], num_heads: int) -> list[NDArray[np.float32]]:
    """Queries, keys, values and gates, from a first part that has a query and a gate for each head in turn."""
    pairs = parts[0].reshape(num_heads, 2, -1, parts[0].shape[1])  # (heads, query or gate, head_dim, inputs)
    queries, gates = pairs[:, 0].reshape(-1, pairs.shape[-1]), pairs[:, 1].reshape(-1, pairs.shape[-1])
    return [queries, *parts[1:], gates]


def _pack_vector(
    vector: VectorRef, layout: WeightLayout, tensors: Tensors, shapes: Mapping[str, tuple[int, ...]], arenas: Arenas
) -> None:
    if isinstance(vector, BoundsRef):
        tensors = {name: np.nan_to_num(tensors[name], nan=np.nan) for name in vector.names}
    values = np.concatenate([_read(tensors, name, shapes[name]) for name in vector.names])
    start = layout.vector_starts[vector]
    target = arenas.vectors[start : start + padded_floats(vector)]
    if isinstance(vector, TableRef):
        target[: values.size] = values.reshape(-1)
        return
    rows = values.reshape(len(values), -1).T  # taps are stored tap by tap
    target.reshape(len(rows), -1)[:, : len(values)] = rows + np.float32(vector.offset)


def _read(
    tensors: Tensors, name: str, shape: tuple[int, ...], first: int = 0, last: int | None = None
) -> NDArray[np.float32]:
    """A checked tensor, or its rows from `first` to before `last`."""
    if name not in tensors:
        raise _invalid(tensors, name, "is missing")
    if last is not None and isinstance(tensors, TensorSource):
        tensor, shape = tensors.rows(name, first, last), (last - first, *shape[1:])
    else:
        tensor = tensors[name]
    if tensor.shape != shape:
        raise _invalid(tensors, name, f"has shape {list(tensor.shape)}, expected {list(shape)}")
    if last is not None and not isinstance(tensors, TensorSource):
        tensor = tensor[first:last]
    # The sum of finite numbers may overflow, so it only triggers the exact check.
    if not np.isfinite(np.sum(tensor, dtype=np.float64)) and not np.isfinite(tensor).all():
        raise _invalid(tensors, name, "has values that are not finite")
    return tensor


def _invalid(tensors: Tensors, name: str, what: str) -> ModelFileInvalid:
    message = f"tensor {name!r} {what}"
    if isinstance(tensors, TensorSource) and name in tensors:
        return invalid(tensors.stored[name].path, message)
    return ModelFileInvalid(message, param=name)
