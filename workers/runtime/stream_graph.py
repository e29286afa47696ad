"""Several residual streams, for the graphs of model families (AltUp, Baykal et al. 2023).

The streams of a token are side by side in one row, (tokens, streams * (hidden + streams)); the last columns have
coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.runtime.op_codes import OpCode
from cactus_actors.workers.runtime.weight_refs import VectorRef


def streams_of(g: Graph, x: Value, names: Sequence[str]) -> Value:
    """x and its projections by these weights, which are scaled to the magnitude of x."""
    others = g.linear(x, names, [x.width] * len(names))
    return _levelled(g, [x, others], 1 + len(names), x.width)


def taken(g: Graph, streams: Value, index: int, gains: str | None = None) -> Value:
    """One stream, times the tensor `gains` if it is given, (tokens, hidden)."""
    width = g.config.hidden_size
    stream = Value(g, width, streams.rows)
    vector = None if gains is None else VectorRef((gains,), (width,))
    g._note(
        OpCode.TAKE_STREAM,
        source=streams,
        target=stream,
        vector=vector,
        flag=gains is not None,
        column=width,
        source_column=index * width,
    )
    return stream


def mixed(g: Graph, streams: Value, coefficients: Value) -> Value:
    """Stream i plus the sum over j of coefficient i, j times stream j."""
    num_streams, width = _shape(g)
    target = Value(g, streams.width, streams.rows)
    g._note(OpCode.JOIN, source=coefficients, target=target, column=num_streams * width)
    g._note(OpCode.MIX_STREAMS, source=streams, target=target, count=num_streams, column=width)
    return target


def correct(g: Graph, streams: Value, active: int, activated: Value, coefficients: Value) -> None:
    """Add the change from the active stream to `activated` to each stream, times one plus its coefficient."""
    num_streams, width = _shape(g)
    g._note(OpCode.JOIN, source=coefficients, target=streams, column=num_streams * width)
    g._note(
        OpCode.CORRECT_STREAMS,
        source=activated,
        target=streams,
        count=num_streams,
        column=width,
        source_column=active * width,
    )


def add_to_others(g: Graph, streams: Value, x: Value) -> None:
    """Add x to every stream but the first."""
    num_streams, width = _shape(g)
    g._note(OpCode.ADD_TO_STREAMS, source=x, target=streams, count=num_streams, column=width)


def merged(g: Graph, streams: Value, names: Sequence[str]) -> Value:
    """The mean of the first stream and of the projections of the others, scaled to the magnitude of the first."""
    num_streams, width = _shape(g)
    others = [g.linear(taken(g, streams, index), [name], [width]) for index, name in enumerate(names, start=1)]
    levelled = _levelled(g, [taken(g, streams, 0), *others], num_streams, width)
    mean = Value(g, width, streams.rows)
    g._note(OpCode.AVERAGE_STREAMS, source=levelled, target=mean, count=num_streams, column=width)
    return mean


def tanh(g: Graph, x: Value) -> Value:
    """The hyperbolic tangent of x, in its place."""
    g._note(OpCode.SOFTCAP, target=x, softcap=1.0)
    return x


def cut_gates(g: Graph, gate_up: Value, cutoff: float) -> None:
    """Subtract from the gates their mean and `cutoff` standard deviations; what is below zero becomes zero."""
    g._note(OpCode.CUT_GATES, target=gate_up, count=gate_up.width // 2, scale=cutoff)


def _levelled(g: Graph, parts: Sequence[Value], num_streams: int, width: int) -> Value:
    """The parts side by side, in which all streams have the magnitude of the first."""
    streams = Value(g, num_streams * (width + num_streams), parts[0].rows)
    column = 0
    for part in parts:
        g._note(OpCode.JOIN, source=part, target=streams, column=column)
        column += part.width
    g._note(OpCode.LEVEL_STREAMS, target=streams, count=num_streams, column=width)
    return streams


def _shape(g: Graph) -> tuple[int, int]:
    """The number of streams, and the columns of each."""
    assert g.config.streams is not None, "the config describes them"
    return g.config.streams.num_streams, g.config.hidden_size
