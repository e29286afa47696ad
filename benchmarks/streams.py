"""The engine under a closed loop of streams: its rate, the time to first tokens, and that between tokens.

python -m benchmarks.streams --streams 16 64

As many callers as streams send a request each as soon as they have the answer to the one before. Random weights, other
prompts in each request, and none ends early. With one thread, times are those of its processor, so that other programs
change them little.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import get_args

from rich.console import Console
from rich.table import Table

from benchmarks.cactus_side import CactusSide
from benchmarks.random_gguf import SHAPES, random_gguf
from cactus_actors.config_models import WeightFormat

COLUMNS = {
    "output_tokens_per_second": ("tokens/s", "{:,.0f}"),
    "kernel_share": ("in kernels", "{:.1%}"),
    "ttft_ms_p50": ("first token p50 ms", "{:,.0f}"),
    "ttft_ms_p99": ("p99 ms", "{:,.0f}"),
    "inter_token_ms_p50": ("between tokens p50 ms", "{:.1f}"),
    "inter_token_ms_p99": ("p99 ms", "{:.1f}"),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--weights", choices=get_args(WeightFormat), default="int8")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--streams", type=int, nargs="+", default=[16])
    parser.add_argument("--requests", type=int, default=4, help="of each stream")
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--decode-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    side = CactusSide(random_gguf(arguments.shape, "Q8_0"), arguments.weights, arguments.threads, clock)
    table = Table(title=f"{arguments.prompt_tokens} tokens in, {arguments.decode_tokens} out, median of the rounds")
    for title in ("streams", *(title for title, _ in COLUMNS.values())):
        table.add_column(title, justify="right")
    for num_streams in arguments.streams:
        records = [
            side.closed_loop(
                num_streams,
                arguments.requests * num_streams,
                arguments.prompt_tokens,
                arguments.decode_tokens,
                seed,
            )
            for seed in range(arguments.rounds)
        ]
        cells = (form.format(median(record[name] for record in records)) for name, (_, form) in COLUMNS.items())
        table.add_row(str(num_streams), *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
