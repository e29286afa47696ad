"""What a token costs the router, by the size of the fleet.

python -m benchmarks.router_loop --workers 64 --waiting 10000
python -m benchmarks.router_loop --workers 64 --waiting 10000 --json

Workers are played: 16 sequences each by default, one token a sequence and step, jobs of `--job-tokens` tokens
that end and are replaced while it runs. Costs are CPU time of this process.
"""

from __future__ import annotations

import argparse
import json

import msgspec

from benchmarks.router_loop.core import Load, measure_core


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=16, help="that each worker runs")
    parser.add_argument("--waiting", type=int, default=0, help="jobs behind those that run")
    parser.add_argument("--job-tokens", type=int, default=128, help="that each job has")
    parser.add_argument("--tokens", type=int, default=200_000, help="to measure, about")
    parser.add_argument("--json", action="store_true", help="one object on one line")
    arguments = parser.parse_args()
    load = Load(
        workers=arguments.workers,
        sequences=arguments.sequences,
        waiting=arguments.waiting,
        job_tokens=arguments.job_tokens,
        tokens=arguments.tokens,
    )
    figures = {"mode": "core"} | msgspec.to_builtins(load) | msgspec.to_builtins(measure_core(load))
    print(json.dumps(figures, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
