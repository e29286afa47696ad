"""The splitter of each markup."""

from __future__ import annotations

from cactus_actors.reasoning.channels import ChannelSplitter
from cactus_actors.reasoning.reasoning_markup import MARKUPS
from cactus_actors.reasoning.split import ReasoningSplitter, Split, Start
from cactus_actors.reasoning.tags import TagSplitter


def splitter_of(markup: str, *, start: Start = "undecided", keeps_space: bool = False) -> ReasoningSplitter:
    """A splitter of the markup of that name, for an answer that begins at `start`.

    With `keeps_space` the answer is the exact text after the marks.
    """
    known = MARKUPS[markup]
    if known.has_channels:
        return ChannelSplitter(start)
    return TagSplitter(known, start, keeps_space=keeps_space)


def split(markup: str, text: str, *, start: Start = "undecided") -> Split:
    """The reasoning and the answer of a whole text."""
    splitter = splitter_of(markup, start=start)
    first, last = splitter.feed(text), splitter.finish()
    return Split(first.reasoning + last.reasoning, first.text + last.text)
