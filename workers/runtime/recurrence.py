"""Operations with a recurrent state of each sequence, for the graphs of model families.

A state is in the slot of its sequence (see `StatePool`), one range of floats for each recurrence of the model.
"""

from __future__ import annotations

from cactus_actors.workers.kernels.causal_conv import CHANNELS_OF_PART
from cactus_actors.workers.kernels.delta_rule import COLUMNS_OF_PART
from cactus_actors.workers.runtime.graph import Graph, Heads, StateParts, Value, VectorRef
from cactus_actors.workers.runtime.op_codes import OpCode


def causal_conv(g: Graph, projected: Value, name: str, width: int, num_taps: int, *, room: int = 0) -> Value:
    """silu of a convolution along the positions of a sequence, for the first `width` columns of `projected`.

    The result has `room` more columns, which other operations write.
    """
    mixed = Value(g, width + room)
    g._note(
        OpCode.CAUSAL_CONV,
        source=projected,
        target=mixed,
        vector=VectorRef((name,), (width,), num_taps=num_taps),
        column=num_taps,
        count=width,
        state=_new_state(g, -(-width // CHANNELS_OF_PART), (num_taps - 1) * CHANNELS_OF_PART),
    )
    return mixed


def delta_gates(g: Graph, given: Value, mixed: Value, heads: Heads, names: tuple[str, str], column: int) -> None:
    """Strengths and decays of a delta rule in `mixed` from `column` on, from b and a in `given`."""
    rates = VectorRef(names, (heads.num_value_heads, heads.num_value_heads))
    g._note(OpCode.DELTA_GATES, source=given, target=mixed, vector=rates, heads=heads, column=column)


def unit_heads(g: Graph, mixed: Value, heads: Heads) -> None:
    """Queries and keys, the first columns of `mixed`, with length one each."""
    g._note(OpCode.UNIT_HEADS, target=mixed, heads=heads, count=2 * heads.num_key_heads)


def delta_rule(g: Graph, mixed: Value, heads: Heads, *, scale: float) -> Value:
    """The gated delta rule (Yang et al. 2024), (tokens, value heads * value_dim); queries are multiplied by `scale`.

    `mixed` has queries, keys, values, strengths and decays side by side.
    """
    read = Value(g, heads.num_value_heads * heads.value_dim)
    num_parts = heads.num_value_heads * -(-heads.value_dim // COLUMNS_OF_PART)
    state = _new_state(g, num_parts, heads.key_dim * COLUMNS_OF_PART)
    g._note(OpCode.DELTA_RULE, source=mixed, target=read, heads=heads, scale=scale, state=state)
    return read


def gated_norm(g: Graph, x: Value, gates: Value, heads: Heads, name: str, column: int) -> None:
    """RMS norm of each value head times silu of its gate, in the place of x; gates are from `column` on."""
    gains = VectorRef((name,), (heads.value_dim,))
    g._note(OpCode.GATED_NORM, source=gates, target=x, vector=gains, heads=heads, column=column)


def _new_state(g: Graph, num_parts: int, part_size: int) -> StateParts:
    state = StateParts(g.slot_size, num_parts, part_size)
    g.slot_size += num_parts * part_size
    return state
