"""A dispatch's deltas have the same bits in any batch: compared with ==, probabilities included."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import random_tensors
from tests.support.models.adapted_engine import ADAPTED, AdaptedEngine, add_two_adapters
from tests.support.models.exactness_configs import GEMMA4, GPT_OSS, GRANITE4, LFM2, LFM3, LLAMA, QWEN3_5, QWEN3_MOE

END_IDS = {
    "Llama": 160,
    "LFM2": 100,
    "Qwen3 MoE": 95,
    "LFM3": 100,
    "Qwen3.5": 120,
    "Granite 4": 120,
    "gpt-oss": 95,
    "Gemma 4": 100,
}
"""Each ends some of the answers."""


class LetterTokenizer:
    """Bytes of many kinds, so that held-back characters and stop strings occur."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id + 32]) if token_id % 3 else "é€"[token_id % 2].encode()[: 1 + token_id % 4]


class InTurns:
    """One of every three consecutive token ids is allowed, in turn; a text of `length` tokens is complete."""

    def __init__(self, length: str) -> None:
        self._length = int(length)
        self._num_tokens = 0

    def accept(self, token_id: int) -> None:
        assert token_id % 3 == self._num_tokens % 3
        self._num_tokens += 1

    def bitmask(self) -> NDArray[np.int32]:
        bits = np.arange(224) % 3 == self._num_tokens % 3
        return np.packbits(bits, bitorder="little").view(np.int32)

    @property
    def is_finished(self) -> bool:
        return self._num_tokens == self._length


@dataclass
class Outcome:
    """All outputs of one dispatch."""

    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    measures: list[tuple[float, float]] = field(default_factory=list)
    finish: Finish | None = None
    cached_tokens: int = 0
    top: list[list[tuple[int, float]]] = field(default_factory=list)
    prompt: list[tuple[float, list[tuple[int, float]]]] = field(default_factory=list)
    mirostat_mu: float | None = None
    prompt_states: dict[int, bytes] = field(default_factory=dict)

    def take(self, delta: SequenceDelta) -> None:
        assert self.finish is None
        assert delta.position == len(self.token_ids), "no gap and no repeat"
        self.token_ids += delta.token_ids
        self.text += delta.text
        self.measures += zip(delta.entropies, delta.logprobs, strict=True)
        self.finish = delta.finish
        self.cached_tokens = delta.cached_tokens
        if delta.extras is not None:
            assert delta.extras.prompt_position == (len(self.prompt) if delta.extras.prompt else 0)
            self.top += delta.extras.top
            self.prompt += delta.extras.prompt
            self.mirostat_mu = delta.extras.mirostat_mu
            assert not (delta.extras.prompt_states and delta.position), "they come with the first token"
            self.prompt_states |= delta.extras.prompt_states

    @property
    def said(self) -> tuple[object, ...]:
        """The parts that must not depend on the batch; the first token of a prompt has no probability."""
        return (
            self.token_ids,
            self.text,
            self.measures,
            self.finish,
            self.top,
            str(self.prompt),
            self.mirostat_mu,
            self.prompt_states,
        )


def make_engine(model: Model, *, cache_blocks: int = 128, token_budget: int = 256, max_drafts: int = 0) -> Engine:
    return (AdaptedEngine if model in ADAPTED else Engine)(
        model,
        TextOptions(LetterTokenizer(), [END_IDS[model.config.family]], new_constraint=InTurns),
        EngineLimits(
            cache_blocks=cache_blocks,
            max_sequences=8,
            token_budget=token_budget,
            max_drafts=max_drafts,
            num_checkpoints=cache_blocks // 4,
            checkpoint_tokens=32,
        ),
    )


def run(engine: Engine, *dispatches: Dispatch) -> list[Outcome]:
    outcomes = {dispatch.dispatch_id: Outcome() for dispatch in dispatches}
    for dispatch in dispatches:
        engine.add(dispatch)
    while engine.has_work:
        for delta in engine.step():
            outcomes[delta.dispatch_id].take(delta)
    assert all(outcome.finish is not None for outcome in outcomes.values())
    return list(outcomes.values())


