"""Grouped-query attention over the paged cache, with an online softmax.

Rows and heads that share a key-value head process their positions together, in chunks of 64 at absolute
multiples (Milakov and Gimelshein 2018). Results of rows are independent: scores and sums over positions are
computed in one order, and positions outside a row's range never enter its result, so memory after the end of a
sequence may hold any bits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.attention_places import PLACES_FLOATS, set_places
from cactus_actors.workers.kernels.attention_scores import score, score_widened
from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CHUNK_VECTORS,
    MAX_HEIGHT,
    RECORD_FLOATS,
    get_range,
    get_target,
    set_record,
)
from cactus_actors.workers.kernels.attention_values import mix, mix_widened
from cactus_actors.workers.kernels.attention_weights import weigh
from cactus_actors.workers.kernels.attention_widening import widen_keys, widen_values
from cactus_actors.workers.kernels.cache_formats import CachedLayer, padded
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import (
    LANES,
    broadcast,
    hyperbolic_tangent,
    load,
    store,
    store_first,
    sum_of_lanes,
)

GROUP = 32
"""Rows times heads that read the cache together."""

WIDENED_ITEMS = 8
"""From so many of them on, a chunk that is not float32 is widened once for all tiles."""

LOG2_E = 1 / math.log(2)


class Items(NamedTuple):
    """Offsets in the scratch memory of a thread: a row and a head each, up to GROUP, and a chunk of the cache."""

    places: int  # of the chunk, and of the next one
    ranges: int  # (GROUP,) records: the lanes of an item, and the offset of its result
    queries: int  # (GROUP, width)
    sums: int  # (GROUP, width)
    scores: int  # (GROUP, CHUNK)
    states: int  # (GROUP, 2, LANES): the largest score so far, the sums of weights
    widened: int  # (CHUNK, width)


def attention_scratch(head_dim: int) -> int:
    """Floats of scratch that one thread's `attend` needs, a multiple of 16."""
    width = round_up(head_dim, LANES)
    each = 2 * width + CHUNK + 2 * LANES + RECORD_FLOATS
    return 2 * PLACES_FLOATS + GROUP * each + CHUNK * width


@internal(error_model="numpy")
def items_at(scratch_start: int, head_dim: int) -> Items:
    """Items in scratch memory of `attention_scratch(head_dim)` floats."""
    width = padded(head_dim)
    ranges = scratch_start + 2 * PLACES_FLOATS
    queries = ranges + GROUP * RECORD_FLOATS
    sums = queries + GROUP * width
    scores = sums + GROUP * width
    states = scores + GROUP * CHUNK
    return Items(scratch_start, ranges, queries, sums, scores, states, states + GROUP * 2 * LANES)


@internal(error_model="numpy")
def attend(
    cache: Any,
    layer: CachedLayer,
    kv_head: int,
    block_tables: Any,  # (sequences, max_blocks) int32
    sequence: int,
    queries: Any,  # float32; readable for 15 elements after the last head
    query_start: int,
    query_width: int,
    num_rows: int,
    num_heads: int,
    first_position: int,
    ends: Any,  # (tokens,) int32
    first_end: int,
    window: int,
    scale: float,
    softcap: float,
    sinks: Any,  # float32
    sinks_start: int,  # -1 for none
    scratch: Any,  # float32, attention_scratch(head_dim) from scratch_start on, a multiple of 16
    scratch_start: int,
    out: Any,
    out_start: int,
    out_width: int,
) -> None:
    """out = softmax(scale * q . K) . V for consecutive tokens of a sequence and heads of one key-value head.

    See `begin` for the rows.
    """
    items = items_at(scratch_start, layer.head_dim)
    num_items = num_rows * num_heads
    for first_item in range(0, num_items, GROUP):
        count = min(GROUP, num_items - first_item)
        begin(
            cache,
            layer,
            scratch,
            items,
            0,
            first_item,
            count,
            queries,
            query_start,
            query_width,
            num_heads,
            first_position,
            ends,
            first_end,
            window,
            scale,
            softcap,
            sinks,
            sinks_start,
            out_start,
            out_width,
        )
        low, high = range_of(scratch, items, 0, count)
        advance(cache, layer, kv_head, block_tables, sequence, low, high, scratch, items, 0, count, softcap)
        finish(layer, scratch, items, count, out)


