"""A worker's session loads the adapters of the router's list, one a tick, and drops others."""

from __future__ import annotations

from typing import Any

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import AdapterFiles, Adapters, AdaptersLoaded, Dispatch, Hello, Welcome
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.session import WorkerSession
from tests.support.models.chain_models import BLOCK_SIZE, ChainModel
from tests.support.models.sampler_cases import NoBytes


class AdaptableModel(ChainModel):
    def __init__(self) -> None:
        super().__init__()
        self.slots: dict[int, str] = {}

    def load(self, path: str) -> int:
        if "broken" in path:
            raise ModelFileInvalid(f"{path}: no adapter")
        slot = len(self.slots)
        self.slots[slot] = path
        return slot

    def remove_adapter(self, slot: int) -> None:
        del self.slots[slot]


class Bench:
    def __init__(self, *, takes_adapters: bool = True) -> None:
        self.model = AdaptableModel()
        limits = EngineLimits(cache_blocks=20, block_size=BLOCK_SIZE, max_sequences=4)
        engine = Engine(self.model, TextOptions(NoBytes(), []), limits)
        loader = (self.model.load,) if takes_adapters else ()
        self.session = WorkerSession(engine, Hello("w", "local", "m", 4, 20, 4, 64, "n", 1), *loader)
        self.now = 1.0
        self.session.begin(self.now)
        self.session.on_command(Welcome(1), self.now)

    def list_adapters(self, **paths: str) -> None:
        files = [AdapterFiles(key, path) for key, path in paths.items()]
        assert self.session.on_command(Adapters(files), self.now) == []

    def tick(self) -> list[Any]:
        """The session's messages about adapters."""
        self.now += 0.01
        return [message for message in self.session.on_tick(self.now) if isinstance(message, AdaptersLoaded)]


def test_one_adapter_is_loaded_per_tick() -> None:
    bench = Bench()
    bench.list_adapters(a="/a", b="/broken", c="/c")
    assert bench.session.has_work
    assert [bench.tick(), bench.tick()] == [[], []]
    failures = {"b": "the adapter cannot be loaded: /broken: no adapter"}
    assert bench.tick() == [AdaptersLoaded(["a", "b", "c"], failures)]
    assert bench.model.slots == {0: "/a", 1: "/c"}
    assert not bench.session.has_work
    assert bench.tick() == []


def test_a_new_list_drops_missing_adapters_and_keeps_the_others() -> None:
    bench = Bench()
    bench.list_adapters(a="/a", b="/broken")
    bench.tick()
    bench.tick()
    bench.session.on_command(Welcome(2), bench.now + 100)
    bench.list_adapters(a="/a")
    assert bench.tick() == [AdaptersLoaded(["a"], {})]
    assert bench.model.slots == {0: "/a"}
    bench.list_adapters()
    assert bench.tick() == [AdaptersLoaded([], {})]
    assert bench.model.slots == {}


def test_a_job_s_adapter_is_loaded_before_the_job_runs() -> None:
    bench = Bench()
    bench.list_adapters(a="/a", b="/b", c="/c")
    params = SamplingParams(max_tokens=1)
    bench.session.on_command(Dispatch(1, "0" * 32, [1, 2], [], params, adapter="c"), bench.now)
    assert bench.model.slots == {0: "/c"}
    bench.tick()
    bench.tick()
    assert bench.model.slots == {0: "/c", 1: "/a", 2: "/b"}


def test_a_worker_whose_model_supports_no_adapters_reports_that() -> None:
    bench = Bench(takes_adapters=False)
    bench.list_adapters(a="/a")
    [loaded] = bench.tick()
    assert loaded.failures == {"a": "the adapter cannot be loaded: this worker loads no adapters: /a"}
