"""Reasoning in an engine's deltas: separate from the answer, counted, ended by a budget, the same in any batch."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import ReasoningParams, SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.step_batch import Batch
from tests.support.models.counting_engine import CONFIG, CountingModel, error_type

PIECES = ["<think>", "</think>", "\n", "a", "b", "Hi", " there", ".", "<", "th", "</", "ink>", "é"]
IDS = {piece: token_id for token_id, piece in enumerate(PIECES)}
HALF, REST, END_ID, PROMPT_ID = 20, 21, 40, 41
"""The two bytes of "ö" are two tokens."""


class PieceTokenizer:
    def token_bytes(self, token_id: int) -> bytes:
        if token_id in (HALF, REST):
            return "ö".encode()[token_id - HALF : token_id - HALF + 1]
        return PIECES[token_id].encode() if token_id < len(PIECES) else b""


class ScriptedModel(CountingModel):
    """Makes the script's token the likeliest at each position; the prompt is one token long."""

    def __init__(self, script: list[int]) -> None:
        self._script = [*script, *[END_ID] * 64]

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        positions = batch.positions[batch.logit_rows]
        logits = np.zeros((positions.size, CONFIG.vocab_size), dtype=np.float32)
        logits[np.arange(positions.size), [self._script[position] for position in positions]] = 9.0
        return logits


def ids_of(*pieces: str | int) -> list[int]:
    return [IDS[piece] if isinstance(piece, str) else piece for piece in pieces]


def make_engine(*script: str | int, max_drafts: int = 0) -> Engine:
    return Engine(
        ScriptedModel(ids_of(*script)),
        TextOptions(PieceTokenizer(), [END_ID]),
        EngineLimits(cache_blocks=32, block_size=4, max_drafts=max_drafts),
    )


def dispatch(
    number: int = 1, emitted: tuple[int, ...] = (), reasoning: ReasoningParams | None = None, **params: object
) -> Dispatch:
    reasoning = reasoning or ReasoningParams("think")
    options = {"max_tokens": 30, "reasoning": reasoning, **params}
    return Dispatch(number, "0" * 32, [PROMPT_ID], list(emitted), SamplingParams(**options))  # type: ignore[arg-type]


def run(engine: Engine, *dispatches: Dispatch) -> list[SequenceDelta]:
    for each in dispatches:
        engine.add(each)
    deltas = []
    while engine.has_work:
        deltas += engine.step()
    return [delta for delta in deltas if delta.dispatch_id == 1]


def flags_of(deltas: list[SequenceDelta]) -> str:
    """One digit per token, by its last reported flag."""
    flags: list[int] = []
    for delta in deltas:
        flags += [0] * len(delta.token_ids)
        if delta.reasoning_flags:
            flags[-len(delta.reasoning_flags) :] = delta.reasoning_flags
    return "".join(map(str, flags))


def parts(deltas: list[SequenceDelta]) -> tuple[str, str, str]:
    """Reasoning, answer, and the flags of reasoning tokens."""
    reasoning = "".join(delta.reasoning for delta in deltas)
    return reasoning, "".join(delta.text for delta in deltas), flags_of(deltas)


def budget(num_tokens: int, start: str = "undecided", *pieces: str) -> ReasoningParams:
    closing = tuple(ids_of(*(pieces or ("</think>",))))
    return ReasoningParams("think", start=start, budget=num_tokens, close_ids=closing)  # type: ignore[arg-type]


def tokens(deltas: list[SequenceDelta]) -> list[str | int]:
    ids = [token_id for delta in deltas for token_id in delta.token_ids]
    return [PIECES[token_id] if token_id < len(PIECES) else token_id for token_id in ids]


THOUGHT = ("<think>", "\n", "a", "\n", "b", "\n", "</think>", "\n", "Hi", " there")


