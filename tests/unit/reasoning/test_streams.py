"""From tokens to chunks: an answer in any markup, split in any way into tokens, deltas and replays."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.api.openai import BodyRequest, chunks_of, completion_body
from cactus_actors.protocol.messages import Accepted, Delta, Submit
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.sampling_params import ReasoningParams, SamplingParams
from cactus_actors.reasoning import MARKUPS
from cactus_actors.router.state.token_log import TokenLog
from cactus_actors.workers.engine.detokenizer import Detokenizer
from tests.support.models.counting_engine import PieceTokenizer
from tests.support.text.reasoning_texts import written

JOB = "0" * 32
TEXTS = st.text(max_size=20).map(str.strip)


def pieces_of(text: str, places: list[int]) -> list[bytes]:
    """The bytes of a text, split anywhere, also within characters."""
    encoded = text.encode()
    ends = sorted({place % (len(encoded) + 1) for place in places} | {len(encoded)})
    return [encoded[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def log_of(pieces: list[bytes], markup: str, sizes: list[int]) -> TokenLog:
    """The log of a job whose worker reports this number of tokens per step."""
    params = SamplingParams(max_tokens=100, reasoning=ReasoningParams(markup))
    detokenizer = Detokenizer(PieceTokenizer(*pieces), params)
    assert detokenizer.reasoning is not None
    log, position = TokenLog(), 0
    for turn in range(len(pieces)):
        count = min(sizes[turn % len(sizes)], len(pieces) - position)
        if not count:
            break
        shown = [detokenizer.feed(position + place) for place in range(count)]
        if position + count == len(pieces):
            last, rest = shown[-1], detokenizer.flush()
            shown[-1] = type(last)(last.text + rest.text, last.reasoning + rest.reasoning)
        text, cuts = joined([one.text for one in shown])
        reasoning, reasoning_cuts = joined([one.reasoning for one in shown])
        flags = detokenizer.reasoning.take_flags()
        assert log.extend(position, [1] * count, text, [0.5] * count, [-1.0] * count, 0.0, cuts)
        log.extend_reasoning(position, count, reasoning, reasoning_cuts, flags)
        position += count
    return log


def joined(texts: list[str]) -> tuple[str, list[int]]:
    cuts = [sum(map(len, texts[:place])) for place in range(1, len(texts))]
    return "".join(texts), cuts


def parts(deltas: list[Delta]) -> tuple[str, str]:
    return "".join(one.reasoning_content for one in deltas), "".join(one.text for one in deltas)


def messages(deltas: list[Delta], result: Result, form: Any) -> tuple[dict[str, str], dict[str, str]]:
    """The message of a stream's chunks, and that of the complete body."""
    request = BodyRequest(endpoint="chat", submits=[Submit(job_id=JOB, messages=[])], reasoning_format=form)
    chunks = chunks_of(request, completion_id="c", created=1)
    made = chunks.accepted(0, Accepted(job_id=JOB, epoch=1, prompt_tokens=1, seed=1))
    made += [chunk for delta in deltas for chunk in chunks.delta(0, delta)] + chunks.finished(0, result)
    said = [choice["delta"] for chunk in made for choice in chunk["choices"]]
    body = completion_body(request, [result], completion_id="c", created=1)["choices"][0]["message"]
    names = ("content", "reasoning_content", "reasoning")
    return (
        {name: "".join(one.get(name, "") for one in said) for name in names},
        {name: body.get(name, "") for name in names},
    )


@given(
    markup=st.sampled_from(list(MARKUPS)),
    reasoning=TEXTS,
    answer=TEXTS,
    places=st.lists(st.integers(0, 400), max_size=20),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    replay=st.integers(1, 7),
    form=st.sampled_from(["apart", "inline", "both", "hidden"]),
)
def test_streams_replays_and_bodies_have_the_same_text(
    markup: str, reasoning: str, answer: str, places: list[int], sizes: list[int], replay: int, form: str
) -> None:
    known = MARKUPS[markup]
    if any(mark in reasoning + answer for mark in (*known.opens, *known.closes, *known.tokens)):
        return
    log = log_of(pieces_of(written(markup, reasoning, answer), places), markup, sizes)
    whole = "" if log.reasoning is None else log.reasoning.text
    assert (whole, log.text) == (reasoning, answer)
    starts = range(0, len(log), replay)
    deltas = [log.delta(JOB, start, min(len(log), start + replay)) for start in starts]
    assert parts(deltas) == (reasoning, answer)
    result = Result(text=answer, reasoning_content=reasoning or None)
    streamed, body = messages(deltas, result, form)
    assert streamed == body


@given(
    markup=st.sampled_from(list(MARKUPS)),
    reasoning=TEXTS,
    answer=TEXTS,
    places=st.lists(st.integers(0, 400), max_size=20),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
)
def test_flags_of_reasoning_tokens_do_not_depend_on_the_steps(
    markup: str, reasoning: str, answer: str, places: list[int], sizes: list[int]
) -> None:
    pieces = pieces_of(written(markup, reasoning, answer), places)
    stepwise, whole = log_of(pieces, markup, [1]), log_of(pieces, markup, sizes)
    counts = [0 if log.reasoning is None else log.reasoning.num_tokens for log in (stepwise, whole)]
    assert counts[0] == counts[1]
    assert len(stepwise.confidence_samples.entropies) == len(pieces) - counts[0]
    assert list(stepwise.confidence_samples.logprobs) == list(whole.confidence_samples.logprobs)
