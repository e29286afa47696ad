"""Drafts of a head on or off, alone or in company: the same tokens, by ==, and fewer steps if the head agrees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import DraftRows, Guesses, Model, TokenGuesser
from cactus_actors.workers.loading.random_weights import random_adapter
from cactus_actors.workers.runtime.transformer import TransformerModel
from tests.support.models.draft_heads import guessed
from tests.support.models.drafting_models import drafting_config, drafting_model
from tests.support.models.golden_runs import BLOCK_SIZE
from tests.support.models.speculative_runs import dispatches, make_engine, run


@pytest.fixture(scope="module", params=["random", "agreeing", "int8", "experts"])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    kind = request.param
    model = drafting_model(
        drafting_config("qwen35moe" if kind == "experts" else "qwen35"),
        weights="int8" if kind == "int8" else "float32",
        influence=0.05 if kind == "agreeing" else 1.0,
    )
    yield model
    model.close()


def never() -> float:
    """A clock by which nothing takes time, so that all drafts that fit are worthwhile."""
    return 0.0


@given(
    jobs=dispatches(),
    max_drafts=st.sampled_from([1, 2, 7]),
    cache_blocks=st.sampled_from([12, 16, 64]),
    token_budget=st.sampled_from([3, 9, 64]),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_drafts_of_a_head_change_no_token(
    model: Model, jobs: list[Dispatch], max_drafts: int, cache_blocks: int, token_budget: int
) -> None:
    expected = [run(make_engine(model, max_drafts=0), [job])[0] for job in jobs]
    engine = make_engine(
        model, max_drafts=max_drafts, cache_blocks=cache_blocks, token_budget=token_budget, clock=never
    )
    assert run(engine, jobs) == expected
    assert run(engine, jobs[:1]) == expected[:1], "on the prefixes that all of them left"
    assert engine.free_blocks == cache_blocks


def test_drafts_are_accepted_and_rejected(model: Model) -> None:
    params = [
        SamplingParams(max_tokens=60, temperature=temperature, seed=5, ignore_eos=True) for temperature in (0.0, 0.7)
    ]
    jobs = [Dispatch(i, f"{i:032x}", [1, 2, 4, 5], [], each) for i, each in enumerate(params)]
    expected = [run(make_engine(model, max_drafts=0), [job])[0] for job in jobs]
    engine = make_engine(model, max_drafts=4, clock=never)
    assert run(engine, jobs) == expected
    counters = engine.counters
    assert 5 < counters.accepted_draft_tokens < counters.draft_tokens
    assert counters.tokens_generated == 120


def test_a_continued_stream_has_the_same_tokens(model: Model) -> None:
    """A dispatch that continues after any token, as after the end of a worker."""
    job = Dispatch(1, "0" * 32, [1, 2, 4, 5, 1], [], SamplingParams(max_tokens=40, temperature=0.7, seed=3))
    ((token_ids, *_),) = run(make_engine(model, max_drafts=0), [job])
    for num_emitted in range(1, len(token_ids), 5):
        engine = make_engine(model, max_drafts=3, clock=never)
        engine.add(replace(job, emitted_ids=token_ids[:num_emitted]))
        said = list(token_ids[:num_emitted])
        while engine.has_work:
            said += [token for delta in engine.step() for token in delta.token_ids]
        assert said == token_ids


def test_sequences_with_adapters_have_the_same_tokens() -> None:
    config = drafting_config()
    model = drafting_model(config)
    assert isinstance(model, TransformerModel)
    slot = model.add_adapter(random_adapter(config, 1, rank=5, targets=["q_proj", "up_proj", "in_proj_qkv"]))
    params = SamplingParams(max_tokens=40, temperature=0.0, ignore_eos=True)
    jobs = [Dispatch(i, f"{i:032x}", [1, 2, 4, 5], [], params, adapter=key) for i, key in enumerate(("", "one"))]
    said = []
    for max_drafts in (0, 3):
        engine = make_engine(model, max_drafts=max_drafts, clock=never)
        engine.adapters.add("one", slot)
        said.append(run(engine, jobs))
    model.close()
    assert said[0] == said[1]
    assert said[0][0] != said[0][1]
    assert engine.counters.accepted_draft_tokens > 5


class RecordingHead:
    """The head of a model, which keeps the position, the token and the logits of each of its rows."""

    def __init__(self, head: TokenGuesser) -> None:
        self._head = head
        self.num_common = head.num_common
        self.rows: list[tuple[int, int, NDArray[np.float32]]] = []

    def guess(self, rows: DraftRows, cache: KVCache, *, is_common: bool) -> Guesses:
        guesses = self._head.guess(rows, cache, is_common=is_common)
        logits = guesses.logits.copy()
        self.rows += zip(rows.positions.tolist(), rows.token_ids.tolist(), logits, strict=True)
        return guesses


def test_drafts_depend_on_the_tokens_of_their_sequence_alone(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """After chunks, preemption, cached prefixes and drafts of all kinds, by the logits of the head alone."""
    assert model.draft_head is not None
    head = RecordingHead(model.draft_head)
    prefix = [1, 2, 4, 5, 1, 0, 6, 2, 2] * 3
    params = [SamplingParams(max_tokens=40, seed=i, temperature=1.0, ignore_eos=True) for i in range(4)]
    prompts = [prefix[: 27 - 5 * i] + [i] * i for i in range(4)]
    jobs = [Dispatch(i, f"{i:032x}", prompts[i], [], params[i]) for i in range(4)]
    said = [run(make_engine(model, max_drafts=0), [job])[0][0] for job in jobs]
    with monkeypatch.context() as patch:
        patch.setattr(model, "draft_head", head)
        engine = make_engine(model, max_drafts=1, cache_blocks=7, block_size=BLOCK_SIZE, token_budget=9, clock=never)
        assert [token_ids for token_ids, *_ in run(engine, jobs)] == said
        assert [token_ids for token_ids, *_ in run(engine, jobs[::-1])] == said[::-1]
    assert engine.counters.preemptions > 0
    assert engine.counters.cached_prompt_tokens > 0
    assert engine.counters.accepted_draft_tokens > 5
    assert len(head.rows) > 100
    alone: dict[tuple[int, int], NDArray[np.float32]] = {}
    for position, token_id, logits in head.rows:
        found = False
        for number, (job, token_ids) in enumerate(zip(jobs, said, strict=True)):
            known = (job.prompt_ids + token_ids)[: position + 1]
            if len(known) == position + 1 and known[-1] == token_id and position >= len(job.prompt_ids):
                if (number, position) not in alone:
                    (alone[number, position],) = guessed(model, known[:-1], token_id, 1, chunk_size=1000)
                found = found or np.array_equal(alone[number, position], logits)
        assert found, (position, token_id)


def num_steps(engine: Engine, job: Dispatch) -> int:
    engine.add(job)
    count = 0
    while engine.has_work:
        engine.step()
        count += 1
    return count


def test_a_head_that_agrees_saves_steps() -> None:
    model = drafting_model(drafting_config(vocab_size=256), influence=0.01)
    params = SamplingParams(max_tokens=60, temperature=0.0, ignore_eos=True)
    job = Dispatch(1, "0" * 32, [1, 2, 4, 5], [], params)
    engines = [make_engine(model, max_drafts=max_drafts, clock=never) for max_drafts in (0, 1, 3)]
    steps = [num_steps(engine, job) for engine in engines]
    model.close()
    counters = engines[2].counters
    assert steps[0] == 60
    assert steps[1] < 40
    assert steps[2] < 25
    assert counters.accepted_draft_tokens > 0.7 * counters.draft_tokens
    assert counters.accepted_draft_tokens + steps[2] == 60
