"""Time to the first token after a start, and the memory of workers.

python -m benchmarks.startup --shape A --format Q8_0 --threads 2 --json startup.json

Start: a process that loads the model and answers a prompt of 128 tokens, first with empty caches of compiled
kernels and packed models, then with both filled; `cactus serve` until its ready line, likewise. Memory: of
workers after every block of their KV pools has been used.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.peers import FOLDER, WEIGHTS_OF_FORMAT, WIDTH
from benchmarks.process_tree import Memory, memory_of, processes_of_kind
from benchmarks.random_gguf import FORMATS, SHAPES, random_gguf
from benchmarks.server_process import cactus_serve, end_servers_on_signal
from benchmarks.side import Side
from cactus_actors.cli.bench_service import bench_service
from cactus_actors.config_models import WeightFormat
from cactus_actors.workers.loading.load_model import load_model, pack_model

CACHE_TOKENS = 8192
BLOCK_SIZE = 16
PROMPT_TOKENS, MAX_TOKENS = 128, 64
REQUESTS_A_WORKER = 2 * CACHE_TOKENS // (PROMPT_TOKENS + MAX_TOKENS)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run: seconds and bytes."""

    model: str
    weights: str
    threads: int
    first_token_s: list[float]  # empty caches, then full ones
    serve_ready_s: list[float]  # kernels of the service not compiled, then compiled
    packed_bytes: int
    pool_bytes: int  # KV cache of one worker
    one_worker: list[Memory]
    two_workers: list[Memory]


def first_token_s(model: Path, weights: WeightFormat, threads: int, caches: dict[str, str]) -> float:
    """Seconds from the start of a process to its first token."""
    command = [sys.executable, str(FOLDER / "cactus_side.py"), str(model), weights, str(threads)]
    started = time.perf_counter()
    with Side("cactus", command, {"PYTHONPATH": str(FOLDER.parent), **caches}) as side:
        side.ask("prefill", batch=1, prompt_tokens=PROMPT_TOKENS, seed=0)
        return time.perf_counter() - started


def serve_ready_s(options: list[str], caches: dict[str, str]) -> float:
    """Seconds from the start of `cactus serve` until it accepts requests."""
    with cactus_serve(options, FOLDER.parent, caches) as service:
        return service.ready_s


def memory_of_workers(num_workers: int, options: list[str], caches: dict[str, str]) -> list[Memory]:
    """The memory of each worker of a service that has worked."""
    with cactus_serve([*options, "--workers", str(num_workers)], FOLDER.parent, caches) as service:
        load = bench_service(
            service.jobs,
            service.stream,
            concurrency=16 * num_workers,
            requests=REQUESTS_A_WORKER * num_workers,
            prompt_tokens=PROMPT_TOKENS,
            max_tokens=MAX_TOKENS,
        )
        asyncio.run(load)
        workers = [memory_of(pid) for pid in processes_of_kind("WorkerActor", service.pid)]
    assert len(workers) == num_workers, f"{len(workers)} processes are workers"
    return workers


def print_record(record: Record) -> None:
    """Print the result as text."""
    mb = 1 << 20
    console = Console(width=WIDTH)
    console.print(f"{record.model}, {record.weights}, {record.threads} threads")
    empty, filled = record.first_token_s
    console.print(f"first token of a new process: {empty:.1f} s with empty caches, {filled:.1f} s with filled")
    empty, filled = record.serve_ready_s
    console.print(f"cactus serve ready after {empty:.1f} s, the second time {filled:.1f} s")
    [one], two = record.one_worker, record.two_workers
    known = record.packed_bytes + record.pool_bytes
    console.print(
        f"one worker: {one.resident / mb:.0f} MiB resident = {record.packed_bytes / mb:.0f} packed weights"
        f" + {record.pool_bytes / mb:.0f} KV pool + {(one.resident - known) / mb:.0f}"
    )
    total = sum(worker.proportional for worker in two)
    console.print(
        f"two workers: {total / mb:.0f} MiB together (PSS), the second brings"
        f" {(total - one.proportional) / mb:.0f} MiB, of which {record.pool_bytes / mb:.0f} KV pool"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--format", choices=FORMATS, default="Q8_0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    arguments = parser.parse_args()
    end_servers_on_signal()
    model = random_gguf(arguments.shape, arguments.format)
    weights: WeightFormat = "int8" if WEIGHTS_OF_FORMAT[arguments.format] == "int8" else "int4"

    with tempfile.TemporaryDirectory() as folder:
        caches = {"NUMBA_CACHE_DIR": f"{folder}/compiled", "CACTUS_CACHE_DIR": f"{folder}/packed"}
        config = Path(folder) / "serve.toml"
        config.write_text(f"cache_tokens = {CACHE_TOKENS}\n")
        options = ["--model", str(model), "--weights", weights, "--threads", str(arguments.threads)]
        options += ["--config", str(config)]
        serve_caches = {**caches, "NUMBA_CACHE_DIR": f"{folder}/compiled-by-serve"}
        loaded = load_model(model, weights=weights, threads=1)
        record = Record(
            model=model.name,
            weights=weights,
            threads=arguments.threads,
            first_token_s=[first_token_s(model, weights, arguments.threads, caches) for _ in range(2)],
            serve_ready_s=[serve_ready_s(options, serve_caches) for _ in range(2)],
            packed_bytes=pack_model(model, weights=weights).path.stat().st_size,
            pool_bytes=loaded.new_cache(CACHE_TOKENS // BLOCK_SIZE, BLOCK_SIZE).num_bytes,
            one_worker=memory_of_workers(1, options, serve_caches),
            two_workers=memory_of_workers(2, options, serve_caches),
        )
        loaded.close()
    print_record(record)
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(record)))


if __name__ == "__main__":
    main()
