"""Compiles attention with a cache of int8 for an ARM CPU, on any machine: KERNELS FEATURES DIRECTORY."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.arm.cross_compiling import array_at, choose_features, write

KERNELS, FEATURES, DIRECTORY = sys.argv[1:]
choose_features(FEATURES)

from numba import types  # noqa: E402

from cactus_actors.workers.kernels.attention_items import attention_scratch  # noqa: E402
from cactus_actors.workers.kernels.cache_formats import INT8_CACHES  # noqa: E402
from cactus_actors.workers.kernels.instruction_sets import TABLE  # noqa: E402
from tests.support.arm.attention import (  # noqa: E402
    BLOCK_SIZE,
    BYTES_OF_POSITION,
    HEAD_DIM,
    OUT_WIDTH,
    SOURCE_WIDTH,
    attend_to_all,
)

[make_cache] = (INT8_CACHES[row] for row in TABLE if row.name == KERNELS)
SCRATCH = attention_scratch(HEAD_DIM)


def attend(numbers: Any, memory: Any, source: Any, out: Any, width: int, depth: int, num_rows: int, size: int) -> None:
    """Attention of all rows: the numbers are the block table and the positions, and scratch memory follows the rows."""
    num_blocks = (num_rows + BLOCK_SIZE - 1) // BLOCK_SIZE
    floats = array_at(source, (num_rows * SOURCE_WIDTH + SCRATCH,))
    keys = array_at(memory, (BYTES_OF_POSITION, num_blocks, BLOCK_SIZE))
    states, slots = array_at(source, (0, num_blocks, BLOCK_SIZE, 16)), array_at(source, (0, 0))
    table, ends = array_at(numbers, (1, num_blocks)), array_at(numbers, (num_blocks + num_rows,))
    results = array_at(out, (num_rows * OUT_WIDTH,))
    scratch = num_rows * SOURCE_WIDTH
    attend_to_all(make_cache(keys, states, slots), table, ends, num_blocks, floats, floats, scratch, results, num_rows)


write(attend, DIRECTORY, types.CPointer(types.int32))