PARAMS = [
    SamplingParams(max_tokens=24),
    SamplingParams(max_tokens=20, temperature=1.0, seed=1),
    SamplingParams(max_tokens=24, temperature=0.8, top_k=20, top_p=0.95, seed=2**64 - 1, ignore_eos=True),
    SamplingParams(max_tokens=17, repeat_penalty=1.3, frequency_penalty=0.5, repeat_last_n=9),
    SamplingParams(max_tokens=24, temperature=1.5, min_p=0.1, top_p=0.9, seed=3, stop=("a", "xy", "é"), min_tokens=6),
    SamplingParams(max_tokens=24, temperature=1.2, seed=4, presence_penalty=1.0, cache_prompt=False),
    SamplingParams(max_tokens=18, temperature=0.9, seed=5, mirostat=1, mirostat_tau=3.0, num_logprobs=3),
    SamplingParams(max_tokens=24, temperature=1.1, seed=6, mirostat=2, ignore_eos=True),
    SamplingParams(max_tokens=15, temperature=0.7, seed=7, num_logprobs=2, prompt_logprobs=True),
    SamplingParams(
        max_tokens=20,
        temperature=1.2,
        seed=8,
        typical_p=0.7,
        logit_bias=((3, 2.0), (90, -4.0)),
        presence_penalty=0.5,
        penalise_prompt=False,
    ),
    SamplingParams(max_tokens=22, temperature=1.0, seed=9, min_tokens=30),
    SamplingParams(max_tokens=1),
    SamplingParams(max_tokens=0),
]


def make_dispatches() -> list[Dispatch]:
    """Prompts of 1 to 90 tokens, the longer ones on a common prefix, each with its own parameters.

    The hidden states of two prompts out of three are tapped after the first layer.
    """
    lengths = [1, 15, 16, 17, 33, 48, 20, 35, 75, 50, 40, 77, 90]
    dispatches = [
        Dispatch(
            i,
            f"{i:032x}",
            [(7 * j + 3) % 199 for j in range(length)],
            [],
            params,
            choice=i % 2,
            tapped_layers=[1] if i % 3 else [],
        )
        for i, (length, params) in enumerate(zip(lengths, PARAMS, strict=True))
    ]
    dispatches[10] = msgspec.structs.replace(dispatches[10], grammar="18")
    return dispatches


def weight_of(family: str, name: str) -> np.float32:
    """The layers of some models add little to the residual stream, so that answers repeat and drafts are accepted.

    The decays of recurrent layers are near one, so that they have a long memory.
    """
    if name.endswith("A_log"):
        return np.float32(-4)
    if family in ("Qwen3.5", "Granite 4"):
        return np.float32(0.08 if name.endswith(("out_proj", "o_proj", "down_proj", "shared_mlp.down")) else 1)
    if name.endswith(("post_operator_norm", "post_ffn_norm")):
        return np.float32(0.2)
    return np.float32(0.5 if name.endswith(("conv.out_proj", "feed_forward.w2")) else 1)


@pytest.fixture(
    scope="module",
    params=[
        *((LLAMA, "float32"), (LLAMA, "int8"), (LFM2, "int8"), (QWEN3_MOE, "int8"), (LFM3, "int8")),
        *((QWEN3_5, "int8"), (GRANITE4, "int8"), (GPT_OSS, "int8"), (GEMMA4, "int8")),
        *((LLAMA, "int8-adapters"), (QWEN3_5, "int8-adapters")),
    ],
    ids=lambda param: f"{param[0].family}-{param[1]}",
)
def models(request: pytest.FixtureRequest) -> Iterator[dict[int, Model]]:
    """The same model on one and on two threads."""
    config, (weights, *adapted) = request.param[0], request.param[1].split("-")
    tensors = {name: tensor * weight_of(config.family, name) for name, tensor in random_tensors(config, seed=1).items()}
    threads = {n: model_from_tensors(config, tensors, weights=weights, threads=n) for n in (1, 2)}
    for model in threads.values():
        if adapted:
            add_two_adapters(model)
    yield threads
    for model in threads.values():
        ADAPTED.discard(model)
        model.close()


