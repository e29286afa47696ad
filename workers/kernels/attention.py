"""Causal grouped-query attention over the paged cache, with an online softmax.

The rows and heads that share a key-value head go through their positions together, in chunks of 64 at
absolute multiples (Milakov and Gimelshein 2018). No row's result depends on the others: a lane of a score
and a sum over positions have one order, and a position outside a row's own range is never multiplied into
its result, so foreign memory behind a sequence may hold anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from workers.kernels.attention_tiles import (
    CHUNK,
    CHUNK_VECTORS,
    MAX_HEIGHT,
    RECORD_FLOATS,
    get_range,
    mix,
    score,
    set_record,
    weigh,
)
from workers.kernels.memory import round_up
from workers.kernels.vectors import (
    LANES,
    broadcast,
    hyperbolic_tangent,
    load,
    store,
    store_first,
    sum_of_lanes,
)

GROUP = 16
"""Rows times heads that go through the cache together."""

LOG2_E = 1 / math.log(2)


PLACES_FLOATS = CHUNK_VECTORS * RECORD_FLOATS


def attention_scratch(head_dim: int) -> int:
    """Floats of scratch that one thread's `attend` needs, a multiple of 16."""
    each = 2 * round_up(head_dim, LANES) + CHUNK + 2 * LANES + RECORD_FLOATS
    return 2 * PLACES_FLOATS + GROUP * each


