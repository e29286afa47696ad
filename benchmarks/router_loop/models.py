"""Costs of a router by the number of its models: a tick, and a token, of which all are for one model.

python -m benchmarks.router_loop.models

Each model has a worker, those of all but the first at rest. The sizes take turns; the least time of all rounds counts.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence

import msgspec

from benchmarks.router_loop.fake_worker import BLOCK_SIZE, MAX_CONTEXT, MODEL, FakeWorker
from cactus_actors.api.params import resolve_options
from cactus_actors.config import RouterSettings
from cactus_actors.config_models import ModelMemory
from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import CloudRequest
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, SendWorker
from cactus_actors.router.router_state import RouterOptions
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.router.state.service_facts import ServiceFacts

SEQUENCES = 16
PROMPT = [1000] * (4 * BLOCK_SIZE)
MANY_TOKENS = 1 << 20
MEMORY = ModelMemory(weight_bytes=1 << 20, cache_bytes=1 << 20)


class ModelsBench:
    """A core with that many models, at rest and then with a full worker of the first one."""

    def __init__(self, num_models: int, *, on_demand: bool) -> None:
        names = [f"model-{number}" for number in range(num_models)] if num_models > 1 else [""]
        served = (
            ServedModel(name=name, unload_after_s=1e9, memory=MEMORY) if on_demand else ServedModel(name=name)
            for name in names
        )
        self._core = RouterCore(
            RouterSettings(worker_timeout_s=float("inf"), max_model_bytes=1 << 40 if on_demand else None),
            ServiceFacts(epoch=1, started_at=0.0),
            RouterOptions(models=tuple(served)),
        )
        self._workers = {name.encode() or b"only": FakeWorker(f"{name}-1", SEQUENCES) for name in names}
        for name, (identity, worker) in zip(names, self._workers.items(), strict=True):
            hello = msgspec.structs.replace(worker.hello, served_as=name)
            self._perform(self._core.on_worker(identity, hello, 0.0))
        self._first = names[0]

    def tick(self, count: int) -> float:
        """Seconds of a tick."""
        began = time.process_time()
        for _ in range(count):
            self._perform(self._core.on_tick(1.0))
        return (time.process_time() - began) / count

    def submit(self) -> None:
        """Fill the worker of the first model."""
        for number in range(SEQUENCES):
            options = Options(max_tokens=MANY_TOKENS, seed=number)
            submit = Submit(job_id=f"{number:032x}", prompt=[*PROMPT], model=self._first or None, options=options)
            for effect in self._core.on_client(b"client", submit, "m", 1.0):
                if isinstance(effect, PrepareRequest):
                    params, policy = resolve_options(options, context_left=MAX_CONTEXT + MANY_TOKENS)
                    prepared = PreparedRequest(
                        PROMPT, params, policy, CloudRequest(prompt=""), MODEL, block_hashes(PROMPT)
                    )
                    self._perform(self._core.on_prepared(effect.job_id, prepared, 1.0))

    def token(self, count: int) -> float:
        """Seconds of a token, in reports of one for each sequence."""
        identity, worker = next(iter(self._workers.items()))
        assert worker.num_running == SEQUENCES
        reports = [worker.report(worker.step()) for _ in range(count)]
        began = time.process_time()
        for report in reports:
            self._perform(self._core.on_worker(identity, report, 1.0))
        return (time.process_time() - began) / count / SEQUENCES

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendWorker):
                self._workers[effect.identity].take(effect.message)


def least(measurements: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The least of each measurement, in turns; in microseconds."""
    results = [[measure() for measure in measurements] for _ in range(rounds)]
    return [1e6 * min(of_one) for of_one in zip(*results, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, nargs="+", default=[1, 2, 8, 32])
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    gc.disable()
    for on_demand in (False, True):
        benches = [ModelsBench(count, on_demand=on_demand) for count in arguments.models]
        ticks = least([lambda it=it: it.tick(20) for it in benches], arguments.rounds)  # type: ignore[misc]
        for bench in benches:
            bench.submit()
        busy = least([lambda it=it: it.tick(20) for it in benches], arguments.rounds)  # type: ignore[misc]
        tokens = least([lambda it=it: it.token(20) for it in benches], arguments.rounds)  # type: ignore[misc]
        print("models on demand, with a memory budget" if on_demand else "models with workers", "(us)")
        print("models  tick at rest  tick with 16 jobs  token of 16")
        for count, *figures in zip(arguments.models, ticks, busy, tokens, strict=True):
            print(f"{count:6}", *(f"{figure:13.2f}" for figure in figures))


if __name__ == "__main__":
    main()
