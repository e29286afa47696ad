"""Constrained sequences: the engine asks for masks, returns tokens, ends and restarts."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.worker_messages import Dispatch, Finish
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from tests.support.models.counting_engine import (
    END_ID,
    VOCAB,
    CountingModel,
    LetterTokenizer,
    dispatch,
    error_type,
    outcome,
    run,
)


class Listed:
    """The allowed tokens in turn, written like a grammar: tokens with commas, then the end; `!` raises."""

    def __init__(self, grammar: str) -> None:
        self._turns = [[int(token) if token != "!" else -1 for token in turn.split("|")] for turn in grammar.split(",")]
        self.accepted: list[int] = []
        made.append(self)

    def accept(self, token_id: int) -> None:
        if token_id == 13:
            raise RuntimeError("unlucky")
        assert token_id in self._turns[len(self.accepted)]
        self.accepted.append(token_id)

    def bitmask(self) -> NDArray[np.int32]:
        assert not self.is_finished
        allowed = self._turns[len(self.accepted)]
        if allowed == [-1]:
            raise RuntimeError("broken")
        bits = np.zeros(VOCAB, dtype=np.uint8)
        bits[allowed] = 1
        return np.packbits(bits, bitorder="little").view(np.int32)

    @property
    def is_finished(self) -> bool:
        return len(self.accepted) == len(self._turns) or self._turns == [[0]]


made: list[Listed] = []


def make_engine(*, max_drafts: int = 0) -> Engine:
    made.clear()
    return Engine(
        CountingModel(),
        TextOptions(LetterTokenizer(), [END_ID], new_constraint=Listed),
        EngineLimits(cache_blocks=32, block_size=4, max_drafts=max_drafts),
    )


def constrained(
    grammar: str, *, prompt_ids: tuple[int, ...] = (3,), dispatch_id: int = 1, **params: object
) -> Dispatch:
    plain = dispatch(list(prompt_ids), dispatch_id=dispatch_id, **params)
    return replace(plain, grammar=grammar)


def test_only_allowed_tokens_are_sampled_and_a_complete_text_ends() -> None:
    assert outcome(run(make_engine(), constrained("9|10,2|3,5"))) == ([9, 2, 5], "jcf", Finish("stop"))
    assert made[0].accepted == [9, 2, 5]


def test_an_allowed_end_token_ends_the_text_and_is_not_reported() -> None:
    tokens, text, finish = outcome(run(make_engine(), constrained(f"39,{END_ID}|51", max_tokens=9)))
    assert (tokens, text, finish) == ([39, END_ID], "n", Finish("stop", stop_match=END_ID))
    assert made[0].accepted == [39]


def test_end_tokens_wait_for_min_tokens_unless_nothing_else_is_allowed() -> None:
    tokens, _, finish = outcome(run(make_engine(), constrained(f"39,{END_ID}|51,7", min_tokens=3)))
    assert (tokens, finish) == ([39, 51, 7], Finish("stop"))
    for options in ({"min_tokens": 5}, {"ignore_eos": True}):
        tokens, _, finish = outcome(run(make_engine(), constrained(f"39,{END_ID}", **options)))
        assert (tokens, finish) == ([39, END_ID], Finish("stop", stop_match=END_ID))


def test_a_text_that_is_complete_at_its_start_ends_with_an_end_token() -> None:
    tokens, text, finish = outcome(run(make_engine(), constrained("0")))
    assert (tokens, text, finish) == ([END_ID], "", Finish("stop", stop_match=END_ID))


def test_max_tokens_truncates_an_incomplete_text() -> None:
    assert outcome(run(make_engine(), constrained("9,8,7", max_tokens=2)))[2] == Finish("length")
    assert outcome(run(make_engine(), constrained("9,8,7", max_tokens=3)))[2] == Finish("stop")


@pytest.mark.parametrize("grammar", ["9,!", "9,13,7"])
def test_a_failing_constraint_ends_only_its_sequence(grammar: str) -> None:
    engine = make_engine()
    deltas = run(
        engine,
        constrained(grammar, dispatch_id=1),
        constrained("20,21", dispatch_id=2),
        dispatch([3], dispatch_id=3),
    )
    bad = [delta for delta in deltas if delta.dispatch_id == 1]
    assert [delta.token_ids for delta in bad] == [[9], []]
    assert (bad[-1].position, error_type(bad[-1])) == (1, "model_error")
    assert outcome([d for d in deltas if d.dispatch_id == 2])[0] == [20, 21]
    assert outcome([d for d in deltas if d.dispatch_id == 3])[0] == [4, 5, 6, 7, 8]
    assert engine.free_blocks == 32


def test_emitted_tokens_are_replayed_in_the_constraint() -> None:
    whole = run(make_engine(), constrained("9,8,7,6"))
    rest = run(make_engine(), replace(constrained("9,8,7,6"), emitted_ids=[9, 8]))
    assert rest == whole[2:]
    (delta,) = run(make_engine(), replace(constrained("9,8"), emitted_ids=[9, 8]))
    assert (delta.position, delta.token_ids, delta.finish) == (2, [], Finish("stop"))


def test_constrained_sequences_have_no_drafts() -> None:
    engine = make_engine(max_drafts=4)
    again = ",".join(["9,8"] * 10)
    assert outcome(run(engine, constrained(again, max_tokens=20)))[0] == [9, 8] * 10
    assert engine.counters.draft_tokens == 0


def test_an_invalid_or_unsatisfiable_grammar_is_an_error() -> None:
    def refuse(grammar: str) -> Listed:
        raise InvalidRequest("no such thing", param="grammar")

    for new_constraint, kind in ((refuse, "invalid_request_error"), (None, "not_supported_error")):
        engine = Engine(
            CountingModel(),
            TextOptions(LetterTokenizer(), [END_ID], new_constraint=new_constraint),
            EngineLimits(cache_blocks=8),
        )
        (delta,) = run(engine, constrained("9"))
        assert error_type(delta) == kind
