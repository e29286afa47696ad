"""Causal attention of all tokens of a sequence with a cache of int8, as one function of plain arrays."""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable

from cactus_actors.workers.kernels.attention import attend
from cactus_actors.workers.kernels.cache_formats import SCALES_BYTES, CachedLayer
from cactus_actors.workers.kernels.cache_stores import store_keys_values

KV_HEADS, HEADS_TOGETHER, HEAD_DIM, PADDED_DIM, BLOCK_SIZE = 2, 3, 36, 48, 16
LAYER = CachedLayer(KV_HEADS, HEAD_DIM, 0, 0, 0)
BYTES_OF_POSITION = KV_HEADS * (2 * PADDED_DIM + SCALES_BYTES)
NUM_QUERIES = KV_HEADS * HEADS_TOGETHER * HEAD_DIM
OUT_WIDTH, SOURCE_WIDTH = 256, 384
"""Floats of a row of the results, and of a row of queries, keys and values, which is readable after them."""


@register_jitable  # type: ignore[untyped-decorator]  # numba is untyped
def attend_to_all(
    cache: Any,
    table: Any,
    ends: Any,
    first_end: int,
    source: Any,
    scratch: Any,
    scratch_start: int,
    out: Any,
    num_rows: int,
) -> None:
    """Store the keys and values of each row, then compute the attention of each."""
    keys = NUM_QUERIES
    values = keys + KV_HEADS * HEAD_DIM
    for row in range(num_rows):
        block, at = table[0, row // BLOCK_SIZE], row * SOURCE_WIDTH
        store_keys_values(cache, LAYER, block, row % BLOCK_SIZE, source, at + keys, at + values, 0, KV_HEADS)
    for kv_head in range(KV_HEADS):
        column = kv_head * HEADS_TOGETHER * HEAD_DIM
        attend(
            cache,
            LAYER,
            kv_head,
            table,
            0,
            source,
            column,
            SOURCE_WIDTH,
            num_rows,
            HEADS_TOGETHER,
            0,
            ends,
            first_end,
            0,
            HEAD_DIM**-0.5,
            0.0,
            source,
            -1,
            scratch,
            scratch_start,
            out,
            column,
            OUT_WIDTH,
        )