@pytest.fixture(scope="module")
def expected(models: dict[int, Model]) -> list[Outcome]:
    """The outcome of every dispatch alone: one thread, an empty cache, its prompt in one step."""
    return [run(make_engine(models[1]), dispatch)[0] for dispatch in make_dispatches()]


def said(outcomes: list[Outcome]) -> list[object]:
    return [outcome.said for outcome in outcomes]


def test_the_cases_cover_different_code_paths(expected: list[Outcome]) -> None:
    reasons = {outcome.finish.reason for outcome in expected if outcome.finish}
    assert reasons == {"stop", "length"}
    assert [len(outcome.token_ids) for outcome in expected][-3:] == [18, 1, 0]
    assert [len(outcome.prompt) for outcome in expected] == [0] * 8 + [75] + [0] * 4
    assert [outcome.mirostat_mu is not None for outcome in expected].count(True) == 2
    assert len({tuple(outcome.token_ids) for outcome in expected}) == len(expected)
    num_tapped = [len(outcome.prompt_states) for outcome in expected]
    assert num_tapped == [0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert len({outcome.prompt_states[1] for outcome in expected if outcome.prompt_states}) == sum(num_tapped)


def test_tokens_are_the_same_in_a_batch(models: dict[int, Model], expected: list[Outcome]) -> None:
    assert said(run(make_engine(models[1]), *make_dispatches())) == said(expected)


def test_tokens_are_the_same_without_taps(models: dict[int, Model], expected: list[Outcome]) -> None:
    dispatches = [msgspec.structs.replace(dispatch, tapped_layers=[]) for dispatch in make_dispatches()]
    outcomes = run(make_engine(models[1]), *dispatches)
    assert [outcome.said[:-1] for outcome in outcomes] == [outcome.said[:-1] for outcome in expected]
    assert not any(outcome.prompt_states for outcome in outcomes)


def test_tokens_are_the_same_on_two_threads(models: dict[int, Model], expected: list[Outcome]) -> None:
    assert said(run(make_engine(models[2]), *make_dispatches())) == said(expected)
    assert said(run(make_engine(models[2]), make_dispatches()[3])) == said(expected[3:4])


@pytest.mark.parametrize("token_budget", [1, 2, 7, 16, 31])
def test_tokens_are_the_same_with_a_chunked_prompt(
    models: dict[int, Model], expected: list[Outcome], token_budget: int
) -> None:
    engine = make_engine(models[1], token_budget=token_budget)
    assert said(run(engine, *make_dispatches())) == said(expected)


def test_tokens_are_the_same_on_a_cached_prefix(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1])
    run(engine, make_dispatches()[-1])
    again = run(engine, *make_dispatches())
    assert said(again) == said(expected)
    expected_tokens = [0, 0, 0, 16, 32, 0, 16, 32, 0, 48, 32, 64, 80]
    if models[1].slot_size:  # reusable only up to the checkpoints, at 32, 64 and 80
        expected_tokens = [0, 0, 0, 0, 32, 0, 0, 32, 0, 32, 32, 64, 80]
    given_tokens = [outcome.cached_tokens for outcome in again]
    if models[1] in ADAPTED:  # the prefix is that of the model itself
        given_tokens, expected_tokens = given_tokens[::2], expected_tokens[::2]
    assert given_tokens == expected_tokens


def test_tokens_are_the_same_after_preemption(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1], cache_blocks=6)
    assert said(run(engine, *make_dispatches())) == said(expected)
    assert engine.counters.preemptions > 0
    assert engine.free_blocks == 6


@pytest.mark.parametrize("max_drafts", [1, 4, 20])
def test_tokens_are_the_same_with_drafts(models: dict[int, Model], expected: list[Outcome], max_drafts: int) -> None:
    for dispatch, whole in zip(make_dispatches(), expected, strict=True):
        for cache_blocks in (6, 128):
            engine = make_engine(models[1], cache_blocks=cache_blocks, max_drafts=max_drafts)
            assert said(run(engine, dispatch)) == [whole.said]
            assert said(run(engine, dispatch)) == [whole.said], "again, on the prefix that it left"
            assert engine.free_blocks == cache_blocks


