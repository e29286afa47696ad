"""Splitting reasoning from texts: every family's markup, text that is not reasoning, and any split of a stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.reasoning import MARKUPS, ReasoningSplitter, Split, Start, split, splitter_of
from tests.support.text.reasoning_texts import written

TAGGED = [name for name, markup in MARKUPS.items() if not markup.has_channels]


def in_chunks(splitter: ReasoningSplitter, chunks: list[str]) -> Split:
    said = [*(splitter.feed(chunk) for chunk in chunks), splitter.finish()]
    return Split("".join(one.reasoning for one in said), "".join(one.text for one in said))


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted(place % (len(text) + 1) for place in places)
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@pytest.mark.parametrize("name", MARKUPS)
def test_every_markup_is_split(name: str) -> None:
    text = written(name, "Two and two\n\nmake four.", "It is **4**.")
    assert split(name, text) == ("Two and two\n\nmake four.", "It is **4**.")
    assert split(name, written(name, "", "It is **4**.")) == ("", "It is **4**.")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("granite-3.2", "Here's my thought process: a\nHere's my response: b", ("a", "b")),
        ("granite", "<response>b</response>\n", ("", "b")),
        ("granite", "<think>a</think>b </response> c", ("a", "b </response> c")),
        ("command-r", "<|START_THINKING|>a<|END_THINKING|><|START_TEXT|>b<|END_TEXT|>", ("a", "b")),
        ("think", "\n<think>a</think>\n<think>b</think>", ("a", "<think>b</think>")),
        ("gemma", "<|channel>thought\na<channel|>b", ("a", "b")),
    ],
)
def test_other_spellings_of_marks_are_split(name: str, text: str, told: tuple[str, str]) -> None:
    assert split(name, text) == told


@pytest.mark.parametrize("name", TAGGED)
def test_reasoning_opened_by_the_prompt_is_closed(name: str) -> None:
    text = written(name, "so", "Hi")
    behind_the_mark = text.removeprefix(MARKUPS[name].opens[0])
    assert split(name, behind_the_mark, start="reasoning") == ("so", "Hi")
    assert split(name, text, start="reasoning") == ("so", "Hi"), "a model may repeat the mark"


@pytest.mark.parametrize("name", MARKUPS)
def test_an_answer_without_reasoning_is_unchanged(name: str) -> None:
    for answer in ("", " ", "\n Hi \n", "<", "<thin", "[", "Here", "<|channel", "a <think> b"):
        assert split(name, answer) == ("", answer)
        assert split(name, answer, start="answer") == ("", answer)


@pytest.mark.parametrize("name", MARKUPS)
def test_unclosed_reasoning_is_reasoning(name: str) -> None:
    opening, closing = MARKUPS[name].opens[0], MARKUPS[name].closes[0]
    assert split(name, f"{opening}\nand so") == ("and so", "")
    assert split(name, f"{opening}\nand so {closing[:-1]}") == (f"and so {closing[:-1]}", "")
    assert split(name, f"and so {closing[:-1]}", start="reasoning") == (f"and so {closing[:-1]}", "")


def test_the_answer_can_keep_leading_space() -> None:
    for chunks in (["<think>a</think>\n\n b\n"], list("<think>a</think>\n\n b\n")):
        assert in_chunks(splitter_of("think", keeps_space=True), chunks) == ("a", "\n\n b\n")


def test_channels_of_every_kind_are_split() -> None:
    said = "<|channel|>analysis<|message|>I need\n\ndata.<|end|><|start|>assistant"
    said += "<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant"
    said += "<|channel|>analysis<|message|>The weather, then.<|end|><|start|>assistant"
    call = "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{}<|call|>"
    reasoning = "I need\n\ndata.\n\nThe weather, then."
    assert split("harmony", said + call) == (reasoning, f"Let me look.{call}")
    final = "<|channel|>final<|message|>It rains.<|return|>"
    assert split("harmony", said + final) == (reasoning, "Let me look.\n\nIt rains.")
    assert split("harmony", said + "<|channel|>fin") == (reasoning, "Let me look.")


def test_a_call_may_name_its_recipient_first() -> None:
    call = " to=functions.weather<|channel|>commentary json<|message|>{}<|call|>"
    assert split("harmony", call) == ("", call)
    behind = f"<|channel|>analysis<|message|>a<|end|><|start|>assistant{call}"
    assert split("harmony", behind) == ("a", call)


PARTS = st.text(alphabet=st.sampled_from(list("ab <>/|[]\nthink")), max_size=30).map(str.strip)


@given(
    name=st.sampled_from(list(MARKUPS)),
    reasoning=PARTS,
    answer=PARTS,
    places=st.lists(st.integers(0, 200), max_size=12),
)
def test_the_parts_do_not_depend_on_the_split_of_the_text(
    name: str, reasoning: str, answer: str, places: list[int]
) -> None:
    text = written(name, reasoning, answer)
    whole = split(name, text)
    assert in_chunks(splitter_of(name), cut(text, places)) == whole
    assert in_chunks(splitter_of(name), list(text)) == whole


MARKS = sorted({mark for markup in MARKUPS.values() for mark in (*markup.opens, *markup.closes, *markup.tokens)})


@given(
    name=st.sampled_from(list(MARKUPS)),
    text=st.lists(st.one_of(st.sampled_from(MARKS), PARTS, st.sampled_from(["\n", " to=f", "analysis"]))).map("".join),
    start=st.sampled_from(["undecided", "reasoning", "answer"]),
    keeps_space=st.booleans(),
)
def test_arbitrary_text_is_split_the_same_in_any_chunks(name: str, text: str, start: Start, keeps_space: bool) -> None:
    whole = in_chunks(splitter_of(name, start=start, keeps_space=keeps_space), [text])
    assert in_chunks(splitter_of(name, start=start, keeps_space=keeps_space), list(text)) == whole


@given(text=PARTS, reasoning=PARTS)
def test_nothing_of_an_answer_is_lost(text: str, reasoning: str) -> None:
    if "</think>" not in reasoning:
        assert split("think", written("think", reasoning, text)) == (reasoning, text)


def test_the_next_part_is_known_at_every_position() -> None:
    splitter = splitter_of("think")
    states = []
    for chunk in ["", "\n", "<think>", "a", "</think>", "\n", "b"]:
        splitter.feed(chunk)
        states.append(splitter.state)
    assert states == ["undecided", "undecided", "reasoning", "reasoning", "answer", "answer", "answer"]
    assert splitter.has_reasoned
    plain = splitter_of("think")
    plain.feed("b")
    assert (plain.state, plain.has_reasoned) == ("answer", False)
