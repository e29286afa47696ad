"""Time of a step by kind of operation: `python -m benchmarks.step_profile --help`.

Random weights of a given shape; decode steps at one context, and one prefill step. Waiting at barriers is
separate from work. Cycles are those of the time stamp counter, shown as microseconds per step. With one thread, the
time of a step is that of its processor, so that other programs change it little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import random_model
from cactus_actors.workers.runtime.transformer import TransformerModel

SHAPES = {
    "A": "llama:hidden=576,ffn=1536,layers=30,heads=9,kv_heads=3,head_dim=64,vocab=49152",
    "B": "llama:hidden=1024,ffn=3072,layers=28,heads=16,kv_heads=8,head_dim=128,vocab=151936",
}
BLOCK_SIZE = 16


def decode_batch(num_sequences: int, context: int, shared: int = 0) -> Batch:
    """One token of each sequence, at position `context`, with the first `shared` positions in common blocks."""
    num_blocks, num_shared = context // BLOCK_SIZE + 1, shared // BLOCK_SIZE
    sequences = np.arange(num_sequences, dtype=np.int32)
    blocks = np.arange(num_sequences * num_blocks, dtype=np.int32).reshape(num_sequences, -1)
    blocks[:, :num_shared] = blocks[0, :num_shared]
    return Batch(
        token_ids=(sequences * 37 + 11).astype(np.int32),
        positions=np.full(num_sequences, context, np.int32),
        sequence_of_token=sequences,
        block_tables=blocks,
        logit_rows=sequences,
    )


def prefill_batch(num_sequences: int, length: int) -> Batch:
    """The first `length` tokens of each sequence."""
    num_blocks = length // BLOCK_SIZE + 1
    num_tokens = num_sequences * length
    return Batch(
        token_ids=(np.arange(num_tokens) * 37 % 1000).astype(np.int32),
        positions=np.tile(np.arange(length, dtype=np.int32), num_sequences),
        sequence_of_token=np.repeat(np.arange(num_sequences, dtype=np.int32), length),
        block_tables=np.arange(num_sequences * num_blocks, dtype=np.int32).reshape(num_sequences, -1),
        logit_rows=np.arange(length - 1, num_tokens, length, dtype=np.int32),
    )


def measure(model: TransformerModel, batch: Batch, num_steps: int, clock: Callable[[], float]) -> Table:
    """Run `num_steps` equal steps and print their median time and the mean of each kind of operation."""
    cache = model.new_cache(int(batch.block_tables.max()) + 1, BLOCK_SIZE, len(batch.block_tables))
    for _ in range(3):
        model.forward(batch, cache)
    model.start_profile()
    model.forward(batch, cache)
    model.start_profile()
    seconds = []
    started = clock()
    for _ in range(num_steps):
        step_started = clock()
        model.forward(batch, cache)
        seconds.append(clock() - step_started)
    total_us = 1e6 * (clock() - started) / num_steps
    profile = model.profile()
    cycles = sum(int(work_and_wait[0].sum()) for work_and_wait in profile.values())
    step_us = 1e6 * float(np.median(seconds))
    table = Table(
        title=f"{len(batch.token_ids)} tokens, {len(batch.logit_rows)} logit rows: "
        f"{step_us / 1000:.2f} ms, {len(batch.token_ids) / step_us * 1e6:.0f} tokens/s"
    )
    for name in ("operation", "work of rank 0, us", "of all ranks", "waiting of rank 0", "of all ranks"):
        table.add_column(name, justify="left" if name == "operation" else "right")
    scale = total_us / max(cycles, 1)
    for name, work_and_wait in sorted(profile.items(), key=lambda item: -int(item[1].sum())):
        work, wait = work_and_wait[:, 0] * scale, work_and_wait[:, 1] * scale
        table.add_row(name, f"{work[0]:.0f}", f"{work.sum():.0f}", f"{wait[0]:.0f}", f"{wait.sum():.0f}")
    return table


def main() -> None:
    """Profile decode and prefill steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", default="A", help="A, B, or a random spec (llama:hidden=...)")
    parser.add_argument("--weights", default="int8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", default="1,4,16", help="sequences that decode together")
    parser.add_argument("--context", type=int, default=150)
    parser.add_argument("--shared", type=int, default=0, help="positions of the context that all sequences share")
    parser.add_argument("--prefill", type=int, default=2, help="prompts of 128 tokens in the prefill step")
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    spec = SHAPES.get(given.shape, given.shape)
    model = random_model(spec, weights=given.weights, threads=given.threads)
    assert isinstance(model, TransformerModel)
    console = Console()
    clock = time.thread_time if given.threads == 1 else time.perf_counter
    try:
        for size in (int(text) for text in given.batches.split(",")):
            console.print(measure(model, decode_batch(size, given.context, given.shared), given.steps, clock))
        console.print(measure(model, prefill_batch(given.prefill, 128), max(1, given.steps // 4), clock))
    finally:
        model.close()


if __name__ == "__main__":
    main()
