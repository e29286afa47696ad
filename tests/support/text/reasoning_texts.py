"""Answers with reasoning, as the models of each family write them."""

from __future__ import annotations

from cactus_actors.reasoning import MARKUPS

HARMONY_FINAL = "<|start|>assistant<|channel|>final<|message|>"


def written(name: str, reasoning: str, answer: str, space: str = "\n") -> str:
    """An answer as the models of a family write it."""
    markup = MARKUPS[name]
    if markup.has_channels:
        return f"{markup.opens[0]}{reasoning}{markup.closes[0]}{HARMONY_FINAL}{answer}"
    opening, closing = markup.answers[0] if markup.answers else ("", "")
    return f"{markup.opens[0]}{space}{reasoning}{space}{markup.closes[0]}{space * 2}{opening}{answer}{closing}"
