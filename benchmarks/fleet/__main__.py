"""Chats of several turns on fleets: the share of turns that reach their cached prefix, and times to first token.

python -m benchmarks.fleet --workers 2 4 8 16 --chats-per-slot 2 3.5 5
python -m benchmarks.fleet --workers 16 --chats-per-slot 3.5 --json

In virtual time: the router's core, the schedulers and the prefix caches are real, a step takes as long as
with 135 million weights on two threads. A chat has 6 turns on average, behind one of 4 system prompts of 128
tokens; each turn adds 60 tokens and an answer of 120, after a pause of 10 s. With 5 chats per slot, all
slots are taken all the time.
"""

from __future__ import annotations

import argparse
import json

import msgspec

from benchmarks.fleet.chats import Habits
from benchmarks.fleet.simulated_worker import Speed
from benchmarks.fleet.simulation import Fleet, Simulation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--chats-per-slot", type=float, nargs="+", default=[2.0, 3.5, 5.0])
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of virtual time to measure")
    parser.add_argument("--warm-up", type=float, default=30.0, help="seconds of virtual time before the measurement")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object per fleet and line")
    arguments = parser.parse_args()
    for num_workers in arguments.workers:
        for per_slot in arguments.chats_per_slot:
            fleet = Fleet(
                workers=num_workers,
                chats_per_slot=per_slot,
                seconds=arguments.warm_up + arguments.seconds,
                warm_up_s=arguments.warm_up,
                seed=arguments.seed,
            )
            outcome = Simulation(fleet, Habits(), Speed()).run()
            if arguments.json:
                print(json.dumps(msgspec.to_builtins(fleet) | msgspec.to_builtins(outcome)), flush=True)
            else:
                print(_line(fleet, msgspec.to_builtins(outcome)), flush=True)


def _line(fleet: Fleet, outcome: dict[str, float]) -> str:
    figures = "  ".join(f"{name} {value}" for name, value in outcome.items())
    return f"{fleet.workers:3} workers, {fleet.chats_per_slot} chats a slot:  {figures}"


if __name__ == "__main__":
    main()
