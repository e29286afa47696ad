"""What a fleet that sizes itself costs, and what its clients feel, beside fixed sizes and an oracle.

python -m benchmarks.fleet.scaling
python -m benchmarks.fleet.scaling --trace AzureLLMInferenceTrace_conv.csv --workers 1:16

In virtual time, by the policy of `cactus serve --workers LEAST:MOST`. A worker has 16 slots, and a step takes as
long as with 135 million weights on two threads, and a worker starts within 5 s, in which it counts as well. Without
a trace (columns TIMESTAMP, ContextTokens, GeneratedTokens) the load is two synthetic days of 30 minutes each.
The oracle knows the trace: it is the cheapest of 16 plans whose clients feel nothing worse than with the policy.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec

from benchmarks.fleet.elastic_fleet import ElasticFleet, Outcome, fixed
from benchmarks.fleet.oracle import least_worker_seconds, oracle
from benchmarks.fleet.simulated_worker import Speed
from benchmarks.fleet.traces import recorded, synthetic
from cactus_actors.config_scaling import ScalingSettings, WorkerRange
from cactus_actors.router.scheduling.scaling_policy import ScalingPolicy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, help="CSV file of requests; by default a synthetic load")
    parser.add_argument("--workers", default="1:16", help="least and most workers of the policy")
    parser.add_argument("--down-after", type=float, default=ScalingSettings().down_after_s)
    parser.add_argument("--fixed", type=int, nargs="+", default=list(range(1, 9)), help="fixed sizes to compare with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object per fleet and line")
    arguments = parser.parse_args()
    if arguments.trace is not None:
        requests = recorded(arguments.trace)
    else:
        requests = synthetic(arguments.seed, seconds=3600.0, day_s=1800.0, peak_rate=8.0)
    low, high = (int(part) for part in arguments.workers.split(":"))

    def show(name: str, outcome: Outcome) -> None:
        figures = msgspec.to_builtins(outcome)
        if arguments.json:
            print(json.dumps({"fleet": name} | figures), flush=True)
        else:
            print(f"{name:>10}:", "  ".join(f"{field} {value}" for field, value in figures.items()), flush=True)

    for workers in arguments.fixed:
        show(f"fixed {workers}", ElasticFleet(requests, fixed(workers), initial=workers).run())
    settings = ScalingSettings(down_after_s=arguments.down_after)
    policy = ScalingPolicy(WorkerRange(low, high), settings, low, 0.0)
    outcome = ElasticFleet(requests, policy.update, initial=low).run()
    show("policy", outcome)
    planned = oracle(requests, outcome, low=low, high=high)
    if planned is not None:
        show("oracle", planned)
    least = least_worker_seconds(requests, Speed())
    print(json.dumps({"least": least}) if arguments.json else f"{len(requests)} requests take {least:.0f} s at least")


if __name__ == "__main__":
    main()
