"""The products of a graph to which adapters add, and the graph with the operations that do so.

An adapter has two thin matrices for a module (Hu et al. 2021): its output is W x + B (A x), where W is the module's
own matrix. Modules whose matrices are stacked in one product of the graph add to columns of it.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.runtime.graph import Graph, GraphOperation, Value
from cactus_actors.workers.runtime.op_codes import OpCode
from cactus_actors.workers.runtime.weight_refs import GatedQueriesRef, MatrixRef

HEAD = "lm_head"


class LowRank(NamedTuple):
    """The product that an adapter adds to one module: up @ down, with its scale in `up`."""

    down: NDArray[np.float32]  # (rank, inputs)
    up: NDArray[np.float32]  # (outputs, rank)


AdapterWeights = Mapping[str, LowRank]
"""By canonical name of the module."""


class ColumnRange(NamedTuple):
    """Outputs of a module, by index, and the first column of the product that they are."""

    first_column: int
    outputs: NDArray[np.intp]


@dataclass(frozen=True)
class AdapterSite:
    """A product of the graph, and the modules whose outputs are its columns."""

    operation: int  # its index
    num_rows: int  # of the matrix: columns of the product
    num_columns: int
    is_router: bool  # or another small product in the format of the embedding
    modules: Mapping[str, tuple[ColumnRange, ...]]

    def shape_of(self, module: str) -> tuple[int, int]:
        """Outputs and inputs of a module."""
        return sum(len(each.outputs) for each in self.modules[module]), self.num_columns


def adapter_sites(graph: Graph) -> list[AdapterSite]:
    """Every product of the graph but those of experts; that of the logits is the module lm_head, tied or not."""
    sites = []
    for index, op in enumerate(graph.operations):
        if op.code is OpCode.MATMUL:
            (matrix,) = op.matrices
            modules = _modules_of(matrix)
            if op.target is graph.logits:
                modules = dict.fromkeys([HEAD], *modules.values())
            is_router = matrix.is_head and op.target is not graph.logits
            sites.append(AdapterSite(index, matrix.num_rows, matrix.num_columns, is_router, modules))
    return sites


def _modules_of(matrix: MatrixRef) -> dict[str, tuple[ColumnRange, ...]]:
    modules: dict[str, tuple[ColumnRange, ...]] = {}
    column = 0
    for index, (name, height) in enumerate(zip(matrix.names, matrix.heights, strict=True)):
        outputs = np.arange(height)
        if isinstance(matrix, GatedQueriesRef) and index == 0:
            queries, gates = outputs.reshape(matrix.num_heads, 2, -1).swapaxes(0, 1).reshape(2, -1)
            modules[name] = (ColumnRange(0, queries), ColumnRange(matrix.num_rows - len(gates), gates))
            column += len(queries)
        else:
            modules[name] = (ColumnRange(column, outputs),)
            column += height
    return modules


def with_adapters(graph: Graph, sites: Sequence[AdapterSite], widths: Sequence[int]) -> Graph:
    """The graph with the operations of adapters at the sites that have a width: columns of the thin product.

    DOWN comes before the rows are encoded, so that no operation after it writes to the buffer that it reads while
    another thread still does.
    """
    encoders = {op.target: index for index, op in enumerate(graph.operations) if op.code is OpCode.ENCODE}
    before: defaultdict[int, list[GraphOperation]] = defaultdict(list)
    after: dict[int, GraphOperation] = {}
    for number, (site, width) in enumerate(zip(sites, widths, strict=True)):
        if not width:
            continue
        product = graph.operations[site.operation]
        encoder = encoders[product.source]
        rows = graph.operations[encoder].source
        assert rows is not None, "an encoder has a source"
        thin = Value(graph, width, rows.rows)
        before[encoder].append(GraphOperation(code=OpCode.ADAPTER_DOWN, source=rows, target=thin, site=number))
        after[site.operation] = GraphOperation(
            code=OpCode.ADAPTER_UP, source=thin, target=product.target, site=number, count=site.num_rows
        )
    changed = copy.copy(graph)
    changed.operations = []
    for index, op in enumerate(graph.operations):
        changed.operations += [*before[index], op, *([after[index]] if index in after else [])]
    return changed
