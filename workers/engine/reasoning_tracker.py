"""Reasoning tokens of a sequence, and the thinking budget."""

from __future__ import annotations

from cactus_actors.protocol.sampling_params import UNLIMITED, ReasoningParams
from cactus_actors.reasoning import Split, splitter_of

MAX_REST_OF_CHARACTER = 3
"""Tokens by which reasoning may exceed its budget, so that no character is cut."""


class ReasoningTracker:
    """Takes the text of each token in turn; its state depends on the tokens alone.

    A token is reasoning if the text before or after it is inside reasoning or a message heading; marks count as
    well. An uncertain token counts as reasoning and is reported again when it is certain.
    """

    def __init__(self, params: ReasoningParams) -> None:
        self._splitter = splitter_of(params.markup, start=params.start, keeps_space=params.keeps_space)
        self._budget = params.budget
        self._close_ids = params.close_ids
        self._num_tokens = 0  # of reasoning between its marks
        self._num_forced = 0
        self._is_whole = True
        self._flags = bytearray()
        self._num_uncertain = 0
        self._first_unreported: int | None = None

    @property
    def forced_id(self) -> int | None:
        """The token that must come next, because the budget is spent; None otherwise."""
        if self._num_forced:
            return self._close_ids[self._num_forced]
        if self._budget == UNLIMITED or self._splitter.state != "reasoning":
            return None
        slack = 0 if self._is_whole else MAX_REST_OF_CHARACTER
        return self._close_ids[0] if self._num_tokens >= self._budget + slack else None

    @property
    def may_force(self) -> bool:
        """True if a token may still be forced."""
        return self._budget != UNLIMITED and not self._splitter.is_over

    def feed(self, text: str, *, is_whole: bool) -> Split:
        """Add a token with its text; `is_whole` is false in the middle of a character."""
        before, is_forced = self._splitter.state, self.forced_id is not None
        split = self._splitter.feed(text)
        after = self._splitter.state
        self._is_whole = is_whole
        if is_forced:
            self._num_forced = (self._num_forced + 1) % len(self._close_ids)
            if not self._num_forced and after == "reasoning":  # the vocabulary cannot write the mark
                self._budget = UNLIMITED
        elif before == "reasoning":
            self._num_tokens += 1
        if before == "undecided":
            is_reasoning = after != "answer" or self._splitter.has_reasoned
        else:
            is_reasoning = before != "answer" or after != "answer"
        if before == "undecided" != after:
            self._settle(is_reasoning=is_reasoning)
        self._note(is_reasoning=is_reasoning, is_certain=after != "undecided")
        return split

    def finish(self, text: str) -> Split:
        """The remaining text after the last token; `text` is the text held by the decoder."""
        first, last = self._splitter.feed(text), self._splitter.finish()
        self._settle(is_reasoning=self._splitter.has_reasoned)
        return Split(first.reasoning + last.reasoning, first.text + last.text)

    def take_flags(self) -> list[int]:
        """1 for each reasoning token, 0 for others, from the first token whose flag is new or changed."""
        flags = [] if self._first_unreported is None else list(self._flags[self._first_unreported :])
        self._first_unreported = None
        return flags

    def _note(self, *, is_reasoning: bool, is_certain: bool) -> None:
        self._flags.append(is_reasoning)
        self._num_uncertain += not is_certain
        if is_reasoning:
            self._report_from(len(self._flags) - 1)

    def _settle(self, *, is_reasoning: bool) -> None:
        """Settle the flags of uncertain tokens."""
        if self._num_uncertain and not is_reasoning:
            first = len(self._flags) - self._num_uncertain
            self._flags[first:] = bytes(self._num_uncertain)
            self._report_from(first)
        self._num_uncertain = 0

    def _report_from(self, index: int) -> None:
        self._first_unreported = index if self._first_unreported is None else min(index, self._first_unreported)
