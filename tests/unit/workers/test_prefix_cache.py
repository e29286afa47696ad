"""Cached prefixes change no token with any size of the cache: every token here depends on all before it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from tests.support.models.chain_models import BLOCK_SIZE, ChainModel, RecurrentChainModel, completion
from tests.support.models.sampler_cases import NoBytes


class Bench:
    """An engine with few blocks, and the output of each dispatch."""

    def __init__(
        self,
        *,
        cache_blocks: int,
        token_budget: int = 64,
        max_drafts: int = 0,
        model: ChainModel | None = None,
        num_checkpoints: int = 4,
        checkpoint_tokens: int = 8,
    ) -> None:
        self.engine = Engine(
            model or ChainModel(),
            TextOptions(NoBytes(), []),
            EngineLimits(
                cache_blocks=cache_blocks,
                block_size=BLOCK_SIZE,
                max_sequences=6,
                token_budget=token_budget,
                max_drafts=max_drafts,
                num_checkpoints=num_checkpoints,
                checkpoint_tokens=checkpoint_tokens,
                max_step_s=math.inf,  # a busy machine does not change the schedule
            ),
        )
        self.dispatches: list[Dispatch] = []
        self.said: dict[int, list[int]] = {}
        self.cached: dict[int, int] = {}

    def add(self, prompt_ids: list[int], max_tokens: int, *, salt: str = "", cache_prompt: bool = True) -> int:
        number = len(self.dispatches)
        params = SamplingParams(max_tokens=max_tokens, cache_prompt=cache_prompt)
        self.dispatches.append(Dispatch(number, f"{number:032x}", prompt_ids, [], params, cache_salt=salt))
        self.engine.add(self.dispatches[-1])
        self.said[number] = []
        return number

    def step(self) -> None:
        for delta in self.engine.step():
            assert delta.finish is None or delta.finish.error is None
            self.said[delta.dispatch_id] += delta.token_ids
            self.cached[delta.dispatch_id] = delta.cached_tokens

    def finish(self) -> None:
        while self.engine.has_work:
            self.step()

    def check(self) -> None:
        """Check that every dispatch has the model's output, or a prefix of it if it was aborted."""
        for dispatch in self.dispatches:
            said = self.said[dispatch.dispatch_id]
            assert said == completion(dispatch.prompt_ids, dispatch.params.max_tokens)[: len(said)]


PREFIX = [1, 2, 3, 0, 2, 2, 1, 0, 3]


@pytest.mark.parametrize(("num_grown", "num_cached"), [(0, 8), (1, 4), (2, 0)])
def test_a_prefix_survives_in_the_last_twentieth_of_the_pool_until_its_blocks_are_needed(
    num_grown: int, num_cached: int
) -> None:
    bench = Bench(cache_blocks=40, token_budget=200)
    bench.add(PREFIX, 1)
    bench.finish()
    bench.add([1] * 37, 3, cache_prompt=False)
    for number in range(2):
        bench.add([2] * (56 if number < num_grown else 53), 4, cache_prompt=False)
    bench.step()
    assert bench.engine.free_blocks == 2, "38 of 40 blocks are held, the others hold the prefix"
    last = bench.add(PREFIX, 5)
    bench.finish()
    bench.check()
    assert bench.cached[last] == num_cached
    assert bench.engine.free_blocks == 40


def test_the_most_recently_used_prefix_is_evicted_last() -> None:
    bench = Bench(cache_blocks=8)
    prompts = [[number] * 9 for number in (0, 1, 2)]  # two full blocks each
    for number in (0, 1, 2, 0):
        bench.add(prompts[number], 1)
        bench.finish()
    bench.add([3, 1] * 6, 1, cache_prompt=False)  # takes the two blocks without content and one of prompt 1
    bench.finish()
    found = []
    for prompt in prompts:
        found.append(bench.add(prompt, 1))
        bench.finish()
    assert [bench.cached[number] for number in found] == [8, 4, 8]
    bench.check()


def test_salts_share_no_blocks() -> None:
    bench = Bench(cache_blocks=40)
    numbers = []
    for salt in ("", "a", "b", "a", ""):
        numbers.append(bench.add(PREFIX, 2, salt=salt))
        bench.finish()
    bench.check()
    assert [bench.cached[number] for number in numbers] == [0, 0, 0, 8, 8]


def test_the_hit_rate_counts_each_looked_up_prompt_once() -> None:
    bench = Bench(cache_blocks=12)
    for _ in range(3):
        bench.add(PREFIX, 1)
        bench.finish()
    bench.add(PREFIX, 1, cache_prompt=False)
    for number in range(3):
        bench.add([number] * 9, 20)
    bench.finish()
    bench.check()
    counters = bench.engine.counters
    assert counters.preemptions > 0
    assert (counters.cached_prompt_tokens, counters.queried_prompt_tokens) == (16, 6 * 9)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_tokens_do_not_depend_on_the_contents_of_the_cache(data: st.DataObject) -> None:
    """Dispatches with common prefixes come and go under any memory, budget, salt and speculation."""
    cache_blocks = data.draw(st.sampled_from([14, 20, 40]))
    bench = Bench(
        cache_blocks=cache_blocks,
        token_budget=data.draw(st.sampled_from([2, 7, 64])),
        max_drafts=data.draw(st.sampled_from([0, 3, 20])),
        model=data.draw(st.sampled_from([ChainModel, RecurrentChainModel]))(),
        num_checkpoints=data.draw(st.sampled_from([0, 1, 20])),
        checkpoint_tokens=data.draw(st.sampled_from([4, 8, 100])),
    )
    for _ in range(data.draw(st.integers(1, 40))):
        action = data.draw(st.sampled_from(["add", "add", "step", "step", "step", "abort"]))
        if action == "add":
            start = PREFIX * 3 if data.draw(st.booleans()) else [2] * 27
            bench.add(
                start[: data.draw(st.integers(1, 27))] + data.draw(st.lists(st.integers(0, 3), max_size=6)),
                data.draw(st.integers(1, 20)),
                salt=data.draw(st.sampled_from(["", "", "a"])),
                cache_prompt=data.draw(st.sampled_from([True, True, False])),
            )
        elif action == "abort" and bench.dispatches:
            bench.engine.abort(data.draw(st.integers(0, len(bench.dispatches) - 1)))
        else:
            bench.step()
    bench.finish()
    bench.check()
    assert bench.engine.free_blocks == cache_blocks
