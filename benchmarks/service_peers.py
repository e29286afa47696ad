"""This service and the servers of llama.cpp and vLLM under the same load, in one run, in turns.

python -m benchmarks.service_peers --llama-server llama.cpp/build/bin/llama-server --json service.json

Requests of 128 random tokens, 64 tokens back, greedy, streamed, none ending early, 16 at a time, a new one
when one ends; then one client alone. With `--shared`, a beginning that all prompts have in common, such as a system
prompt, comes before these tokens. Ours is asked over ZeroMQ and over HTTP, the others over HTTP, and "in process" is
our engine under the same closed loop without a service around it, not measured with `--shared`. Client and server share
the same cores on all sides; servers stay up and idle while another one is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.http_load import bench_http
from benchmarks.peers import FOLDER, VLLM_ENVIRONMENT, WEIGHTS_OF_FORMAT, WIDTH
from benchmarks.quiet import Quiet
from benchmarks.random_gguf import FORMATS, SHAPES, random_gguf
from benchmarks.random_w8a8 import random_w8a8
from benchmarks.server_process import cactus_serve, end_servers_on_signal, llama_server, vllm_serve
from benchmarks.side import Side
from cactus_actors.cli.bench_service import FIRST_ORDINARY_ID, bench_service

SLOTS = 16
PROMPT_TOKENS, MAX_TOKENS = 128, 64
CONTEXT = 256
WARM_UP = 192
"""Requests before the first measurement: more tokens than our cache has, whose pages get memory when first written."""
LOADS = {"16 clients": (16, 64), "1 client": (1, 8)}  # at once, in all
COLUMNS = {
    "output_tokens_per_second": "tokens/s",
    "ttft_ms_p50": "first token p50 ms",
    "ttft_ms_p99": "p99 ms",
    "inter_token_ms_p50": "between tokens p50 ms",
    "inter_token_ms_p99": "p99 ms",
}

Ask = Callable[[int, int, int], dict[str, Any]]
"""(requests at once, requests in all, seed) -> a record with the keys of COLUMNS."""


class ServiceFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one side under one load, per round.

    `client_share` is the share of one core that the measuring client took, `others` the share of all cores that
    other processes took.
    """

    load: str
    side: str
    rounds: list[dict[str, Any]]
    client_share: list[float]
    others: list[float]

    def median(self, column: str) -> float:
        """The median over the rounds."""
        return statistics.median(float(record[column]) for record in self.rounds)


def measure(asks: dict[str, Ask], num_rounds: int, quiet: Quiet) -> list[ServiceFigure]:
    """Measure all sides in turn, round after round, after a warm-up."""
    seeds = count()  # never the same prompt twice: a cached prompt must not answer
    for ask in asks.values():
        ask(SLOTS, WARM_UP, next(seeds))
    figures = [
        ServiceFigure(load=load, side=side, rounds=[], client_share=[], others=[]) for load in LOADS for side in asks
    ]
    for _ in range(num_rounds):
        for figure in figures:
            at_once, in_all = LOADS[figure.load]
            ask = asks[figure.side]

            def timed(ask: Ask = ask, at_once: int = at_once, in_all: int = in_all) -> tuple[Any, float]:
                before, started = time.process_time(), time.perf_counter()
                record = ask(at_once, in_all, next(seeds))
                return record, (time.process_time() - before) / (time.perf_counter() - started)

            (record, client_share), others = quiet.measure(timed)
            figure.rounds.append(record)
            figure.client_share.append(client_share)
            figure.others.append(others)
    return figures


def ask_cactus(jobs: str, stream: str, prefix: Sequence[int] = ()) -> Ask:
    """Load on our service; all prompts begin with `prefix`."""

    def ask(at_once: int, in_all: int, seed: int) -> dict[str, Any]:
        measured = bench_service(
            jobs,
            stream,
            concurrency=at_once,
            requests=in_all,
            prompt_tokens=PROMPT_TOKENS,
            max_tokens=MAX_TOKENS,
            seed=seed,
            prefix=prefix,
        )
        record = asyncio.run(measured)
        assert record.failed == 0, f"{record.failed} requests failed"
        return msgspec.structs.asdict(record)

    return ask


