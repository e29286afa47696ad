"""A service under more load than its capacity: refusals, their cost, and the latency of other clients.

python -m benchmarks.overload --seconds 60

`cactus serve` is started with one worker; the clients run beside it on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from benchmarks.overload.cancellations import cancellations
from benchmarks.overload.first_tokens import prompt_file, two_users
from benchmarks.overload.frozen import frozen
from benchmarks.overload.refusals import overload
from benchmarks.overload.target import Target, newest_router
from benchmarks.server_process import cactus_serve, end_servers_on_signal


async def measure(target: Target, seconds: float) -> None:
    """Print every table."""
    for name, figures in (
        ("overload", overload(target, seconds)),
        ("two users", two_users(target, min(20.0, seconds))),
        ("prompt file", prompt_file(target, min(20.0, seconds))),
        ("frozen subscriber", frozen(target, min(40.0, seconds))),
        ("cancellations", cancellations(target, 10_000)),
    ):
        print(json.dumps({"what": name, **await figures}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--options", default="", help="options of cactus serve, separated by spaces")
    arguments = parser.parse_args()
    end_servers_on_signal()
    options = ["--no-http", *arguments.options.split()]
    with cactus_serve(options, Path(__file__).parents[2]) as service:
        target = Target(service.jobs, service.stream, newest_router())
        asyncio.run(measure(target, arguments.seconds))


if __name__ == "__main__":
    main()
