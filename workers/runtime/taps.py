"""Taps: the graph of a model that also gives the hidden states after inner layers, of the rows with logits."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from cactus_actors.workers.runtime.graph import Graph, GraphOperation, Value
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind

_LAYER = re.compile(r"layers\.(\d+)\.")


class Tap(NamedTuple):
    """The hidden state before the operation at `place`: the sum of all layers before it."""

    place: int
    source: Value


def taps_of(graph: Graph) -> dict[int, Tap]:
    """The possible taps, by the number of layers before them.

    There is none before the first layer, and none where a graph continues with the rows of logits alone.
    """
    encoders = {op.target: index for index, op in enumerate(graph.operations) if op.code is OpCode.ENCODE}
    taps: dict[int, Tap] = {}
    for index, op in enumerate(graph.operations):
        layer = _layer_of(op)
        if not layer or layer in taps:
            continue
        place = encoders.get(op.source, index)  # a product reads the encoded rows
        source = graph.operations[place].source
        if source is not None and source.width == graph.config.hidden_size and source.rows is RowKind.TOKENS:
            taps[layer] = Tap(place, source)
    return taps


def with_taps(graph: Graph, layers: Collection[int]) -> Graph:
    """The graph with taps after these numbers of layers, in rising order; their values are its last `features`.

    All of them must be possible.
    """
    found = taps_of(graph)
    gathers: defaultdict[int, list[GraphOperation]] = defaultdict(list)
    values = []
    for layer in sorted(layers):
        place, source = found[layer]
        values.append(Value(graph, source.width, RowKind.LOGITS))
        gathers[place].append(GraphOperation(code=OpCode.GATHER, source=source, target=values[-1]))
    tapped = copy.copy(graph)
    tapped.operations = [each for index, op in enumerate(graph.operations) for each in (*gathers[index], op)]
    tapped.features = [*graph.features, *values]
    return tapped


def _layer_of(op: GraphOperation) -> int:
    """The layer whose tensors an operation reads; 0 for the first one, and for operations without such tensors."""
    names = [name for matrix in op.matrices for name in matrix.names]
    names += [] if op.vector is None else op.vector.names
    match = _LAYER.match(names[0]) if names else None
    return int(match[1]) if match else 0