def test_reasoning_and_answer_are_separated_and_their_tokens_flagged() -> None:
    deltas = run(make_engine(*THOUGHT), dispatch())
    assert parts(deltas) == ("a\nb", "Hi there", "11111110000")
    assert deltas[-1].finish == Finish("stop", stop_match=END_ID)
    assert tokens(deltas) == [*THOUGHT, END_ID]


def test_an_answer_without_reasoning_equals_that_of_a_plain_job() -> None:
    script = ("\n", "<", "b", "Hi")
    plain = run(make_engine(*script), replace_reasoning(dispatch()))
    looked = run(make_engine(*script), dispatch())
    assert parts(looked) == ("", "\n<bHi", "00000")
    assert parts(plain)[1] == parts(looked)[1]
    assert [delta.reasoning_flags for delta in looked] == [[1], [1], [0, 0, 0], [], []], "told again"


def replace_reasoning(job: Dispatch) -> Dispatch:
    return replace(job, params=replace(job.params, reasoning=None))


def test_reasoning_may_be_opened_by_the_prompt_and_never_closed() -> None:
    opened = ReasoningParams("think", start="reasoning")
    closed = run(make_engine("a", "</", "th", "ink>", "Hi"), dispatch(reasoning=opened))
    assert parts(closed) == ("a", "Hi", "111100")
    unclosed = run(make_engine("a", "b", "</"), dispatch(reasoning=opened, max_tokens=3))
    assert parts(unclosed) == ("ab</", "", "111")
    assert unclosed[-1].finish == Finish("length")


def test_a_stop_string_ends_the_answer_and_not_the_reasoning() -> None:
    deltas = run(make_engine("<think>", "a", ".", "</think>", "b", ".", "Hi"), dispatch(stop=(".", "a")))
    assert parts(deltas) == ("a.", "b", "111100")
    assert deltas[-1].finish == Finish("stop", stop_match=".")


def test_an_end_token_in_the_reasoning_ends_the_sequence() -> None:
    deltas = run(make_engine("<think>", "a"), dispatch())
    assert parts(deltas) == ("a", "", "111")


@pytest.mark.parametrize("num_tokens", range(6))
def test_a_budget_forces_the_closing_mark(num_tokens: int) -> None:
    script = ("<think>", "a", "a", "a", "a", "a", "Hi", "b", ".")
    deltas = run(make_engine(*script), dispatch(reasoning=budget(num_tokens)))
    said = tokens(deltas)
    assert said[: num_tokens + 2] == ["<think>", *["a"] * num_tokens, "</think>"]
    # the script continues at its own position: forced tokens took the place of a token
    assert said[num_tokens + 2 :] == [*script[num_tokens + 2 :], END_ID]
    reasoning, answer, flags = parts(deltas)
    assert reasoning == "a" * num_tokens
    assert answer == "".join(script[num_tokens + 2 :])
    assert flags == "1" * (num_tokens + 2) + "0" * (len(said) - num_tokens - 2)


def test_a_budget_applies_to_reasoning_opened_by_the_prompt() -> None:
    asked = budget(2, "reasoning", "</", "th", "ink>")
    deltas = run(make_engine(*["a"] * 8), dispatch(reasoning=asked))
    assert tokens(deltas)[:6] == ["a", "a", "</", "th", "ink>", "a"]
    assert parts(deltas) == ("aa", "aaa", "111110000")


def test_a_budget_that_is_not_reached_changes_nothing() -> None:
    free = run(make_engine(*THOUGHT), dispatch())
    bound = run(make_engine(*THOUGHT), dispatch(reasoning=budget(6)))
    assert (tokens(free), parts(free)) == (tokens(bound), parts(bound))


def test_a_budget_splits_no_character() -> None:
    script = ("<think>", "a", HALF, REST, "b", "b", "Hi")
    deltas = run(make_engine(*script), dispatch(reasoning=budget(2)))
    assert tokens(deltas)[:5] == ["<think>", "a", HALF, REST, "</think>"]
    assert parts(deltas)[0] == "aö"
    broken = run(make_engine("<think>", *[HALF] * 9), dispatch(reasoning=budget(1)))
    assert tokens(broken)[:6] == ["<think>", HALF, HALF, HALF, HALF, "</think>"], "but does not wait for ever"


