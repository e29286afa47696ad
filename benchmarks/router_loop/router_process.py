"""The process of the router actor: `python -m benchmarks.router_loop.router_process SETTINGS`, in JSON."""

from __future__ import annotations

import sys

import msgspec

from benchmarks.router_loop.fake_model import FakeModel
from cactus_actors.config import RouterSettings
from cactus_actors.router.actor import RouterActor


def main() -> None:
    router = RouterActor(msgspec.json.decode(sys.argv[1], type=RouterSettings), FakeModel())
    print(msgspec.json.encode(router.start()).decode(), flush=True)
    router.run()


if __name__ == "__main__":
    main()
