"""The end of a prompt: the model starts before its reasoning, in it or after it."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.reasoning import MARKUPS, Start

_FINAL = "<|channel|>final<|message|>"


class ChatPrompt(NamedTuple):
    """The ids of a conversation, the state at the answer's start, and if the model is to reason before it."""

    ids: list[int]
    start: Start = "undecided"
    thinks: bool = False


class ChatText(NamedTuple):
    """A chat prompt before it is encoded."""

    text: str
    start: Start
    thinks: bool


class PromptEnd(NamedTuple):
    """Text to add to a rendered prompt, and the state of reasoning after it."""

    added: str
    start: Start
    is_closed: bool


def end_of(prompt: str, markup_name: str, *, thinking: bool | None, past: str, answer_begins: str) -> PromptEnd:
    """The text between a rendered prompt and the model's first token.

    Reasoning that the template opened is closed again if `thinking` is false or the answer has begun,
    after `past`, its reasoning so far. `answer_begins` itself is not part of the added text.
    """
    markup = MARKUPS[markup_name]
    end = prompt.rstrip()
    is_open = end.endswith(markup.opens)
    is_closed = not is_open and end.endswith(markup.closes) and not markup.has_channels
    has_begun = bool(answer_begins or past)
    line = "\n" if prompt.endswith("\n") else ""
    close = f"{line}{markup.closes[0]}{line * 2}"
    if past and not is_closed:
        if markup.has_channels:
            return PromptEnd(f"{markup.opens[0]}{past}{markup.closes[0]}{markup.answers[0][0]}", "answer", True)
        opening = "" if is_open else f"{markup.opens[0]}{line}"
        return PromptEnd(f"{opening}{past}{close}", "answer", True)
    if has_begun and markup.has_channels:
        return PromptEnd(_FINAL, "answer", True)
    if is_open and (has_begun or thinking is False):
        return PromptEnd(close, "answer" if has_begun else "undecided", True)
    if has_begun:
        return PromptEnd("", "answer", True)
    return PromptEnd("", "reasoning" if is_open else "undecided", is_closed)
