"""Adapters of an engine: held by sequences, dropped when the last one has ended, apart in the prefix cache."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.errors import ModelNotFound, ServerFailure
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, SequenceDelta
from cactus_actors.workers.engine.adapter_table import AdapterTable
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from tests.support.models.chain_models import BLOCK_SIZE, ChainModel
from tests.support.models.sampler_cases import NoBytes


class AdaptableChainModel(ChainModel):
    def __init__(self) -> None:
        super().__init__()
        self.removed: list[int] = []

    def remove_adapter(self, slot: int) -> None:
        self.removed.append(slot)


def make_engine(model: AdaptableChainModel) -> Engine:
    limits = EngineLimits(cache_blocks=20, block_size=BLOCK_SIZE, max_sequences=4)
    return Engine(model, TextOptions(NoBytes(), []), limits)


def dispatch(number: int, adapter: str, num_tokens: int = 2) -> Dispatch:
    prompt = [token % 4 for token in range(4 * BLOCK_SIZE - 1)]
    return Dispatch(number, f"{number:032x}", prompt, [], SamplingParams(max_tokens=num_tokens), adapter=adapter)


def run(engine: Engine) -> list[SequenceDelta]:
    deltas = []
    while engine.has_work:
        deltas += engine.step()
    return deltas


def test_a_slot_is_freed_when_its_last_sequence_releases_it() -> None:
    removed: list[int] = []
    table = AdapterTable(removed.append)
    table.add("a", 3)
    table.add("b", 5)
    table.hold("a")
    table.hold("a")
    table.drop("a")
    table.drop("b")
    table.drop("unknown")
    assert removed == [5]
    assert "a" not in table.keys
    assert table.slot_of("a") == 3, "for jobs that come back to this worker"
    table.release("a")
    assert removed == [5]
    table.release("a")
    assert removed == [5, 3]
    with pytest.raises(ModelNotFound, match="'a'"):
        table.slot_of("a")
    assert table.slot_of("") == -1


def test_failures_keep_nothing_of_the_sequences_that_ask() -> None:
    table = AdapterTable(lambda _: None)
    table.fail("a", "missing")
    errors = []
    for _ in range(3):
        with pytest.raises(ServerFailure) as caught:
            table.slot_of("a")
        errors.append(caught.value)
    assert len(set(map(id, errors))) == 3
    assert table.failures == {"a": "missing"}


def test_a_running_sequence_keeps_a_dropped_adapter() -> None:
    model = AdaptableChainModel()
    engine = make_engine(model)
    engine.adapters.add("a", 0)
    engine.add(dispatch(1, "a", num_tokens=6))
    engine.step()
    engine.adapters.drop("a")
    assert model.removed == []
    deltas = run(engine)
    assert deltas[-1].finish is not None
    assert deltas[-1].finish.reason == "length"
    assert model.removed == [0]


def test_aborted_sequences_release_their_adapter() -> None:
    model = AdaptableChainModel()
    engine = make_engine(model)
    engine.adapters.add("a", 0)
    engine.add(dispatch(1, "a"))
    engine.add(dispatch(2, "a"))
    engine.adapters.drop("a")
    engine.abort(1)
    assert model.removed == []
    engine.abort_all()
    assert model.removed == [0]


def test_a_sequence_of_a_missing_or_invalid_adapter_ends_with_the_reason() -> None:
    engine = make_engine(AdaptableChainModel())
    engine.adapters.fail("broken", "/secret/place: use_dora True is not supported")
    engine.add(dispatch(1, "unknown"))
    engine.add(dispatch(2, "broken"))
    messages = [delta.finish.error.message for delta in run(engine) if delta.finish and delta.finish.error]
    assert messages == [
        "this worker has no adapter 'unknown'",
        "a worker could not load the adapter; the service's log has the reason",
    ]


def test_adapters_do_not_share_cached_prefixes() -> None:
    engine = make_engine(AdaptableChainModel())
    engine.adapters.add("a", 0)
    engine.adapters.add("b", 1)
    cached = []
    for number, adapter in enumerate(["", "a", "b", "", "a", "b"]):
        engine.add(dispatch(number, adapter))
        cached.append(run(engine)[-1].cached_tokens)
    assert cached == [0, 0, 0, *[3 * BLOCK_SIZE] * 3]


def test_router_and_workers_hash_blocks_by_adapter_alike() -> None:
    ids = list(range(64))
    hashes = {block_hashes(ids, salt, (), adapter) for salt in ("", "mine") for adapter in ("", "a", "b")}
    assert len(hashes) == 6
    assert block_hashes(ids, "mine", (), "") == block_hashes(ids, "mine")
