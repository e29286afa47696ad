"""Reasoning that models write before an answer: the markup of each family, and its separation from the answer."""

from __future__ import annotations

from cactus_actors.reasoning.reasoning_markup import MARKUPS, ReasoningMarkup
from cactus_actors.reasoning.reasoning_splitters import split, splitter_of
from cactus_actors.reasoning.split import ReasoningSplitter, Split, Start

__all__ = ["MARKUPS", "ReasoningMarkup", "ReasoningSplitter", "Split", "Start", "split", "splitter_of"]
