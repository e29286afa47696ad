"""A model whose state advances with every step: the tokens that are recomputed, and those that must not be."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from tests.support.models.chain_models import VOCAB, RecurrentChainModel, completion
from tests.support.models.sampler_cases import NoBytes


class BreaksAt:
    """Allows any token, until there is this number of tokens."""

    is_finished = False

    def __init__(self, number: str) -> None:
        self._num_left = int(number)

    def accept(self, token_id: int) -> None:
        self._num_left -= 1

    def bitmask(self) -> NDArray[np.int32]:
        if not self._num_left:
            raise RuntimeError("broken")
        return np.array([2**VOCAB - 1], np.int32)


class CountingChainModel(RecurrentChainModel):
    """Counts its forward passes."""

    num_passes = 0

    def forward(self, batch, cache):
        self.num_passes += 1
        return super().forward(batch, cache)


def make_engine(model: RecurrentChainModel, *, max_drafts: int = 0) -> Engine:
    return Engine(
        model,
        TextOptions(NoBytes(), [], new_constraint=BreaksAt),
        EngineLimits(cache_blocks=40, block_size=4, max_drafts=max_drafts, checkpoint_tokens=8, max_step_s=math.inf),
    )


def dispatch(number: int, prompt_ids: list[int], *, grammar: str = "", max_tokens: int = 9) -> Dispatch:
    plain = Dispatch(number, f"{number:032x}", prompt_ids, [], SamplingParams(max_tokens=max_tokens))
    return replace(plain, grammar=grammar)


def test_a_failing_constraint_does_not_advance_other_states_twice() -> None:
    model = CountingChainModel()
    engine = make_engine(model)
    engine.add(dispatch(1, [1, 2, 3]))
    engine.add(dispatch(2, [3, 1], grammar="2"))
    engine.add(dispatch(3, [2] * 11))
    said: dict[int, list[int]] = {1: [], 2: [], 3: []}
    errors = []
    while engine.has_work:
        for delta in engine.step():
            said[delta.dispatch_id] += delta.token_ids
            if delta.finish is not None and delta.finish.error is not None:
                errors.append(delta.dispatch_id)
    assert errors == [2]
    assert said[1] == completion([1, 2, 3], 9)
    assert said[3] == completion([2] * 11, 9)
    assert model.num_passes == 9


def test_accepted_drafts_are_recomputed_to_the_same_tokens() -> None:
    engine = make_engine(RecurrentChainModel(), max_drafts=6)
    prompt = [1, 2, 0, 3] * 3
    for _ in range(12):  # one of the continuations repeats something
        engine.add(dispatch(1, prompt, max_tokens=60))
        tokens = []
        while engine.has_work:
            tokens += [token for delta in engine.step() for token in delta.token_ids]
        assert tokens == completion(prompt, 60)
        prompt = [*prompt, *tokens[:2]]
    assert engine.counters.accepted_draft_tokens > 0
    assert engine.counters.cached_prompt_tokens > 0