@pytest.mark.parametrize(
    "params",
    [
        {"temperature": 1.0, "seed": 7},
        {"temperature": 2.0, "seed": 3, "top_k": 2, "repeat_penalty": 1.5},
        {"temperature": 1.0, "mirostat": 2},
        {"logit_bias": ((IDS["</think>"], -100.0), (IDS["a"], 100.0)), "temperature": 1.0},
        {"logit_bias": ((IDS["</think>"], -np.inf),)},
        {"ignore_eos": True, "min_tokens": 9},
    ],
)
def test_forced_tokens_override_sampling(params: dict[str, object]) -> None:
    deltas = run(make_engine(*["a"] * 12), dispatch(reasoning=budget(3, "reasoning"), max_tokens=9, **params))
    assert tokens(deltas)[3] == "</think>"
    assert all(np.isfinite(delta.logprobs).all() and np.isfinite(delta.entropies).all() for delta in deltas)


def test_the_mark_counts_toward_max_tokens() -> None:
    deltas = run(make_engine(*["a"] * 9), dispatch(reasoning=budget(3, "reasoning", "</", "th", "ink>"), max_tokens=5))
    assert tokens(deltas) == ["a", "a", "a", "</", "th"]
    assert parts(deltas) == ("aaa</th", "", "11111")
    assert deltas[-1].finish == Finish("length")


def test_an_incomplete_mark_is_forced_once() -> None:
    asked = ReasoningParams("think", start="reasoning", budget=1, close_ids=(50, 51))
    deltas = run(make_engine(*["a"] * 4), dispatch(reasoning=asked, max_tokens=6))
    assert tokens(deltas) == ["a", 50, 51, "a", END_ID]


CASES = [
    dispatch(),
    dispatch(reasoning=budget(3)),
    dispatch(reasoning=budget(2, "reasoning", "</", "th", "ink>"), temperature=1.0, seed=5),
    dispatch(temperature=1.0, seed=11, repeat_penalty=1.3),
]


@pytest.mark.parametrize("job", CASES)
def test_tokens_are_the_same_alone_in_a_batch_and_with_drafts(job: Dispatch) -> None:
    alone = run(make_engine(*THOUGHT, *THOUGHT), job)
    others = [dispatch(number, reasoning=budget(number)) for number in (2, 3, 4)]
    together = run(make_engine(*THOUGHT, *THOUGHT), *others[:1], job, *others[1:])
    drafted = run(make_engine(*THOUGHT, *THOUGHT, max_drafts=4), job)
    for deltas in (together, drafted):
        assert (tokens(deltas), parts(deltas)) == (tokens(alone), parts(alone))


@pytest.mark.parametrize("job", CASES)
def test_another_dispatch_continues_the_same_after_any_token(job: Dispatch) -> None:
    whole = run(make_engine(*THOUGHT), job)
    ids = [token_id for delta in whole for token_id in delta.token_ids]
    for length in range(len(ids)):
        before = [delta for delta in whole if delta.position < length]
        again = run(make_engine(*THOUGHT), replace(job, emitted_ids=ids[:length]))
        assert tokens([*before, *again]) == tokens(whole)
        assert parts([*before, *again]) == parts(whole)


@pytest.mark.parametrize(
    ("reasoning", "kind"),
    [
        (ReasoningParams("a form of tomorrow"), "not_supported_error"),
        (ReasoningParams("think", budget=1, close_ids=(5, 64)), "invalid_request_error"),
    ],
)
def test_unsupported_reasoning_options_are_refused(reasoning: ReasoningParams, kind: str) -> None:
    [delta] = run(make_engine("a"), dispatch(reasoning=reasoning))
    assert error_type(delta) == kind
