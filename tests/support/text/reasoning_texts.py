"""Answers with reasoning in the markup of each family."""

from __future__ import annotations

from cactus_actors.reasoning import MARKUPS

HARMONY_FINAL = "<|start|>assistant<|channel|>final<|message|>"


def written(name: str, reasoning: str, answer: str, space: str = "\n") -> str:
    """An answer in the markup of a family."""
    markup = MARKUPS[name]
    if markup.has_channels:
        return f"{markup.opens[0]}{reasoning}{markup.closes[0]}{HARMONY_FINAL}{answer}"
    opening, closing = markup.answers[0] if markup.answers else ("", "")
    return f"{markup.opens[0]}{space}{reasoning}{space}{markup.closes[0]}{space * 2}{opening}{answer}{closing}"
