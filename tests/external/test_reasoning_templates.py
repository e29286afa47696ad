"""Chat templates of real models that reason: the turns that they write are split correctly.

CACTUS_TEMPLATES names a directory of .jinja files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cactus_actors.protocol.errors import ModelFileInvalid, TemplateInvalid
from cactus_actors.reasoning import MARKUPS, Start, split, splitter_of
from cactus_actors.text import ChatTemplate
from cactus_actors.text.chat_prompt import end_of
from cactus_actors.text.reasoning_support import markup_in_template

TEMPLATES = "CACTUS_TEMPLATES"

if TEMPLATES not in os.environ:
    pytest.skip(f"{TEMPLATES} names no directory of templates", allow_module_level=True)

SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted(Path(os.environ[TEMPLATES]).glob("*.jinja"))}
REASONING = {name: markup for name, source in SOURCES.items() if (markup := markup_in_template(source))}
QUESTION = {"role": "user", "content": "What is 2 + 2?"}
THOUGHT, ANSWER = "Two and two\n\nmake four.", "It is **4**."


def compiled(name: str) -> ChatTemplate:
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    try:
        return ChatTemplate.compile(SOURCES[name], Path(name), tokens)
    except ModelFileInvalid as error:
        pytest.skip(str(error))


def test_templates_are_found() -> None:
    assert REASONING


@pytest.mark.parametrize("name", REASONING)
@pytest.mark.parametrize("thinking", [None, True, False])
def test_the_start_state_of_a_prompt_agrees_with_its_template(name: str, thinking: bool | None) -> None:
    prompt = compiled(name).render([QUESTION], thinking=thinking)
    end = end_of(prompt, REASONING[name], thinking=thinking, past="", answer_begins="")
    if thinking is False:
        assert end.start != "reasoning"
    begun = end_of(prompt, REASONING[name], thinking=thinking, past="", answer_begins="It")
    assert begun.start == "answer"


@pytest.mark.parametrize("name", REASONING)
def test_a_turn_rendered_by_a_template_is_split_into_its_parts(name: str) -> None:
    """The turn is the last one without the end of the prompt, as a model would have written it."""
    template, markup = compiled(name), MARKUPS[REASONING[name]]
    turn = {"role": "assistant", "content": ANSWER, "reasoning_content": THOUGHT}
    try:
        whole = template.render([QUESTION, turn], add_generation_prompt=False, thinking=True)
    except TemplateInvalid as error:
        pytest.skip(str(error))
    if THOUGHT not in whole:
        pytest.skip("it drops what was thought")
    thought_at = whole.index(THOUGHT)
    opened_at = max(whole.rfind(mark, 0, thought_at) for mark in markup.opens)
    start: Start = "undecided" if opened_at >= 0 else "reasoning"  # by the prompt before it
    written = whole[opened_at if opened_at >= 0 else thought_at : whole.index(ANSWER) + len(ANSWER)]
    assert split(REASONING[name], written, start=start) == (THOUGHT, ANSWER)
    splitter = splitter_of(REASONING[name], start=start)
    said = [*(splitter.feed(letter) for letter in written), splitter.finish()]
    assert "".join(one.reasoning for one in said) == THOUGHT
    assert "".join(one.text for one in said) == ANSWER
