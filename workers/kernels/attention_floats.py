"""The visit of a chunk of the cache by items of attention, with keys and values as floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.attention_items import LOG2_E, Items, cap_scores, height_of
from cactus_actors.workers.kernels.attention_scores import score, score_widened
from cactus_actors.workers.kernels.attention_tiles import CHUNK, RECORD_FLOATS, get_pair
from cactus_actors.workers.kernels.attention_values import mix, mix_widened
from cactus_actors.workers.kernels.attention_weights import weigh
from cactus_actors.workers.kernels.attention_widening import widen_keys, widen_values
from cactus_actors.workers.kernels.cache_formats import CachedLayer, padded
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import LANES

WIDENED_ITEMS = 8
"""From so many of them on, a chunk that is not float32 is widened once for all tiles."""


def visit_as_floats(
    cache: Any,
    layer: CachedLayer,
    scratch: Any,
    items: Items,
    places: int,
    following: int,
    chunk: int,
    first: int,
    last: int,
    first_item: int,
    count: int,
    softcap: float,
) -> None:
    """`visit_chunk` of a cache of floats."""
    head_dim, width = layer.head_dim, padded(layer.head_dim)
    is_widened = cache.keys.itemsize < 4 and count >= WIDENED_ITEMS
    end_item, widened = first_item + count, items.widened
    if is_widened:
        widen_keys(cache, scratch, places, first, last, head_dim, widened)
    item = first_item
    while item < end_item:
        height = height_of(end_item - item)
        query, weights, total = items.queries + item * width, items.scores + item * CHUNK, items.sums + item * width
        limits, state = items.ranges + item * RECORD_FLOATS, items.states + item * 2 * LANES
        if is_widened:
            score_widened(cache, scratch, places, widened, first, last, height, head_dim, query, width, weights)
        else:
            score(cache, scratch, places, widened, first, last, height, head_dim, query, width, weights)
        if softcap > 0:
            cap_scores(scratch, weights, height * CHUNK, np.float32(softcap * LOG2_E))
        weigh(cache, scratch, places, chunk, height, limits, weights, total, width, state)
        item += height
    if is_widened:
        widen_values(cache, scratch, places, following, first, last, width, widened)
    item = first_item
    while item < end_item:
        height = height_of(end_item - item)
        weights, total = items.scores + item * CHUNK, items.sums + item * width
        limits = items.ranges + item * RECORD_FLOATS
        _mix_tile(cache, scratch, places, following, widened, is_widened, chunk, height, limits, weights, total, width)
        item += height


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
    low, _ = get_pair(scratch, ranges + (height - 1) * RECORD_FLOATS)
    _, high = get_pair(scratch, ranges)
    low, high = max(low - chunk, 0), min(high - chunk, CHUNK)
    if low >= high:
        low = high = CHUNK
    for end in range(2):
        for row in range(height):
            start, stop = get_pair(scratch, ranges + row * RECORD_FLOATS)
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
