"""Conditions that end a sequence."""

from __future__ import annotations

from collections.abc import Collection

from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.workers.engine.detokenizer import TextDelta
from cactus_actors.workers.engine.sequence import Sequence


class StopConditions:
    """Finish reasons of sequences; end tokens have no text and end sequences without `ignore_eos`."""

    def __init__(self, eos_ids: Collection[int]) -> None:
        self.eos_ids = frozenset(eos_ids)

    def advance(self, sequence: Sequence, token_id: int) -> TextDelta:
        """Advance the constraint and the detokenizer of a sequence by a token; returns the new text."""
        if token_id in self.eos_ids:
            sequence.detokenizer.skip()
            return TextDelta()
        if sequence.constraint is not None:
            sequence.constraint.accept(token_id)
        return sequence.detokenizer.feed(token_id)

    def finish_for(self, sequence: Sequence, token_id: int) -> Finish | None:
        """The finish of a sequence after this token, or None; constrained sequences never ignore end tokens."""
        if sequence.detokenizer.stop_match is not None:
            return Finish("stop", stop_match=sequence.detokenizer.stop_match)
        constraint = sequence.constraint
        if token_id in self.eos_ids and not (sequence.params.ignore_eos and constraint is None):
            return Finish("stop", stop_match=token_id)
        if constraint is not None and constraint.is_finished:
            return Finish("stop")
        if sequence.num_tokens_left <= 0:
            return length_finish(sequence)
        return None


def length_finish(sequence: Sequence) -> Finish:
    """The finish of a sequence at the end of the context or at its own token limit."""
    return Finish("model_length" if sequence.num_tokens >= sequence.max_context else "length")
