"""Which tokens of a sequence are reasoning, and where a budget ends it."""

from __future__ import annotations

from cactus_actors.protocol.sampling_params import UNLIMITED, ReasoningParams
from cactus_actors.reasoning import Split, splitter_of

MAX_REST_OF_CHARACTER = 3
"""Tokens by which reasoning may be longer than its budget, so that no character is cut."""


class ReasoningTracker:
    """Takes the text of each token in turn; what it says follows from the tokens alone.

    A token is reasoning if the text is in it, or in a message's heading, before or after the token: the marks
    count as well. Where that is not certain at once the token is taken for reasoning and told again.
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
        self._first_untold: int | None = None

    @property
    def forced_id(self) -> int | None:
        """The token that must come next, because the reasoning is as long as it may be."""
        if self._num_forced:
            return self._close_ids[self._num_forced]
        if self._budget == UNLIMITED or self._splitter.state != "reasoning":
            return None
        slack = 0 if self._is_whole else MAX_REST_OF_CHARACTER
        return self._close_ids[0] if self._num_tokens >= self._budget + slack else None

    @property
    def may_force(self) -> bool:
        """Whether a token may yet be forced."""
        return self._budget != UNLIMITED and not self._splitter.is_over

    def feed(self, text: str, *, is_whole: bool) -> Split:
        """Go on by a token, which added `text`; `is_whole` says that no character is begun."""
        before, is_forced = self._splitter.state, self.forced_id is not None
        told = self._splitter.feed(text)
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
        return told

    def finish(self, text: str) -> Split:
        """The rest, when the last token has come and left `text`."""
        first, last = self._splitter.feed(text), self._splitter.finish()
        self._settle(is_reasoning=self._splitter.has_reasoned)
        return Split(first.reasoning + last.reasoning, first.text + last.text)

    def told(self) -> list[int]:
        """1 for each of the last tokens that is reasoning, as far back as there is something new to tell."""
        flags = [] if self._first_untold is None else list(self._flags[self._first_untold :])
        self._first_untold = None
        return flags

    def _note(self, *, is_reasoning: bool, is_certain: bool) -> None:
        """Count a token."""
        self._flags.append(is_reasoning)
        self._num_uncertain += not is_certain
        if is_reasoning:
            self._tell_from(len(self._flags) - 1)

    def _settle(self, *, is_reasoning: bool) -> None:
        """What was uncertain is known now."""
        if self._num_uncertain and not is_reasoning:
            first = len(self._flags) - self._num_uncertain
            self._flags[first:] = bytes(self._num_uncertain)
            self._tell_from(first)
        self._num_uncertain = 0

    def _tell_from(self, index: int) -> None:
        self._first_untold = index if self._first_untold is None else min(index, self._first_untold)
