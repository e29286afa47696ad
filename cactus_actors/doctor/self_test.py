"""Some seconds of work: the speed of the kernels and of the memory, beside that of machines of this kind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.doctor.finding import Finding
from cactus_actors.doctor.limits import free_memory

LARGEST_ARRAY = 256 << 20
NUM_PASSES = 3
PROMPT_TOKENS, DECODE_TOKENS, BATCH = 128, 48, 16
CROWDED_SHARE = 0.85


class Speeds(NamedTuple):
    """Tokens per second of one thread: of prompts, and of BATCH answers together."""

    prefill: float
    decode: float


USUAL = {
    "amx-int8": Speeds(33_000, 9_000),
    "avx512-vnni": Speeds(26_000, 9_000),
    "avx-vnni": Speeds(18_000, 8_000),
    "avx2": Speeds(6_000, 3_000),
}
"""Of the embedded model in int8 on a core of an Intel Xeon that has AMX, with each of its sets of kernels, rounded."""

SLOWEST = 0.4
"""The share of these speeds, in time on a core, that older and slower processors with these instructions reach."""

USUAL_BYTES = 8e9
"""Bytes per second that one thread reads on a server or a laptop of the last ten years, at least."""


class _NotCompiled(Exception):
    pass


def self_test() -> Iterator[Finding]:
    """The kernels with the embedded model, and the memory; nothing is compiled for it."""
    yield _kernels()
    yield _bandwidth()


def _kernels() -> Finding:
    from cactus_actors.workers.engine_bench import run_bench
    from cactus_actors.workers.loading.compile_events import watch_compilation

    def refuse(_: int, function: str) -> None:
        if function in ("step_of_rank", "sample_rows"):
            raise _NotCompiled

    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        with watch_compilation(refuse):
            [record] = run_bench(
                model=DEFAULT_MODEL, batches=[BATCH], prompt_tokens=PROMPT_TOKENS, decode_tokens=DECODE_TOKENS
            )
    except _NotCompiled:
        return Finding(
            subject="speed",
            grade="note",
            text="the kernels are not compiled yet, so nothing was measured",
            advice="run cactus warm: else the first start takes up to a minute",
        )
    share = min(1.0, (time.thread_time() - cpu) / (time.perf_counter() - wall))
    return judged_speeds(
        record.kernels, Speeds(record.prefill_tokens_per_second, record.decode_tokens_per_second), share
    )


def judged_speeds(kernels: str, speeds: Speeds, share: float) -> Finding:
    """The speeds with a `share` of a core, beside the usual ones of these kernels if they are known."""
    usual = USUAL.get(kernels)
    beside = ("", "") if usual is None else (f" (usual: {usual.prefill:,})", f" (usual: {usual.decode:,})")
    slowest = 1.0 if usual is None else min(speeds.prefill / usual.prefill, speeds.decode / usual.decode) / share
    return Finding.judged(
        "speed",
        f"{DEFAULT_MODEL} on one thread reads {speeds.prefill:,.0f} tokens/s{beside[0]} and writes "
        f"{speeds.decode:,.0f}{beside[1]} in {BATCH} answers, with {share:.0%} of a core",
        (
            slowest < SLOWEST,
            "note",
            "the processor is slower than others with these instructions: look at its clock, at power saving, and at "
            "other virtual machines of the host",
        ),
        (share < CROWDED_SHARE, "note", "other programs use the cores: stop them, and measure again"),
        prefill_tokens_per_second=speeds.prefill,
        decode_tokens_per_second=speeds.decode,
        share_of_core=share,
    )


def _bandwidth() -> Finding:
    """The bytes per second that limit one answer of a large model: each token reads all weights."""
    import numpy as np

    size = min(LARGEST_ARRAY, free_memory() // 8)
    words = np.ones(size // 8, np.uint64)
    threads = len(os.sched_getaffinity(0))

    def bytes_per_second(num_threads: int) -> float:
        parts, durations = np.array_split(words, num_threads), []
        with ThreadPoolExecutor(num_threads) as pool:
            for _ in range(NUM_PASSES):
                started = time.perf_counter()
                list(pool.map(np.add.reduce, parts))
                durations.append(time.perf_counter() - started)
        return float(words.nbytes / min(durations))

    one, every = bytes_per_second(1), bytes_per_second(threads)
    return Finding.judged(
        "memory bandwidth",
        f"one thread reads {one / 1e9:.1f} GB/s, {threads} together {every / 1e9:.1f} (usual: {USUAL_BYTES / 1e9:.0f} "
        f"and more for one); a model of 1 GB writes at most {every / 1e9:.0f} tokens/s in one answer",
        (
            one < USUAL_BYTES,
            "note",
            "other programs use the memory, or the machine has few memory channels: int4 weights need half of it",
        ),
        one_thread_bytes_per_second=one,
        all_threads_bytes_per_second=every,
    )