@internal(error_model="numpy")
def begin(
    cache: Any,
    layer: CachedLayer,
    scratch: Any,
    items: Items,
    place: int,
    first_item: int,
    count: int,
    queries: Any,
    query_start: int,
    query_width: int,
    num_heads: int,
    first_position: int,
    ends: Any,
    first_end: int,
    window: int,
    scale: float,
    softcap: float,
    sinks: Any,
    sinks_start: int,
    out_start: int,
    out_width: int,
) -> None:
    """Begin the attention of items first_item.. of consecutive tokens of a sequence, in places `place`..

    Item r * num_heads + h is head h of row r, which is at position first_position + r. It attends to the positions
    up to ends[first_end + r], which is its own in causal attention, and with a `window` above 0 to no more than that
    many up to its own. A `window` below 0 is minus the first position that is attended to. Ends do not fall from row
    to row, and none is before its row. Row r and head h have their query at query_start + r * query_width + h *
    head_dim and their result likewise in `out`. With a `softcap` scores become softcap * tanh(score / softcap). The
    sink of head h, at sinks_start + h, is a score without a value: it adds e^sink to what a row's weights are divided
    by.
    """
    head_dim, width = layer.head_dim, padded(layer.head_dim)
    block_size, lanes = cache.values.shape[2], cache.keys.shape[2]
    # Powers of two are cheaper than those of e; a cap wants the plain score over it.
    factor = broadcast(np.float32(scale / softcap if softcap > 0 else scale * LOG2_E))
    for item in range(count):
        row, head = divmod(first_item + item, num_heads)
        position = first_position + row
        # Ranges are counted in lanes: a block has whole vectors of them.
        low = max(position - window + 1, 0) if window > 0 else -window
        low = low // block_size * lanes + low % block_size
        end = ends[first_end + row]
        high = end // block_size * lanes + end % block_size + 1
        at, state = place + item, items.states + (place + item) * 2 * LANES
        query, target = query_start + row * query_width + head * head_dim, out_start + row * out_width + head * head_dim
        set_record(scratch, items.ranges + at * RECORD_FLOATS, low, high, target, 0)
        _begin(scratch, items.queries + at * width, items.sums + at * width, width, state, queries, query, factor)
        if sinks_start >= 0:
            _begin_with_sink(scratch, state, np.float32(sinks[sinks_start + head] * np.float32(LOG2_E)))


@internal(error_model="numpy")
def range_of(scratch: Any, items: Items, first: int, count: int) -> tuple[int, int]:
    """The lanes that consecutive items of one sequence attend to."""
    low, _ = get_range(scratch, items.ranges + first * RECORD_FLOATS)
    _, high = get_range(scratch, items.ranges + (first + count - 1) * RECORD_FLOATS)
    return low, high


@internal(error_model="numpy")
def common_range_of(scratch: Any, items: Items, first: int, count: int) -> tuple[int, int]:
    """The lanes that all of consecutive items of one sequence attend to."""
    low, _ = get_range(scratch, items.ranges + (first + count - 1) * RECORD_FLOATS)
    _, high = get_range(scratch, items.ranges + first * RECORD_FLOATS)
    return low, high


