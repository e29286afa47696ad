"""Operations with a recurrent state of each sequence, for the graphs of model families.

A state is in the slot of its sequence (see `StatePool`), one range of floats for each recurrence of the model.
"""

from __future__ import annotations

from cactus_actors.workers.kernels import shift
from cactus_actors.workers.kernels.causal_conv import CHANNELS_OF_PART
from cactus_actors.workers.kernels.delta_rule import COLUMNS_OF_PART
from cactus_actors.workers.runtime.graph import Graph, StateParts, Value
from cactus_actors.workers.runtime.op_codes import OpCode
from cactus_actors.workers.runtime.weight_refs import VectorRef
from cactus_actors.workers.spec.model_config import RecurrentHeads


def causal_conv(
    g: Graph, projected: Value, name: str, width: int, *, column: int = 0, bias: bool = False, room: int = 0
) -> Value:
    """silu of a convolution along the positions of a sequence, for `width` columns of `projected` from `column` on.

    The result has `room` more columns, which other operations write.
    """
    mixed, num_taps = Value(g, width + room), g.config.num_taps
    g._note(
        OpCode.CAUSAL_CONV,
        source=projected,
        target=mixed,
        vector=VectorRef((name,), (width,), num_taps=num_taps),
        bias=VectorRef((f"{name}.bias",), (width,)) if bias else None,
        source_column=column,
        column=num_taps,
        count=width,
        state=_new_state(g, -(-width // CHANNELS_OF_PART), (num_taps - 1) * CHANNELS_OF_PART),
    )
    return mixed


def delta_gates(
    g: Graph, given: Value, mixed: Value, heads: RecurrentHeads, names: tuple[str, str], column: int
) -> None:
    """Strengths and decays of a delta rule in `mixed` from `column` on, from b and a in `given`."""
    rates = VectorRef(names, (heads.num_value_heads, heads.num_value_heads))
    g._note(OpCode.DELTA_GATES, source=given, target=mixed, vector=rates, heads=heads, column=column)


def scan_gates(
    g: Graph, given: Value, mixed: Value, heads: RecurrentHeads, names: tuple[str, str], *, source_column: int
) -> None:
    """Steps and decays of a selective scan in the last columns of `mixed`, from `given`, from `source_column` on."""
    rates = VectorRef(names, (heads.num_value_heads, heads.num_value_heads))
    g._note(
        OpCode.DELTA_GATES,
        source=given,
        target=mixed,
        vector=rates,
        heads=heads,
        column=heads.mixed_size,
        source_column=source_column,
        flag=True,
    )


def unit_heads(g: Graph, mixed: Value, heads: RecurrentHeads) -> None:
    """Queries and keys, the first columns of `mixed`, with length one each."""
    g._note(OpCode.UNIT_HEADS, target=mixed, heads=heads, count=2 * heads.num_key_heads)


def delta_rule(g: Graph, mixed: Value, heads: RecurrentHeads, *, scale: float) -> Value:
    """The gated delta rule (Yang et al. 2024), (tokens, value heads * value_dim); queries are multiplied by `scale`.

    `mixed` has queries, keys, values, strengths and decays side by side.
    """
    read, state = _read_of(g, heads)
    g._note(OpCode.DELTA_RULE, source=mixed, target=read, heads=heads, scale=scale, state=state)
    return read


def selective_scan(g: Graph, mixed: Value, heads: RecurrentHeads, skip: str) -> Value:
    """The scan of Mamba-2 (Dao, Gu 2024), (tokens, value heads * value_dim); `skip` is D.

    `mixed` has values, keys, queries, steps and decays side by side.
    """
    read, state = _read_of(g, heads)
    vector = VectorRef((skip,), (heads.num_value_heads,))
    g._note(OpCode.SELECTIVE_SCAN, source=mixed, target=read, heads=heads, vector=vector, state=state)
    return read


def shifted(g: Graph, x: Value) -> Value:
    """The row of the token before each token in its sequence, and zeros for the first one."""
    before = Value(g, x.width)
    state = _new_state(g, -(-x.width // shift.COLUMNS_OF_PART), shift.COLUMNS_OF_PART)
    g._note(OpCode.SHIFT, source=x, target=before, count=x.width, state=state)
    return before


def gated_norm(
    g: Graph, x: Value, gates: Value, heads: RecurrentHeads, name: str, column: int, *, gate_first: bool = False
) -> None:
    """RMS norm of each value head times silu of its gate, in the place of x; gates are from `column` on.

    With `gate_first` the gated values are normed, by a gain of their own for each head.
    """
    width = heads.value_size if gate_first else heads.value_dim
    g._note(
        OpCode.GATED_NORM,
        source=gates,
        target=x,
        vector=VectorRef((name,), (width,)),
        heads=heads,
        column=column,
        flag=gate_first,
    )


def _read_of(g: Graph, heads: RecurrentHeads) -> tuple[Value, StateParts]:
    """The result of a recurrence over matrices (key_dim, value_dim), and its state."""
    num_parts = heads.num_value_heads * -(-heads.value_dim // COLUMNS_OF_PART)
    return Value(g, heads.value_size), _new_state(g, num_parts, heads.key_dim * COLUMNS_OF_PART)


def _new_state(g: Graph, num_parts: int, part_size: int) -> StateParts:
    state = StateParts(g.slot_size, num_parts, part_size)
    g.slot_size += num_parts * part_size
    return state
