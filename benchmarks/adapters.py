"""Sequences on as many adapters beside the model alone: `python -m benchmarks.adapters --help`.

Random weights of a given shape; decode steps of sequences at one context, in turns without adapters, with adapters
of the queries and values (the default of PEFT for Llama), and with adapters of every matrix of the layers.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.step_profile import BLOCK_SIZE, SHAPES, decode_batch
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import random_model
from cactus_actors.workers.loading.random_weights import random_adapter
from cactus_actors.workers.runtime.transformer import TransformerModel

QUERIES_AND_VALUES = ("q_proj", "v_proj")
ALL_OF_LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def measure(model: TransformerModel, batches: dict[str, Batch], num_rounds: int, num_steps: int) -> dict[str, float]:
    """Tokens a second of each batch: the median of rounds, in which every batch takes its turn."""
    seconds: dict[str, list[float]] = {name: [] for name in batches}
    caches = {name: model.new_cache(int(batch.block_tables.max()) + 1, BLOCK_SIZE) for name, batch in batches.items()}
    for number in range(num_rounds + 1):
        for name, batch in batches.items():
            started = time.perf_counter()
            for _ in range(num_steps):
                model.forward(batch, caches[name])
            if number:  # the first round warms up
                seconds[name].append((time.perf_counter() - started) / num_steps)
    return {name: len(batches[name].token_ids) / float(np.median(each)) for name, each in seconds.items()}


def main() -> None:
    """Print one table for each kind of adapter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", default="A", help="A, B, or a random spec (llama:hidden=...)")
    parser.add_argument("--weights", default="int8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--context", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=15)
    given = parser.parse_args()
    table = Table(title=f"{given.sequences} sequences, rank {given.rank}, tokens/s")
    for name in ("modules", "adapters", "model alone", "with adapters", "ratio"):
        table.add_column(name, justify="left" if name == "modules" else "right")
    for targets in (QUERIES_AND_VALUES, ALL_OF_LAYERS):
        for num_adapters in (1, given.sequences):
            model = random_model(SHAPES.get(given.shape, given.shape), weights=given.weights, threads=given.threads)
            assert isinstance(model, TransformerModel)
            adapters = [
                random_adapter(model.config, seed, rank=given.rank, targets=targets) for seed in range(num_adapters)
            ]
            slots = [model.add_adapter(adapter) for adapter in adapters]
            base = decode_batch(given.sequences, given.context)
            slot_of = np.array([slots[i % num_adapters] for i in range(given.sequences)], np.int32)
            batches = {"base": base, "adapted": replace(base, adapters=slot_of)}
            rates = measure(model, batches, given.rounds, given.steps)
            model.close()
            name = "queries, values" if targets is QUERIES_AND_VALUES else "all of the layers"
            ratio = rates["adapted"] / rates["base"]
            table.add_row(name, str(num_adapters), f"{rates['base']:.0f}", f"{rates['adapted']:.0f}", f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
