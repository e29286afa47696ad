"""Nanoseconds of paged attention per row, head and position, and the bandwidth of reading the cache.

python -m benchmarks.attention --formats float32,int8 --contexts 128,4096
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cactus_actors.workers.engine.kv_cache import CacheShape, KVCache
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.attention import attend
from cactus_actors.workers.kernels.attention_items import attention_scratch
from cactus_actors.workers.kernels.cache_formats import cached_layers

BLOCK_SIZE = 16
SEQUENCES = 8
CACHE_BYTES = 256 << 20
"""Layers are added until a pass reads about this number of bytes, as a pass of a model does."""
SHAPES = {"9/3x64": (9, 3, 64), "16/8x128": (16, 8, 128)}  # heads/key-value heads x head_dim


@njit(nogil=True)  # type: ignore[untyped-decorator]  # numba is untyped
def _pass(
    cache: Any,
    layers: Any,
    tables: Any,
    queries: Any,
    out: Any,
    width: int,
    num_heads: int,
    num_rows: int,
    first: int,
    ends: Any,
    scratch: Any,
    rank: int,
    size: int,
) -> None:
    kv_heads, head_dim = layers[0].num_heads, layers[0].head_dim
    num_tasks = len(tables) * kv_heads
    for layer in layers:
        for task in range(num_tasks * rank // size, num_tasks * (rank + 1) // size):
            sequence, kv_head = divmod(task, kv_heads)
            start = sequence * num_rows * width + kv_head * (num_heads // kv_heads) * head_dim
            attend(
                cache,
                layer,
                kv_head,
                tables,
                sequence,
                queries,
                start,
                width,
                num_rows,
                num_heads // kv_heads,
                first,
                ends,
                0,
                0,
                head_dim**-0.5,
                0.0,
                queries,
                -1,
                scratch,
                0,
                out,
                start,
                width,
            )


@dataclass(frozen=True)
class Case:
    """`num_rows` consecutive tokens of each sequence, the first of them at position `first`."""

    shape: tuple[int, int, int]
    format: str
    num_sequences: int
    num_rows: int
    first: int

    def cache_shape(self, num_layers: int) -> CacheShape:
        """`num_layers` equal layers."""
        return CacheShape(cached_layers([self.shape[1:]] * num_layers))

    def prepare(self) -> tuple[Callable[[int, int], None], KVCache]:
        """One rank's part of a pass over all layers, and the cache."""
        num_heads, _, head_dim = self.shape
        blocks = -(-(self.first + self.num_rows) // BLOCK_SIZE)
        num_blocks = blocks * self.num_sequences
        one_layer = self.cache_shape(1).cost(BLOCK_SIZE, self.format).block_bytes
        shape = self.cache_shape(min(max(CACHE_BYTES // (one_layer * num_blocks), 1), 30))
        cache = KVCache.allocate(shape, num_blocks, BLOCK_SIZE, self.format)
        generator = np.random.default_rng(0)
        _fill(cache, generator)
        tables = generator.permutation(num_blocks).astype(np.int32).reshape(self.num_sequences, blocks)
        rows = self.num_sequences * self.num_rows
        width = num_heads * head_dim
        queries = aligned_zeros((rows * width + 64,), np.float32)
        queries[:] = generator.standard_normal(len(queries), dtype=np.float32)
        out = aligned_zeros((rows * width + 64,), np.float32)
        ends = np.arange(self.first, self.first + self.num_rows, dtype=np.int32)
        scratch = [aligned_zeros((attention_scratch(head_dim),), np.float32) for _ in range(8)]

        def run(rank: int, size: int) -> None:
            _pass(
                cache.arrays,
                shape.layers,
                tables,
                queries,
                out,
                width,
                num_heads,
                self.num_rows,
                self.first,
                ends,
                scratch[rank],
                rank,
                size,
            )

        return run, cache


def _fill(cache: KVCache, generator: np.random.Generator) -> None:
    pattern: NDArray[Any] = generator.standard_normal(1 << 16, dtype=np.float32)
    for array in cache.arrays:
        flat = array.reshape(-1)
        values: NDArray[Any] = pattern
        if array.dtype == np.uint16:
            values = pattern.astype(np.float16).view(np.uint16)
        elif array.dtype == np.uint8:
            values = 60 + pattern.clip(-3, 3)  # scales of int8, which are four of these bytes, are positive, too
        for start in range(0, len(flat), len(pattern)):
            part = flat[start : start + len(pattern)]
            part[:] = values[: len(part)].astype(part.dtype)


def measure(case: Case, threads: int, repeats: int) -> tuple[float, float]:
    """measure: (ns per row, head and position on one thread; GB/s of keys and values over all threads)."""
    run, cache = case.prepare()
    durations = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats + 1):
            started = time.perf_counter()
            list(pool.map(lambda rank: run(rank, threads), range(threads)))
            durations.append(time.perf_counter() - started)
    seconds = min(durations[1:])
    num_layers = cache.num_bytes // case.cache_shape(1).cost(BLOCK_SIZE, case.format).bytes_of(cache.num_blocks, 0)
    positions = sum(case.first + row + 1 for row in range(case.num_rows)) * case.num_sequences
    work = num_layers * case.shape[0] * positions
    block_bytes = case.cache_shape(num_layers).cost(BLOCK_SIZE, case.format).block_bytes
    read = block_bytes * case.num_sequences * (case.first + case.num_rows) / BLOCK_SIZE
    return seconds * threads / work * 1e9, read / seconds / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--formats", default="float32,float16,int8")
    parser.add_argument("--contexts", default="128,1024,4096")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    print(f"{'':32}{'threads':>8}{'ns':>9}{'GB/s':>8}")
    for shape in given.shapes.split(","):
        for name in given.formats.split(","):
            cases = {
                f"decode at {context}": Case(SHAPES[shape], name, SEQUENCES, 1, int(context) - 1)
                for context in given.contexts.split(",")
            }
            cases["prefill of 128"] = Case(SHAPES[shape], name, 1, 128, 0)
            for title, case in cases.items():
                for threads in given.threads.split(","):
                    nanoseconds, speed = measure(case, int(threads), given.repeats)
                    print(f"{shape:10}{name:8} {title:14}{threads:>8}{nanoseconds:9.3f}{speed:8.1f}")


if __name__ == "__main__":
    main()
