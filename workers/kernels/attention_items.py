"""Items of attention: rows and heads that share a key-value head, and their places in scratch memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.attention_places import PLACES_FLOATS
from cactus_actors.workers.kernels.attention_tiles import CHUNK, MAX_HEIGHT, RECORD_FLOATS, get_pair
from cactus_actors.workers.kernels.cache_formats import padded
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import LANES, broadcast, hyperbolic_tangent, load, store

LOG2_E = 1 / math.log(2)

GROUP = 32
"""Rows times heads that read the cache together."""


class Items(NamedTuple):
    """Offsets in the scratch memory of a thread: a row and a head each, up to GROUP, and a chunk of the cache."""

    places: int  # of the chunk, and of the next one
    after: int  # places of what the thread reads after these items
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
    return 3 * PLACES_FLOATS + GROUP * each + CHUNK * width


@internal(error_model="numpy")
def items_at(scratch_start: int, head_dim: int) -> Items:
    """Items in scratch memory of `attention_scratch(head_dim)` floats."""
    width = padded(head_dim)
    after = scratch_start + 2 * PLACES_FLOATS
    ranges = after + PLACES_FLOATS
    queries = ranges + GROUP * RECORD_FLOATS
    sums = queries + GROUP * width
    scores = sums + GROUP * width
    states = scores + GROUP * CHUNK
    return Items(scratch_start, after, ranges, queries, sums, scores, states, states + GROUP * 2 * LANES)


@internal(error_model="numpy")
def range_of(scratch: Any, items: Items, first: int, count: int) -> tuple[int, int]:
    """The lanes that consecutive items of one sequence attend to."""
    low, _ = get_pair(scratch, items.ranges + first * RECORD_FLOATS)
    _, high = get_pair(scratch, items.ranges + (first + count - 1) * RECORD_FLOATS)
    return low, high


@internal(error_model="numpy")
def common_range_of(scratch: Any, items: Items, first: int, count: int) -> tuple[int, int]:
    """The lanes that all of consecutive items of one sequence attend to."""
    low, _ = get_pair(scratch, items.ranges + (first + count - 1) * RECORD_FLOATS)
    _, high = get_pair(scratch, items.ranges + first * RECORD_FLOATS)
    return low, high


@internal(error_model="numpy")
def height_of(count: int) -> int:
    """The height of the next of `count` rows' tiles, of about one height: single rows load too much per product."""
    if count <= MAX_HEIGHT:
        return count  # the usual case, without divisions
    tiles = (count + MAX_HEIGHT - 1) // MAX_HEIGHT
    return (count + tiles - 1) // tiles


@internal(error_model="numpy")
def cap_scores(scratch: Any, scores: int, count: int, cap: Any) -> None:
    """scores = cap * tanh(scores)."""
    for index in range(scores, scores + count, LANES):
        store(scratch, index, hyperbolic_tangent(load(scratch, index)) * broadcast(cap))
