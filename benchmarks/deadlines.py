"""Requests with deadlines at several times the capacity of a service: goodput and refusals.

python -m benchmarks.deadlines --simulate
python -m benchmarks.deadlines --trace azure.csv --seconds 60

`--simulate` runs the router's decisions in virtual time; otherwise `cactus serve` is started with one worker
and asked over ZeroMQ. Requests are drawn from a CSV file with the columns ContextTokens and GeneratedTokens
(https://github.com/Azure/AzurePublicDataset), from distributions like its own, or have `--forced` lengths.
They come at random moments, `--loads` times as often as the service could answer them. Goodput is what ends
within the deadline, per second, and its ratio is to that at the first load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from pathlib import Path

from benchmarks.deadline_simulation import (
    NUM_SLOTS,
    Outcome,
    Request,
    forced_requests,
    requests_of,
    simulated,
    simulated_capacity,
)
from benchmarks.server_process import CactusService, cactus_serve, end_servers_on_signal
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError, Overloaded


async def asked(client: AsyncClient, request: Request, timeout_s: float, outcome: Outcome) -> None:
    """Send one request to a running service, and record the result in `outcome`."""
    outcome.num_sent += 1
    started = time.monotonic()
    try:
        await client.complete(
            "word " * min(request.prompt // 2, 400),
            max_tokens=request.generated,
            ignore_eos=True,
            timeout_ms=round(1000 * timeout_s),
            allow_cloud=False,
        )
        outcome.num_in_time += 1
    except Overloaded:
        outcome.refusal_s.append(time.monotonic() - started)
    except CactusError:
        outcome.num_too_late += 1


async def measured_capacity(target: CactusService, requests: list[Request], seconds: float) -> float:
    """Requests per second of a running service whose batch is always full."""
    outcome = Outcome(0, seconds)
    coming = iter(requests * 100)
    ends_at = time.monotonic() + seconds

    async def ask(client: AsyncClient) -> None:
        while time.monotonic() < ends_at:
            await asked(client, next(coming), 600.0, outcome)

    async with AsyncClient(target.jobs, target.stream, timeout=120.0) as client:
        await asyncio.gather(*(ask(client) for _ in range(2 * NUM_SLOTS)))
    return outcome.num_in_time / (seconds + 1.0)


async def measured(
    target: CactusService,
    requests: list[Request],
    load: float,
    capacity: float,
    seconds: float,
    timeout_s: float,
) -> Outcome:
    """Measure requests that are sent to a running service at `load` times its capacity."""
    chooser = random.Random(load)
    warming, outcome = Outcome(load, seconds), Outcome(load, seconds)
    tasks: list[asyncio.Task[None]] = []
    async with AsyncClient(target.jobs, target.stream, timeout=120.0) as client:
        started = at = time.monotonic()
        while at - started < 2 * seconds:
            at += chooser.expovariate(load * capacity)
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            into = outcome if at - started >= seconds else warming
            request = requests[len(tasks) % len(requests)]
            tasks.append(asyncio.create_task(asked(client, request, timeout_s, into)))
        await asyncio.gather(*tasks)
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--loads", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--timeout", type=float, default=30.0)
    parser.add_argument("--users", type=int, default=1, help="number of users (with --simulate)")
    parser.add_argument("--slots", type=int, default=NUM_SLOTS, help="slots of the worker (with --simulate)")
    parser.add_argument("--forced", type=int, nargs="+", help="answer lengths to draw from, sent as min_tokens")
    arguments = parser.parse_args()
    requests = requests_of(arguments.trace, 3000, seed=1)
    if arguments.forced:
        requests = forced_requests(arguments.forced, 500, seed=5)
    base: Outcome | None = None
    if arguments.simulate:
        capacity = simulated_capacity(requests, num_slots=arguments.slots)
        for load in arguments.loads:
            outcome = simulated(
                requests, load, capacity, arguments.seconds, arguments.timeout, arguments.users, arguments.slots
            )
            print(json.dumps(outcome.report(base)), flush=True)
            base = base or outcome
        return
    end_servers_on_signal()
    with cactus_serve(["--no-http"], Path(__file__).parents[1]) as target:
        capacity = asyncio.run(measured_capacity(target, requests, min(20.0, arguments.seconds)))
        print(json.dumps({"requests_per_second": round(capacity, 2)}), flush=True)
        for load in arguments.loads:
            outcome = asyncio.run(measured(target, requests, load, capacity, arguments.seconds, arguments.timeout))
            print(json.dumps(outcome.report(base)), flush=True)
            base = base or outcome


if __name__ == "__main__":
    main()
