"""CPU time of the router per token, by the size of the fleet.

python -m benchmarks.router_loop --workers 64 --waiting 10000
python -m benchmarks.router_loop --workers 64 --waiting 10000 --json
python -m benchmarks.router_loop --workers 64 --sockets --json

Workers are fakes: 16 sequences each by default, one token per sequence and step, jobs of `--job-tokens` tokens
that end and are replaced. Without `--sockets` the core is measured alone, and costs are CPU time of
this process. With it the router actor runs with its edge process; workers and readers of every
stream are two more processes, over TCP: first at the highest rate that is possible, then at half of it, or
at `--rate` tokens per second. The CPU time of each process per token allows to estimate a machine with more
cores; here all processes share the same ones.
"""

from __future__ import annotations

import argparse
import json

import msgspec

from benchmarks.router_loop.core import Load, measure_core
from benchmarks.router_loop.sockets import measure_sockets

JOB_TOKENS, JOB_TOKENS_OVER_SOCKETS = 128, 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=16, help="sequences of each worker")
    parser.add_argument("--waiting", type=int, default=0, help="jobs in the queue")
    parser.add_argument("--job-tokens", type=int, help="tokens of each job; default: 128, with --sockets 512")
    parser.add_argument(
        "--tokens", type=int, default=200_000, help="approximate number of tokens to measure in the core"
    )
    parser.add_argument("--sockets", action="store_true", help="measure the router actor over real sockets")
    parser.add_argument(
        "--rate", type=float, help="tokens per second of the second measurement; default: half of the peak"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each measurement over sockets")
    parser.add_argument("--json", action="store_true", help="print one JSON object on one line")
    arguments = parser.parse_args()
    load = Load(
        workers=arguments.workers,
        sequences=arguments.sequences,
        waiting=arguments.waiting,
        job_tokens=arguments.job_tokens or (JOB_TOKENS_OVER_SOCKETS if arguments.sockets else JOB_TOKENS),
        tokens=arguments.tokens,
    )
    if arguments.sockets:
        measured = measure_sockets(load, arguments.rate, arguments.seconds)
        figures = {"mode": "sockets"} | msgspec.to_builtins(load) | msgspec.to_builtins(measured)
    else:
        figures = {"mode": "core"} | msgspec.to_builtins(load) | msgspec.to_builtins(measure_core(load))
    print(json.dumps(figures, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
