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
    PLACE_FLOATS,
    mix,
    scale_weights,
    score,
    set_place,
)
from workers.kernels.memory import round_up
from workers.kernels.vectors import (
    LANES,
    any_above,
    broadcast,
    hyperbolic_tangent,
    larger,
    load,
    max_of_lanes,
    power_of_two,
    store,
    sum_of_lanes,
    within,
)

GROUP = 16
"""Rows times heads that go through the cache together."""

LOG2_E = 1 / math.log(2)


def attention_scratch(head_dim: int) -> int:
    """Floats of scratch that one thread's `attend` needs, a multiple of 16."""
    return PLACE_FLOATS + GROUP * (2 * round_up(head_dim, LANES) + CHUNK + 2 * LANES) + 2 * GROUP


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
    head_dim = cache.keys.shape[3]
    block_size, width = cache.values.shape[3:]
    lanes = cache.keys.shape[4]
    # Powers of two are cheaper than those of e; a cap wants the plain score over it.
    factor = broadcast(np.float32(scale / softcap if softcap > 0 else scale * LOG2_E))
    num_items = num_rows * num_heads
    for first in range(0, num_items, GROUP):
        count = min(GROUP, num_items - first)
        for item in range(count):
            row, head = divmod(first + item, num_heads)
            position = first_position + row
            low = max(position - window + 1, 0) if window > 0 else 0
            _begin_item(
                scratch,
                scratch_start,
                width,
                item,
                queries,
                query_start + row * query_width + head * head_dim,
                factor,
                low // block_size * lanes + low % block_size,
                position // block_size * lanes + position % block_size + 1,
            )
        _attend_group(cache, layer, kv_head, block_tables, sequence, softcap, scratch, scratch_start, count)
        for item in range(count):
            row, head = divmod(first + item, num_heads)
            _finish_item(
                scratch,
                scratch_start,
                width,
                item,
                head_dim,
                out,
                out_start + row * out_width + head * head_dim,
            )


@njit(error_model="numpy")
def _parts(start: int, width: int) -> Any:
    # Behind the places: queries, sums, scores (then weights), masses, largest scores, ranges of lanes.
    queries = start + PLACE_FLOATS
    sums = queries + GROUP * width
    scores = sums + GROUP * width
    masses = scores + GROUP * CHUNK
    tops = masses + GROUP * LANES
    return queries, sums, scores, masses, tops, tops + GROUP * LANES


@njit(error_model="numpy")
def _begin_item(
    scratch: Any,
    start: int,
    width: int,
    item: int,
    queries: Any,
    query: int,
    factor: Any,
    low: int,
    high: int,
) -> None:
    packed, sums, _, masses, tops, ranges = _parts(start, width)
    zero = broadcast(np.float32(0))
    for index in range(0, width, LANES):
        store(scratch, packed + item * width + index, load(queries, query + index) * factor)
        store(scratch, sums + item * width + index, zero)
    store(scratch, masses + item * LANES, zero)
    store(scratch, tops + item * LANES, broadcast(np.float32(-np.inf)))
    scratch[ranges + 2 * item] = low
    scratch[ranges + 2 * item + 1] = high


@njit(error_model="numpy")
def _finish_item(
    scratch: Any, start: int, width: int, item: int, head_dim: int, out: Any, target: int
) -> None:
    _, sums, _, masses, _, _ = _parts(start, width)
    share = np.float32(1) / sum_of_lanes(load(scratch, masses + item * LANES))
    for index in range(head_dim):
        out[target + index] = scratch[sums + item * width + index] * share


