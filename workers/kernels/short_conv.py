"""The gated short convolution of LFM2: a few taps along the positions of a sequence, per channel.

Its state is paged like keys and values: `states` is (layers, blocks, block_size, padded columns) float32, and
each position keeps its own input of the convolution, so that blocks can be shared and recomputed alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from cactus_actors.workers.kernels.simd import broadcast, fma, load, load_first, store


@internal(error_model="numpy")
def store_state(states: Any, layer: int, block: int, slot: int, projected: Any, start: int, num_columns: int) -> None:
    """Keep B * x of one position; its projected row is B, C and x, `num_columns` each, unpadded between."""
    state = _state_start(states, layer, block, slot)
    x_start = start + 2 * num_columns
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        store(states, state + column, load(projected, start + column) * load(projected, x_start + column))
    if rest:
        gate = load_first(projected, start + whole, rest)
        store(states, state + whole, gate * load_first(projected, x_start + whole, rest))


@internal(error_model="numpy")
def short_conv(
    states: Any,
    layer: int,
    block_tables: Any,  # (sequences, max_blocks) int32
    sequence: int,
    position: int,
    projected: Any,
    start: int,
    taps: Any,  # (num_taps, padded columns) from `taps_start` on
    taps_start: int,
    num_taps: int,
    num_columns: int,
    out: Any,
    out_start: int,
) -> None:
    """out = C * the sum over j of taps[j] * state[position - num_taps + 1 + j], the own state included.

    Positions before the first count as zero. `out` ends in zeros up to a multiple of WIDTH_MULTIPLE.
    """
    block_size = states.shape[2]
    width = -(-num_columns // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
    padded = -(-num_columns // 16) * 16
    for column in range(0, width, 16):
        store(out, out_start + column, broadcast(np.float32(0)))
    oldest = position - num_taps + 1
    for seen in range(max(oldest, 0), position + 1):
        block = block_tables[sequence, seen // block_size]
        state = _state_start(states, layer, block, seen % block_size)
        tap = taps_start + (seen - oldest) * width
        for column in range(0, padded, 16):
            total = fma(load(taps, tap + column), load(states, state + column), load(out, out_start + column))
            store(out, out_start + column, total)
    gate_start = start + num_columns
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        mixed = load(out, out_start + column)
        store(out, out_start + column, load(projected, gate_start + column) * mixed)
    if rest:
        mixed = load_first(out, out_start + whole, rest)
        store(out, out_start + whole, load_first(projected, gate_start + whole, rest) * mixed)


@internal(error_model="numpy")
def _state_start(states: Any, layer: int, block: int, slot: int) -> Any:
    return ((layer * states.shape[1] + block) * states.shape[2] + slot) * states.shape[3]
