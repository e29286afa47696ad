"""What a token costs the router, by the size of the fleet.

python -m benchmarks.router_loop --workers 64 --waiting 10000
python -m benchmarks.router_loop --workers 64 --waiting 10000 --json
python -m benchmarks.router_loop --workers 64 --sockets --json

Workers are played: 16 sequences each by default, one token a sequence and step, jobs of `--job-tokens` tokens
that end and are replaced while it runs. Without `--sockets` it is the core alone, and costs are CPU time of
this process. With it the router actor runs as it is, with its edge process; workers and readers of every
stream are two more processes, over TCP: first with as many tokens as go through, then with half of them, or
with `--rate` tokens a second. The CPU time of each process for a token says what a machine with more cores
would do; here all of them share what there is.
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
    parser.add_argument("--sequences", type=int, default=16, help="that each worker runs")
    parser.add_argument("--waiting", type=int, default=0, help="jobs behind those that run")
    parser.add_argument("--job-tokens", type=int, help="that each job has: 128, and 512 over sockets")
    parser.add_argument("--tokens", type=int, default=200_000, help="to measure in the core, about")
    parser.add_argument("--sockets", action="store_true", help="the router actor, over real sockets")
    parser.add_argument("--rate", type=float, help="tokens a second, in place of half of the peak")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement over sockets")
    parser.add_argument("--json", action="store_true", help="one object on one line")
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
