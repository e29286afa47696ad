"""Memory bandwidth of this machine: the upper limit of decoding one sequence.

python -m benchmarks.memory_bandwidth --threads 2
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

NUM_BYTES = 1 << 30  # much larger than any cache
NUM_PASSES = 5


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def total(words: NDArray[np.uint64]) -> np.uint64:
    """The sum of all words: every byte is read once, in order."""
    result = np.uint64(0)
    for word in words:
        result += word
    return result


def read_bandwidth(threads: int) -> float:
    """Bytes per second that these threads read together: the best of a few passes."""
    words = np.ones(NUM_BYTES // 8, dtype=np.uint64)
    total(words[:8])
    parts = np.array_split(words, threads)
    durations = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(NUM_PASSES):
            started = time.perf_counter()
            assert sum(map(int, pool.map(total, parts))) == words.size
            durations.append(time.perf_counter() - started)
    return NUM_BYTES / min(durations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    print(f"{read_bandwidth(parser.parse_args().threads) / 1e9:.1f} GB/s")


if __name__ == "__main__":
    main()
