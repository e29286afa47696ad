"""Decode steps with keys and values in several formats, in turns, and what they read per second.

python -m benchmarks.cache_formats --formats float16,int8 --cases 16x150,16x1024,16x4096,16x2176/2048

A case is SEQUENCESxCONTEXT, with /SHARED of the context in common blocks. Times are the medians of the rounds: that of
a step, and the processor time of its threads. The bandwidth of reading memory is measured after the rounds of a case.
"""

from __future__ import annotations

import argparse
import re
import resource
import time
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.memory_bandwidth import read_bandwidth
from benchmarks.step_profile import BLOCK_SIZE, SHAPES, decode_batch
from cactus_actors.config_models import WeightFormat
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_named
from cactus_actors.workers.loading.load_model import random_model
from cactus_actors.workers.loading.random_weights import parse_random_spec
from cactus_actors.workers.runtime.layout import WeightLayout

Case = tuple[int, int, int]
"""Sequences, their context, and how much of it they share."""

STEPS = 3
"""Steps of one format in a row; the first of them, with the caches of the processor filled by another, is not timed."""


def measure(model: Model, batch: Batch, cache: KVCache) -> tuple[float, float]:
    """Seconds of a step, and seconds of processor time."""
    model.forward(batch, cache)
    cpu, started = _processor_time(), time.perf_counter()
    for _ in range(STEPS):
        model.forward(batch, cache)
    return (time.perf_counter() - started) / STEPS, (_processor_time() - cpu) / STEPS


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def bytes_read(model: Model, weight_bytes: int, case: Case) -> int:
    """Bytes of weights, keys and values that a step reads at least."""
    sequences, context, shared = case
    positions = sequences * (context - shared) + shared
    return weight_bytes + model.cache_cost(BLOCK_SIZE).block_bytes * positions // BLOCK_SIZE


def bytes_of_weights(spec: str, weights: WeightFormat) -> int:
    """Bytes of the packed weights of a random model."""
    config = parse_random_spec(spec)
    return WeightLayout.for_weights(build_graph(family_named(config.family), config), weights).num_arena_bytes


def parse_case(text: str) -> Case:
    """Parse `16x2176/2048`."""
    match = re.fullmatch(r"(\d+)x(\d+)(?:/(\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not like 16x150 or 16x2176/2048")
    sequences, context, shared = match.groups(default="0")
    return int(sequences), int(context), int(shared)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="A", help="A, B, or a random spec (llama:hidden=...)")
    parser.add_argument("--weights", default="int8")
    parser.add_argument("--formats", default="float16,int8")
    parser.add_argument("--cases", default="16x150,16x1024,16x4096,16x128,16x2176/2048")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    spec = SHAPES.get(given.shape, given.shape)
    weight_bytes = bytes_of_weights(spec, given.weights)
    models = {
        name: random_model(spec, weights=given.weights, threads=given.threads, kv_cache=name)
        for name in given.formats.split(",")
    }
    console = Console()
    table = Table("case", "cache", "step, ms", "processor time, ms", "read, MB", "GB/s", "of the bandwidth")
    for case in map(parse_case, given.cases.split(",")):
        batch = decode_batch(*case)
        num_blocks = int(batch.block_tables.max()) + 1
        caches = {name: model.new_cache(num_blocks, BLOCK_SIZE, case[0]) for name, model in models.items()}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
        for _ in range(given.rounds):
            for name, model in models.items():
                times[name].append(measure(model, batch, caches[name]))
        bandwidth = read_bandwidth(given.threads)
        for name, model in models.items():
            seconds, cpu = (median(column) for column in zip(*times[name], strict=True))
            read = bytes_read(model, weight_bytes, case)
            shown = f"{case[0]}x{case[1]}" + f"/{case[2]}" * (case[2] > 0)
            speed = read / seconds
            cells = (f"{1e3 * seconds:.2f}", f"{1e3 * cpu:.2f}", f"{read / 1e6:.0f}", f"{speed / 1e9:.1f}")
            table.add_row(shown, name, *cells, f"{speed / bandwidth:.2f}")
    for model in models.values():
        model.close()
    console.print(table)


if __name__ == "__main__":
    main()