def ask_http(root: str, vocab_size: int, prefix: Sequence[int] = ()) -> Ask:
    """Load on a server that speaks OpenAI's HTTP."""

    def ask(at_once: int, in_all: int, seed: int) -> dict[str, Any]:
        measured = bench_http(
            root,
            vocab_size=vocab_size,
            concurrency=at_once,
            requests=in_all,
            prompt_tokens=PROMPT_TOKENS,
            max_tokens=MAX_TOKENS,
            seed=seed,
            prefix=prefix,
        )
        return msgspec.structs.asdict(asyncio.run(measured))

    return ask


def ask_engine(side: Side) -> Ask:
    """The closed loop of callers, in the process of the engine."""

    def ask(at_once: int, in_all: int, seed: int) -> dict[str, Any]:
        return side.ask(
            "closed_loop",
            concurrency=at_once,
            requests=in_all,
            prompt_tokens=PROMPT_TOKENS,
            decode_tokens=MAX_TOKENS,
            seed=seed,
        )

    return ask


def table_of(figures: list[ServiceFigure], title: str) -> Table:
    """One line per side and load; the last figures are our tokens/s divided by those of the others."""
    table = Table(title=title)
    table.add_column("")
    table.add_column("")
    for name in (*COLUMNS.values(), "ours / it", "client's core", "others"):
        table.add_column(name, justify="right")
    ours = {figure.load: figure for figure in figures if figure.side == "cactus serve"}
    for figure in figures:
        speed = figure.median("output_tokens_per_second")
        table.add_row(
            figure.load,
            figure.side,
            *(f"{figure.median(column):,.1f}" for column in COLUMNS),
            f"{ours[figure.load].median('output_tokens_per_second') / speed:.2f}",
            f"{statistics.median(figure.client_share):.0%}",
            f"{max(figure.others):.0%}",
        )
    return table


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--format", choices=FORMATS, default="Q8_0")
    parser.add_argument("--weights", help="our weight format; default: int8 for Q8_0, int4 for Q4_0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shared", type=int, default=0, help="tokens that all prompts begin with")
    parser.add_argument("--patience", type=float, default=600, help="seconds to wait in total for an idle machine")
    parser.add_argument("--checkout", type=Path, default=FOLDER.parent, help="the checkout with our packages")
    parser.add_argument("--llama-server", type=Path, help="llama.cpp's server")
    parser.add_argument("--vllm-python", help="a Python with vllm, which has weights and activations of 8 bits")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    end_servers_on_signal()
    model = random_gguf(arguments.shape, arguments.format)
    weights = arguments.weights or WEIGHTS_OF_FORMAT[arguments.format]
    threads = str(arguments.threads)
    options = ["--model", str(model), "--weights", weights, "--workers", "1", "--threads", threads]
    options += ["--http", "127.0.0.1:0"]
    engine = [sys.executable, str(FOLDER / "cactus_side.py"), str(model), weights, threads]
    checkout = {"PYTHONPATH": str(arguments.checkout.resolve())}
    asks: dict[str, Ask] = {}
    with ExitStack() as stack:
        service = stack.enter_context(cactus_serve(options, arguments.checkout))
        vocab_size = SHAPES[arguments.shape].vocab
        prefix = random.Random(1).choices(range(FIRST_ORDINARY_ID, vocab_size), k=arguments.shared)
        context = len(prefix) + CONTEXT
        asks["cactus serve"] = ask_cactus(service.jobs, service.stream, prefix)
        asks["its HTTP"] = ask_http(service.http, vocab_size, prefix)
        if arguments.llama_server is not None:
            server = llama_server(
                arguments.llama_server, model, slots=SLOTS, context=context, threads=arguments.threads
            )
            asks["llama-server"] = ask_http(stack.enter_context(server), vocab_size, prefix)
        if arguments.vllm_python is not None:
            environment = VLLM_ENVIRONMENT | {"OMP_NUM_THREADS": threads}
            folder = random_w8a8(arguments.shape)
            vllm = vllm_serve(arguments.vllm_python, folder, slots=SLOTS, context=context, environment=environment)
            asks["vllm serve"] = ask_http(stack.enter_context(vllm), vocab_size, prefix)
        if not prefix:
            asks["in process"] = ask_engine(stack.enter_context(Side("cactus in process", engine, checkout)))
        figures = measure(asks, arguments.rounds, Quiet(arguments.patience))
    shared = f"{arguments.shared} + " if arguments.shared else ""
    title = f"{model.name}, {weights}, {threads} threads: {shared}{PROMPT_TOKENS} tokens in, {MAX_TOKENS} out"
    Console(width=WIDTH).print(table_of(figures, title))
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures)))


if __name__ == "__main__":
    main()