@internal(error_model="numpy")
def advance(
    cache: Any,
    layer: CachedLayer,
    kv_head: int,
    block_tables: Any,
    sequence: int,
    low: int,
    high: int,
    scratch: Any,
    items: Items,
    first_item: int,
    count: int,
    softcap: float,
) -> None:
    """Attend to lanes low..high-1 of a sequence: `low` is that of the items or a multiple of CHUNK, `high` likewise.

    Items of other sequences have the same blocks there, and attend to all of these lanes.
    """
    head_dim, width = layer.head_dim, padded(layer.head_dim)
    is_widened = cache.keys.itemsize < 4 and count >= WIDENED_ITEMS
    end_item, widened = first_item + count, items.widened
    places, next_places = items.places, items.places + PLACES_FLOATS
    start = low // CHUNK * CHUNK
    if start < high:
        set_places(cache, layer, kv_head, block_tables, sequence, low, high, start, scratch, places)
    for chunk in range(start, high, CHUNK):
        following = places
        if chunk + CHUNK < high:
            following = next_places
            set_places(cache, layer, kv_head, block_tables, sequence, low, high, chunk + CHUNK, scratch, following)
        first = max(low - chunk, 0) // LANES
        last = min((high - chunk + LANES - 1) // LANES, CHUNK_VECTORS)
        if is_widened:
            widen_keys(cache, scratch, places, first, last, head_dim, widened)
        item = first_item
        while item < end_item:
            height = _height(end_item - item)
            query, weights, total = items.queries + item * width, items.scores + item * CHUNK, items.sums + item * width
            limits, state = items.ranges + item * RECORD_FLOATS, items.states + item * 2 * LANES
            if is_widened:
                score_widened(cache, scratch, places, widened, first, last, height, head_dim, query, width, weights)
            else:
                score(cache, scratch, places, widened, first, last, height, head_dim, query, width, weights)
            if softcap > 0:
                _cap(scratch, weights, height * CHUNK, np.float32(softcap * LOG2_E))
            weigh(cache, scratch, places, chunk, height, limits, weights, total, width, state)
            item += height
        if is_widened:
            widen_values(cache, scratch, places, following, first, last, width, widened)
        item = first_item
        while item < end_item:
            height = _height(end_item - item)
            weights, total = items.scores + item * CHUNK, items.sums + item * width
            limits = items.ranges + item * RECORD_FLOATS
            _mix_tile(
                cache, scratch, places, following, widened, is_widened, chunk, height, limits, weights, total, width
            )
            item += height
        places, next_places = next_places, places


@internal(error_model="numpy")
def finish(layer: CachedLayer, scratch: Any, items: Items, count: int, out: Any) -> None:
    """Write the results of items 0..count-1."""
    width = padded(layer.head_dim)
    for item in range(count):
        mass, target = items.states + (2 * item + 1) * LANES, get_target(scratch, items.ranges + item * RECORD_FLOATS)
        _finish(scratch, items.sums + item * width, mass, layer.head_dim, out, target)


@internal(error_model="numpy")
def _height(count: int) -> int:
    """The height of the next of `count` rows' tiles, of about one height: single rows load too much per product."""
    if count <= MAX_HEIGHT:
        return count  # the usual case, without divisions
    tiles = (count + MAX_HEIGHT - 1) // MAX_HEIGHT
    return (count + tiles - 1) // tiles


@internal(error_model="numpy")
def _mix_tile(
    cache: Any,
    scratch: Any,
    places: int,
    following: int,
    widened: int,
    is_widened: bool,
    chunk: int,
    height: int,
    ranges: int,
    weights: int,
    sums: int,
    width: int,
) -> None:
    # Rows are mixed together where all of them attend and alone at their ends: nothing is multiplied by the
    # weight of a position outside of a row's range, which may not be finite.
    low, _ = get_range(scratch, ranges + (height - 1) * RECORD_FLOATS)
    _, high = get_range(scratch, ranges)
    low, high = max(low - chunk, 0), min(high - chunk, CHUNK)
    if low >= high:
        low = high = CHUNK
    for end in range(2):
        for row in range(height):
            start, stop = get_range(scratch, ranges + row * RECORD_FLOATS)
            start, stop = max(start - chunk, 0), min(stop - chunk, CHUNK)
            if end == 0:
                stop = min(stop, low)
            else:
                start = high
            if start < stop:
                own_weights, own_sums = weights + row * CHUNK, sums + row * width
                if is_widened:
                    mix_widened(
                        cache, scratch, places, following, widened, start, stop, 1, width, own_weights, own_sums
                    )
                else:
                    mix(cache, scratch, places, following, widened, start, stop, 1, width, own_weights, own_sums)
        if end == 0 and low < high:
            if is_widened:
                mix_widened(cache, scratch, places, following, widened, low, high, height, width, weights, sums)
            else:
                mix(cache, scratch, places, following, widened, low, high, height, width, weights, sums)


@internal(error_model="numpy")
def _begin(scratch: Any, packed: int, sums: int, width: int, state: int, queries: Any, query: int, factor: Any) -> None:
    zero = broadcast(np.float32(0))
    for index in range(0, width, LANES):
        store(scratch, packed + index, load(queries, query + index) * factor)
        store(scratch, sums + index, zero)
    store(scratch, state, broadcast(np.float32(-np.inf)))
    store(scratch, state + LANES, zero)


@internal(error_model="numpy")
def _begin_with_sink(scratch: Any, state: int, sink: Any) -> None:
    """The sink is the largest score so far, of weight 1; lanes of the mass are added up at the end."""
    store(scratch, state, broadcast(sink))
    store_first(scratch, state + LANES, broadcast(np.float32(1)), 1)


@internal(error_model="numpy")
def _cap(scratch: Any, scores: int, count: int, cap: Any) -> None:
    for index in range(scores, scores + count, LANES):
        store(scratch, index, hyperbolic_tangent(load(scratch, index)) * broadcast(cap))


@internal(error_model="numpy")
def _finish(scratch: Any, sums: int, mass: int, head_dim: int, out: Any, target: int) -> None:
    share = broadcast(np.float32(1) / sum_of_lanes(load(scratch, mass)))
    for index in range(0, head_dim, LANES):
        store_first(out, target + index, load(scratch, sums + index) * share, head_dim - index)
