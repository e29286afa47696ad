"""Tokens per second of the whole service, and the share of time spent outside the kernels.

python -m benchmarks.end_to_end --workers 1 --threads 1 --weights int8

Starts the service (router, workers), then keeps 1, 4 and 16 streaming jobs in flight over ZeroMQ, and
runs the engine alone in this process for comparison. A worker's time outside the kernels is what its process
does between forward passes; the service's also holds the router, the client and waiting for messages.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from cactus_actors import Client
from cactus_actors.cli.bench_service import ServiceRecord, bench_service
from cactus_actors.config import ServeConfig
from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.protocol.messages import Status
from cactus_actors.service.service import Service
from cactus_actors.workers.engine_bench import BenchRecord, run_bench

CONCURRENCIES = (1, 4, 16)
REQUESTS_A_STREAM = 8
PROMPT_TOKENS = 128


def kernel_and_step_seconds(status: Status) -> tuple[float, float]:
    """Seconds that all local workers have spent in kernels, and in steps."""
    workers = [worker for worker in status.workers if worker.kind == "local"]
    return sum(worker.kernel_seconds for worker in workers), sum(worker.step_seconds for worker in workers)


def measure_service(config: ServeConfig, decode_tokens: int) -> dict[int, tuple[ServiceRecord, float, float]]:
    """Rates and latencies at the clients, and the shares outside kernels of step and wall time, per concurrency."""
    service = Service(config)
    service.start()
    measured = {}
    jobs, stream = service.endpoints.jobs, service.endpoints.stream
    try:
        with Client(jobs, stream) as client:
            for concurrency in CONCURRENCIES:
                ask = partial(
                    bench_service,
                    jobs,
                    stream,
                    concurrency=concurrency,
                    prompt_tokens=PROMPT_TOKENS,
                    max_tokens=decode_tokens,
                )
                asyncio.run(ask(requests=concurrency, seed=1))  # warms up
                before = kernel_and_step_seconds(client.status())
                record = asyncio.run(ask(requests=concurrency * REQUESTS_A_STREAM))
                after = kernel_and_step_seconds(client.status())
                kernel_s, step_s = after[0] - before[0], after[1] - before[1]
                wall_s = record.seconds * service.num_workers
                measured[concurrency] = (record, 1 - kernel_s / step_s, 1 - kernel_s / wall_s)
    finally:
        service.stop()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--weights", default="int8", choices=["float32", "int8"])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--decode-tokens", type=int, default=96)
    arguments = parser.parse_args()

    engine: dict[int, BenchRecord] = {
        record.batch: record
        for record in run_bench(
            model=arguments.model,
            weights=arguments.weights,
            threads=arguments.threads,
            batches=CONCURRENCIES,
            prompt_tokens=PROMPT_TOKENS,
            decode_tokens=arguments.decode_tokens,
        )
    }
    with tempfile.TemporaryDirectory() as state_dir:
        service = measure_service(
            ServeConfig(
                model=arguments.model,
                weights=arguments.weights,
                workers=arguments.workers,
                threads=arguments.threads,
                jobs_endpoint="tcp://127.0.0.1:*",
                stream_endpoint="tcp://127.0.0.1:*",
                state_dir=Path(state_dir),
                http="",
            ),
            arguments.decode_tokens,
        )

    table = Table(title=f"{arguments.model} {arguments.weights}, {arguments.workers} x {arguments.threads} threads")
    for column in ("jobs at once", "service tokens/s", "first token p50 ms", "between tokens p50 ms"):
        table.add_column(column, justify="right")
    for column in ("outside kernels: steps", "outside kernels: wall", "engine alone tokens/s"):
        table.add_column(column, justify="right")
    for concurrency, (record, of_steps, of_wall) in service.items():
        table.add_row(
            str(concurrency),
            f"{record.output_tokens_per_second:.0f}",
            f"{record.ttft_ms_p50:.1f}",
            f"{record.inter_token_ms_p50:.2f}",
            f"{of_steps:.0%}",
            f"{of_wall:.0%}",
            f"{engine[concurrency].decode_tokens_per_second:.0f}",
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
