"""How sequences end, and which tokens have text."""

from __future__ import annotations

from collections.abc import Collection

from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.workers.engine.detokenizer import Detokenizer, TextDelta
from cactus_actors.workers.engine.sequence import Sequence


class StopConditions:
    """The end tokens of a model: they have no text, and end what does not ignore them."""

    def __init__(self, eos_ids: Collection[int]) -> None:
        self.eos_ids = frozenset(eos_ids)

    def advance(self, sequence: Sequence, token_id: int) -> TextDelta:
        """Let the constraint and the text of a sequence go on by a token; returns what can be shown now."""
        if sequence.constraint is not None and token_id not in self.eos_ids:
            sequence.constraint.accept(token_id)
        return self.text_after(sequence.detokenizer, token_id)

    def text_after(self, detokenizer: Detokenizer, token_id: int) -> TextDelta:
        """What can be shown after this token."""
        if token_id in self.eos_ids:
            detokenizer.skip()
            return TextDelta()
        return detokenizer.feed(token_id)

    def finish_for(self, sequence: Sequence, token_id: int) -> Finish | None:
        """Why the sequence ends with this token, or None; what obeys a constraint ignores no end token."""
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
    """The end of a sequence that may have no more tokens: by the context's end, or by its own limit."""
    return Finish("model_length" if sequence.num_tokens >= sequence.max_context else "length")