@njit(error_model="numpy")
def _attend_group(
    cache: Any,
    layer: int,
    kv_head: int,
    block_tables: Any,
    sequence: int,
    softcap: float,
    scratch: Any,
    start: int,
    count: int,
) -> None:
    num_blocks, kv_heads, head_dim, lanes = cache.keys.shape[1:]
    block_size, width = cache.values.shape[3:]
    queries, _, scores, _, _, ranges = _parts(start, width)
    group_low, group_high = int(scratch[ranges]), int(scratch[ranges + 2 * count - 1])
    for chunk in range(group_low // CHUNK * CHUNK, group_high, CHUNK):
        first = max(group_low - chunk, 0) // LANES
        last = min((group_high - chunk + LANES - 1) // LANES, CHUNK_VECTORS)
        for vector in range(first, last):
            index, slot = divmod(chunk + vector * LANES, lanes)
            head = (layer * num_blocks + block_tables[sequence, index]) * kv_heads + kv_head
            key, value = head * head_dim * lanes + slot, (head * block_size + slot) * width
            set_place(scratch, start, vector, key, value, head * lanes + slot, min(block_size - slot, LANES))
        for item in range(0, count, MAX_HEIGHT):
            height = min(count - item, MAX_HEIGHT)
            query, below = queries + item * width, scores + item * CHUNK
            score(cache, scratch, start, first, last, height, query, width, below)
            for one in range(item, item + height):
                low, high = _range_of(scratch, ranges, one, chunk)
                if low < high:
                    _weigh(cache, scratch, start, width, one, low, high, block_size, lanes, chunk, softcap)
            _mix_tile(cache, scratch, start, width, item, height, chunk)


@njit(error_model="numpy")
def _range_of(scratch: Any, ranges: int, item: int, chunk: int) -> Any:
    low, high = int(scratch[ranges + 2 * item]), int(scratch[ranges + 2 * item + 1])
    return max(low - chunk, 0), min(high - chunk, CHUNK)


@njit(error_model="numpy")
def _weigh(
    cache: Any,
    scratch: Any,
    start: int,
    width: int,
    item: int,
    low: int,
    high: int,
    block_size: int,
    lanes: int,
    chunk: int,
    softcap: float,
) -> None:
    # Scores of the item's lanes low..high-1 of a chunk become weights; what was summed shrinks with them.
    _, sums, scores, masses, tops, _ = _parts(start, width)
    scores, top = scores + item * CHUNK, tops + item * LANES
    first, last = low // LANES, (high + LANES - 1) // LANES
    lowest = np.float32(-np.inf)
    before = load(scratch, top)
    largest = before
    for vector in range(first, last):
        lane = vector * LANES
        score = load(scratch, scores + lane)
        if softcap > 0:
            score = hyperbolic_tangent(score) * broadcast(np.float32(softcap * LOG2_E))
        stop = min(high - lane, block_size - (chunk + lane) % lanes)
        if low > lane or stop < LANES:
            score = within(score, low - lane, stop, lowest)
        store(scratch, scores + lane, score)
        largest = larger(score, largest)

    mass = load(scratch, masses + item * LANES)
    if any_above(largest, before):
        largest = broadcast(max_of_lanes(largest))
        shrink = power_of_two(before - largest)
        mass = mass * shrink
        for index in range(0, width, LANES):
            total = sums + item * width + index
            store(scratch, total, load(scratch, total) * shrink)
        store(scratch, top, largest)
    else:
        largest = before

    for vector in range(first, last):
        lane = vector * LANES
        weight = power_of_two(load(scratch, scores + lane) - largest)
        mass = mass + weight
        store(scratch, scores + lane, scale_weights(cache, scratch, start, vector, weight))
    store(scratch, masses + item * LANES, mass)


@njit(error_model="numpy")
def _mix_tile(cache: Any, scratch: Any, start: int, width: int, item: int, height: int, chunk: int) -> None:
    # A row is mixed with others where all of them attend, and alone at the ends: nothing is multiplied by
    # the weight of a position outside its range, as that might not be finite.
    _, sums, scores, _, _, ranges = _parts(start, width)
    low, _ = _range_of(scratch, ranges, item + height - 1, chunk)
    _, high = _range_of(scratch, ranges, item, chunk)
    if low >= high:
        low = high = CHUNK
    for one in range(item, item + height):
        mine, stop = _range_of(scratch, ranges, one, chunk)
        stop = min(stop, low)
        if mine < stop:
            mix(cache, scratch, start, mine, stop, 1, scores + one * CHUNK, sums + one * width)
    if low < high:
        mix(cache, scratch, start, low, high, height, scores + item * CHUNK, sums + item * width)
    for one in range(item, item + height):
        mine, stop = _range_of(scratch, ranges, one, chunk)
        if high < stop:
            mix(cache, scratch, start, high, stop, 1, scores + one * CHUNK, sums + one * width)
