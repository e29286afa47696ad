"""What is said about a sequence after a step."""

from __future__ import annotations

import math

from msgspec.structs import replace

from cactus_actors.protocol.errors import CactusError, ModelFailure
from cactus_actors.protocol.worker_messages import Finish, SequenceDelta, SequenceExtras
from workers.batch import Chunk
from workers.sampler import Samples
from workers.sequence import Sequence


class NewTokens:
    """The tokens that a step adds to a sequence, of the rows from `first_row` on, with all that is told."""

    def __init__(self, sequence: Sequence, samples: Samples, first_row: int) -> None:
        self._sequence = sequence
        self._samples = samples
        self._first_row = first_row
        self._position = sequence.num_completion_tokens
        self._num_tokens = 0
        self._cuts: list[int] = []
        self.text = ""

    def __len__(self) -> int:
        return self._num_tokens

    def add(self, text: str) -> None:
        """The next row's token, and the text that can be shown after it."""
        if self._num_tokens:
            self._cuts.append(len(self.text))
        self._sequence.mirostat_mu = float(self._samples.mus[self._first_row + self._num_tokens])
        self._num_tokens += 1
        self.text += text

    def delta(self, finish: Finish | None, told: SequenceExtras | None) -> SequenceDelta:
        """All of it, with what is told of the prompt."""
        sequence, samples = self._sequence, self._samples
        rows = slice(self._first_row, self._first_row + self._num_tokens)
        extras = told
        if sequence.is_steered:
            extras = replace(extras or SequenceExtras(), mirostat_mu=sequence.mirostat_mu)
        if sequence.params.num_logprobs > 0 and self._num_tokens:
            top = [samples.top(row) for row in range(rows.start, rows.stop)]
            extras = replace(extras or SequenceExtras(), top=top)
        return SequenceDelta(
            dispatch_id=sequence.dispatch_id,
            position=self._position,
            token_ids=samples.token_ids[rows].tolist(),
            text=self.text,
            entropies=samples.entropies[rows].tolist(),
            logprobs=samples.logprobs[rows].tolist(),
            cached_tokens=sequence.num_cached_prompt_tokens or 0,
            finish=finish,
            cuts=self._cuts,
            extras=extras,
        )


def prompt_told(chunk: Chunk, samples: Samples, first_row: int) -> SequenceExtras | None:
    """The log probabilities of the prompt's tokens that the chunk's rows tell of; None if they are told.

    Raises ModelFailure where logits are not finite.
    """
    sequence = chunk.sequence
    position = sequence.num_told_prompt_tokens
    rows = range(first_row, first_row + len(chunk.prompt_rows))
    told: list[tuple[float, list[tuple[int, float]]]] = []
    if position == 0:
        told.append((math.nan, []))  # nothing comes before the first token
    if not all(samples.finite[row] for row in rows):
        raise ModelFailure("the logits are not finite")
    told += [(float(samples.logprobs[row]), samples.top(row)) for row in rows]
    sequence.num_told_prompt_tokens += len(told)
    return SequenceExtras(prompt=told, prompt_position=position) if told else None


def delta_of(sequence: Sequence, extras: SequenceExtras) -> SequenceDelta:
    """A delta without tokens and without an end."""
    cached_tokens = sequence.num_cached_prompt_tokens or 0
    position = sequence.num_completion_tokens
    return SequenceDelta(sequence.dispatch_id, position, [], "", [], [], cached_tokens, extras=extras)


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