def test_tokens_are_the_same_with_drafts_in_a_batch(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1], cache_blocks=6, max_drafts=4)
    assert said(run(engine, *make_dispatches())) == said(expected)
    assert engine.counters.accepted_draft_tokens > 0


def test_tokens_are_the_same_on_blocks_with_old_contents(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1])
    for array in engine._cache.arrays:
        array.view(np.uint8).fill(0xFF)  # not a number in every floating-point format
    assert said(run(engine, *make_dispatches())) == said(expected)


@pytest.mark.parametrize("cut", [1, 2, 5, 11, 16])
def test_tokens_are_the_same_after_a_crash(models: dict[int, Model], expected: list[Outcome], cut: int) -> None:
    """Another worker gets the emitted tokens; the texts and positions of both attempts join exactly."""
    for dispatch, whole in zip(make_dispatches(), expected, strict=True):
        if len(whole.token_ids) <= cut:
            continue
        outcome = Outcome()
        engine = make_engine(models[1])
        engine.add(dispatch)
        while len(outcome.token_ids) < cut:
            for delta in engine.step():
                outcome.take(delta)
        rest = msgspec.structs.replace(
            dispatch, dispatch_id=99, emitted_ids=outcome.token_ids[:], mirostat_mu=outcome.mirostat_mu
        )
        survivor = make_engine(models[2], token_budget=10)
        survivor.add(rest)
        while survivor.has_work:
            for delta in survivor.step():
                outcome.take(delta)
        assert outcome.said == whole.said


def test_a_complete_answer_that_is_dispatched_again_ends_at_once(
    models: dict[int, Model], expected: list[Outcome]
) -> None:
    engine = make_engine(models[1])
    for dispatch, whole in zip(make_dispatches()[:-1], expected, strict=False):
        engine.add(msgspec.structs.replace(dispatch, emitted_ids=whole.token_ids))
        (delta,) = engine.step()
        assert (delta.position, delta.token_ids, delta.finish) == (len(whole.token_ids), [], whole.finish)
        assert not engine.has_work


@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tokens_are_the_same_in_any_batch(
    models: dict[int, Model], expected: list[Outcome], data: st.DataObject
) -> None:
    """Dispatches arrive at any time and in any order, others are aborted, and memory may be short."""
    engine = make_engine(
        models[data.draw(st.sampled_from([1, 2]))],
        cache_blocks=data.draw(st.sampled_from([6, 9, 40])),
        token_budget=data.draw(st.sampled_from([3, 20, 64])),
        max_drafts=data.draw(st.sampled_from([0, 1, 3, 20])),
    )
    waiting = data.draw(st.permutations(make_dispatches()))
    outcomes = {dispatch.dispatch_id: Outcome() for dispatch in waiting}
    strangers = 0
    # The schedule is drawn first: the number of steps depends on time, because drafts are made where they pay.
    actions = data.draw(
        st.lists(
            st.sampled_from(["step", "step", "step", "add", "abort"]) | st.integers(1, 60),
            min_size=30,
            max_size=120,
        )
    )
    for action in itertools.chain(actions, itertools.repeat("step")):
        if not waiting and not engine.has_work:
            break
        if action == "add" and waiting:
            engine.add(waiting.pop())
        elif isinstance(action, int) and strangers < 5:
            strangers += 1
            prompt = [(11 * j + strangers) % 199 for j in range(action)]
            params = SamplingParams(max_tokens=40, ignore_eos=True)
            engine.add(Dispatch(100 + strangers, "f" * 32, prompt, [], params))
        elif action == "abort":
            engine.abort(100 + strangers)
        else:
            for delta in engine.step():
                if delta.dispatch_id < 100:
                    outcomes[delta.dispatch_id].take(delta)
            if not engine.has_work and waiting:
                engine.add(waiting.pop())
    assert said([outcomes[i] for i in range(len(expected))]) == said(expected)
    assert engine.free_blocks in (6, 9, 40)
