"""What is said about a sequence that ends without a new token."""

from __future__ import annotations

from cactus_actors.protocol.errors import CactusError, ModelFailure
from cactus_actors.protocol.worker_messages import Finish, SequenceDelta, SequenceExtras
from workers.sequence import Sequence


def failure(error: Exception, what: str = "a dispatch failed") -> Finish:
    """The end of a sequence by an error; one that is no CactusError is the model's."""
    if not isinstance(error, CactusError):
        error = ModelFailure(f"{what}: {type(error).__name__}: {error}")
    return Finish("error", error=error.info())


def last_delta_of(sequence: Sequence, finish: Finish, extras: SequenceExtras | None = None) -> SequenceDelta:
    """The last delta of a sequence, with the text that was held back."""
    text = sequence.detokenizer.flush()
    cached_tokens = sequence.num_cached_prompt_tokens or 0
    return last_delta(
        sequence.dispatch_id, sequence.num_completion_tokens, finish, text, cached_tokens, extras
    )


def last_delta(
    dispatch_id: int,
    position: int,
    finish: Finish,
    text: str = "",
    cached_tokens: int = 0,
    extras: SequenceExtras | None = None,
) -> SequenceDelta:
    """A last delta without tokens."""
    return SequenceDelta(dispatch_id, position, [], text, [], [], cached_tokens, finish, extras=extras)
