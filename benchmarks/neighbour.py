"""The engine beside another program that takes a part of one core.

python -m benchmarks.neighbour --shape A

Prefill and decode without a neighbour, and beside one that is busy for some milliseconds of each period, in turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median
from typing import get_args

from rich.console import Console
from rich.table import Table

from benchmarks.cactus_side import CactusSide
from benchmarks.random_gguf import SHAPES, random_gguf
from cactus_actors.config_models import WeightFormat

PROMPT_TOKENS, DECODE_TOKENS = 128, 48
NEIGHBOURS = {"alone": (0.0, 0.0), "3 of 10 ms taken": (0.003, 0.01), "a core taken": (1.0, 1.0)}
"""Seconds for which a neighbour is busy, and its period."""
BUSY = """
import sys, time
busy_s, period_s = map(float, sys.argv[1:])
while True:
    until = time.perf_counter() + busy_s
    while time.perf_counter() < until:
        pass
    time.sleep(period_s - busy_s)
"""


@contextmanager
def neighbour(busy_s: float, period_s: float) -> Iterator[None]:
    """Run another process that is busy for a part of each period."""
    if not busy_s:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", BUSY, str(busy_s), str(period_s)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--weights", choices=get_args(WeightFormat), default="int8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    side = CactusSide(random_gguf(arguments.shape, "Q8_0"), arguments.weights, arguments.threads)
    seeds = count()
    rates: dict[tuple[str, int], list[float]] = {}  # by neighbour and batch; 0 is prefill
    for _ in range(arguments.rounds):
        for name, (busy_s, period_s) in NEIGHBOURS.items():
            with neighbour(busy_s, period_s):
                for batch in (0, *arguments.batches):
                    if batch:
                        result = side.decode(batch, PROMPT_TOKENS, DECODE_TOKENS, next(seeds), repeated=False)
                    else:
                        result = side.prefill(16, PROMPT_TOKENS, next(seeds))
                    rates.setdefault((name, batch), []).append(result["tokens"] / result["seconds"])
    table = Table(title=f"tokens/s, {arguments.threads} threads, median of {arguments.rounds} rounds")
    for title in ("", "prefill 16", *(f"decode {batch}" for batch in arguments.batches)):
        table.add_column(title, justify="right")
    for name in NEIGHBOURS:
        table.add_row(name, *(f"{median(rates[name, batch]):,.0f}" for batch in (0, *arguments.batches)))
    Console().print(table)


if __name__ == "__main__":
    main()
