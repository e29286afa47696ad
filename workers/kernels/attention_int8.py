"""The visit of a chunk of the cache by items of attention, with keys and values as integers.

What a tile reads of the next chunk meanwhile goes to the first-level cache, where two chunks fit: the pass takes 0.87
of the time of one that fetches it into the second level (Zen 5, shape A).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.attention_int8_scores import score_int8
from cactus_actors.workers.kernels.attention_int8_values import mix_int8
from cactus_actors.workers.kernels.attention_items import LOG2_E, Items, cap_scores, height_of
from cactus_actors.workers.kernels.attention_tiles import CHUNK, RECORD_FLOATS
from cactus_actors.workers.kernels.attention_weights import weigh
from cactus_actors.workers.kernels.cache_formats import CachedLayer, padded
from cactus_actors.workers.kernels.simd import LANES


def visit_as_int8(
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
    """`visit_chunk` of a cache of int8."""
    head_dim, width = layer.head_dim, padded(layer.head_dim)
    end_item, item = first_item + count, first_item
    while item < end_item:
        height = height_of(end_item - item)
        query, weights, total = items.queries + item * width, items.scores + item * CHUNK, items.sums + item * width
        limits, state = items.ranges + item * RECORD_FLOATS, items.states + item * 2 * LANES
        score_int8(cache, scratch, places, following, first, last, height, head_dim, query, width, weights)
        if softcap > 0:
            cap_scores(scratch, weights, height * CHUNK, np.float32(softcap * LOG2_E))
        weigh(cache, scratch, places, chunk, height, limits, weights, total, width, state)
        item += height
    item = first_item
    while item < end_item:
        height = height_of(end_item - item)
        weights, total = items.scores + item * CHUNK, items.sums + item * width
        mix_int8(cache, scratch, places, following, first, last, height, width, weights, total)
        item += height
