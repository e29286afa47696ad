"""The reasoning that models write before an answer: how each family marks it, and taking it apart."""

from __future__ import annotations

from cactus_actors.reasoning.reasoning_markup import MARKUPS, ReasoningMarkup
from cactus_actors.reasoning.reasoning_splitters import split, splitter_of
from cactus_actors.reasoning.split import ReasoningSplitter, Split, Start

__all__ = ["MARKUPS", "ReasoningMarkup", "ReasoningSplitter", "Split", "Start", "split", "splitter_of"]
