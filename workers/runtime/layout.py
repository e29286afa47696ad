"""Offsets of all weights: an arena for the layers, one for embedding, output and routers, one of floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE, aligned_zeros, round_up
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE, PackedFormat
from cactus_actors.workers.kernels.weight_formats import weight_format
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.runtime.weight_refs import MatrixRef, TableRef, VectorRef


@dataclass(frozen=True)
class WeightLayout:
    """Offsets of the matrices and vectors of one graph, packed in these formats."""

    body: PackedFormat
    head: PackedFormat
    body_starts: dict[MatrixRef, int]
    head_starts: dict[MatrixRef, int]
    vector_starts: dict[VectorRef, int]  # the first float of each
    body_bytes: int
    head_bytes: int
    num_vector_floats: int
    has_draft_head: bool

    @classmethod
    def for_weights(cls, graph: Graph, weights: str) -> WeightLayout:
        """The layout for a weight format; embedding, output and routers of a 4-bit model have 8 bits."""
        experts = graph.config.experts
        body = weight_format(weights, is_mxfp4=experts is not None and experts.is_mxfp4)
        return cls.of(graph, body, weight_format("int8" if weights == "int4" else weights))

    @classmethod
    def of(cls, graph: Graph, body: PackedFormat, head: PackedFormat) -> WeightLayout:
        """The layout in the order of use, so that a step reads memory from its start to its end."""
        starts: dict[bool, dict[MatrixRef, int]] = {False: {}, True: {}}
        sizes = {False: 0, True: 0}
        for matrix in graph.matrices:
            weight_format = head if matrix.is_head else body
            starts[matrix.is_head][matrix] = sizes[matrix.is_head]
            size = weight_format.num_bytes(matrix.num_rows, matrix.num_columns)
            sizes[matrix.is_head] += round_up(size, CACHE_LINE)
        vector_starts, num_floats = {}, 0
        for vector in graph.vectors:
            vector_starts[vector] = num_floats
            num_floats += padded_floats(vector)
        return cls(
            body,
            head,
            body_starts=starts[False],
            head_starts=starts[True],
            vector_starts=vector_starts,
            body_bytes=sizes[False],
            head_bytes=sizes[True],
            num_vector_floats=num_floats,
            has_draft_head=graph.drafter is not None,
        )

    @property
    def num_arena_bytes(self) -> int:
        """Memory of all weights."""
        return self.body_bytes + self.head_bytes + 4 * self.num_vector_floats

    def start_of(self, matrix: MatrixRef) -> int:
        """Its first byte in its arena."""
        return (self.head_starts if matrix.is_head else self.body_starts)[matrix]

    def num_bytes(self, matrix: MatrixRef) -> int:
        """From a matrix to the next of the same shape."""
        weight_format = self.head if matrix.is_head else self.body
        return round_up(weight_format.num_bytes(matrix.num_rows, matrix.num_columns), CACHE_LINE)

    def row_bytes(self, num_columns: int, *, for_head: bool) -> int:
        """Bytes of one encoded row."""
        return (self.head if for_head else self.body).row_bytes(num_columns)

    def row_stride(self, num_columns: int, *, for_head: bool) -> int:
        """Bytes from one encoded row to the next of those that are multiplied together."""
        layout = (self.head if for_head else self.body).layout
        return layout.num_groups(num_columns) * layout.row_group_bytes


class Arenas(NamedTuple):
    """All weights of a model, packed."""

    body: NDArray[np.uint8]
    head: NDArray[np.uint8]
    vectors: NDArray[np.float32]

    @classmethod
    def empty(cls, layout: WeightLayout) -> Arenas:
        """Zeroed memory of this process."""
        return cls(
            aligned_zeros((layout.body_bytes,), np.uint8),
            aligned_zeros((layout.head_bytes,), np.uint8),
            aligned_zeros((layout.num_vector_floats,), np.float32),
        )


def padded_floats(vector: VectorRef) -> int:
    """Floats of a vector with its zero padding; the taps of a convolution are stored tap by tap."""
    if isinstance(vector, TableRef):
        return round_up(sum(vector.lengths) * vector.width, WIDTH_MULTIPLE)
    if vector.num_taps:
        return vector.num_taps * round_up(math.prod(vector.lengths), WIDTH_MULTIPLE)
    return round_up(sum(vector.lengths), WIDTH_MULTIPLE)