@njit(error_model="numpy")
def attend(
    cache: Any,
    layer: int,
    kv_head: int,
    block_tables: Any,  # (sequences, max_blocks) int32
    sequence: int,
    queries: Any,  # float32; readable for 15 elements behind the last head
    query_start: int,
    query_width: int,
    num_rows: int,
    num_heads: int,
    first_position: int,
    window: int,
    scale: float,
    softcap: float,
    scratch: Any,  # float32, attention_scratch(head_dim) from scratch_start on, a multiple of 16
    scratch_start: int,
    out: Any,
    out_start: int,
    out_width: int,
) -> None:
    """out = softmax(scale * q . K) . V for consecutive tokens of a sequence and heads of one key-value head.

    Row r stands at position first_position + r and sees the positions up to its own, the last `window` of
    them unless that is 0. Row r and head h have their query at query_start + r * query_width + h * head_dim
    and their result likewise in `out`. With a `softcap` scores become softcap * tanh(score / softcap).
    """
    num_blocks, kv_heads, head_dim, lanes = cache.keys.shape[1:]
    block_size, width = cache.values.shape[3:]
    # Powers of two are cheaper than those of e; a cap wants the plain score over it.
    factor = broadcast(np.float32(scale / softcap if softcap > 0 else scale * LOG2_E))
    ranges = scratch_start + 2 * PLACES_FLOATS
    packed = ranges + GROUP * RECORD_FLOATS
    sums = packed + GROUP * width
    scores = sums + GROUP * width
    states = scores + GROUP * CHUNK

    num_items = num_rows * num_heads
    for first_item in range(0, num_items, GROUP):
        count = min(GROUP, num_items - first_item)
        for item in range(count):
            row, head = divmod(first_item + item, num_heads)
            position = first_position + row
            # Ranges are counted in lanes: a block has whole vectors of them.
            low = max(position - window + 1, 0) if window > 0 else 0
            low = low // block_size * lanes + low % block_size
            high = position // block_size * lanes + position % block_size + 1
            set_record(scratch, ranges + item * RECORD_FLOATS, low, high, 0, 0)
            query = query_start + row * query_width + head * head_dim
            _begin(
                scratch,
                queries,
                query,
                factor,
                packed + item * width,
                sums + item * width,
                width,
                states + item * 2 * LANES,
            )

        group_low, _ = get_range(scratch, ranges)
        _, group_high = get_range(scratch, ranges + (count - 1) * RECORD_FLOATS)
        places, next_places = scratch_start, scratch_start + PLACES_FLOATS
        begin = group_low // CHUNK * CHUNK
        for chunk in range(begin - CHUNK, group_high, CHUNK):
            if chunk + CHUNK < group_high:
                for number in range(CHUNK_VECTORS):
                    # Vectors without positions of the group stand for another: its block may be unknown.
                    lane = max(chunk + CHUNK + number * LANES, group_low // LANES * LANES)
                    lane = min(lane, (group_high - 1) // LANES * LANES)
                    index, slot = divmod(lane, lanes)
                    head = (layer * num_blocks + block_tables[sequence, index]) * kv_heads + kv_head
                    set_record(
                        scratch,
                        next_places + number * RECORD_FLOATS,
                        head * head_dim * lanes + slot,
                        (head * block_size + slot) * width,
                        head * lanes + slot,
                        min(block_size - slot, LANES),
                    )
            if chunk >= begin:
                first = max(group_low - chunk, 0) // LANES
                last = min((group_high - chunk + LANES - 1) // LANES, CHUNK_VECTORS)
                for item in range(0, count, MAX_HEIGHT):
                    height = min(count - item, MAX_HEIGHT)
                    query, weights, total = packed + item * width, scores + item * CHUNK, sums + item * width
                    score(cache, scratch, places, first, last, height, query, width, weights)
                    if softcap > 0:
                        _cap(scratch, weights, height * CHUNK, np.float32(softcap * LOG2_E))
                    ranges_here, states_here = ranges + item * RECORD_FLOATS, states + item * 2 * LANES
                    weigh(
                        cache, scratch, places, chunk, height, ranges_here, weights, total, width, states_here
                    )
                    # A row is mixed with others where all of them attend, and alone at the ends: nothing is
                    # multiplied by the weight of a position outside its range, as that may not be finite.
                    low, _ = get_range(scratch, ranges_here + (height - 1) * RECORD_FLOATS)
                    _, high = get_range(scratch, ranges_here)
                    low, high = max(low - chunk, 0), min(high - chunk, CHUNK)
                    if low >= high:
                        low = high = CHUNK
                    mixed = height
                    for turn in range(3):
                        for row in range(height):
                            own_low, own_high = get_range(scratch, ranges_here + row * RECORD_FLOATS)
                            if turn == 0:
                                start, stop = max(own_low - chunk, 0), min(own_high - chunk, low)
                            elif turn == 1:
                                start, stop = low, high
                                if row > 0:
                                    continue
                            else:
                                start, stop = high, min(own_high - chunk, CHUNK)
                            mixed = height if turn == 1 else 1
                            if start < stop:
                                mix(
                                    cache,
                                    scratch,
                                    places,
                                    next_places,
                                    start,
                                    stop,
                                    mixed,
                                    weights + row * CHUNK,
                                    total + row * width,
                                )
            places, next_places = next_places, places

        for item in range(count):
            row, head = divmod(first_item + item, num_heads)
            _finish(
                scratch,
                sums + item * width,
                states + (2 * item + 1) * LANES,
                head_dim,
                out,
                out_start + row * out_width + head * head_dim,
            )


@njit(error_model="numpy")
def _begin(
    scratch: Any, queries: Any, query: int, factor: Any, packed: int, sums: int, width: int, state: int
) -> None:
    zero = broadcast(np.float32(0))
    for index in range(0, width, LANES):
        store(scratch, packed + index, load(queries, query + index) * factor)
        store(scratch, sums + index, zero)
    store(scratch, state, broadcast(np.float32(-np.inf)))
    store(scratch, state + LANES, zero)


@njit(error_model="numpy")
def _cap(scratch: Any, scores: int, count: int, cap: Any) -> None:
    for index in range(scores, scores + count, LANES):
        store(scratch, index, hyperbolic_tangent(load(scratch, index)) * broadcast(cap))


@njit(error_model="numpy")
def _finish(scratch: Any, sums: int, mass: int, head_dim: int, out: Any, target: int) -> None:
    share = broadcast(np.float32(1) / sum_of_lanes(load(scratch, mass)))
    for index in range(0, head_dim, LANES):
        store_first(out, target + index, load(scratch, sums + index) * share, head_dim - index)
