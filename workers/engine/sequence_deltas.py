"""Builds the deltas of sequences after a step."""

from __future__ import annotations

import logging
import math

from msgspec.structs import replace

from cactus_actors.protocol.errors import CactusError, ModelFailure
from cactus_actors.protocol.worker_messages import Finish, SequenceDelta, SequenceExtras
from cactus_actors.workers.engine.detokenizer import TextDelta
from cactus_actors.workers.engine.sampler import Sample, Samples
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.step_batch import SequenceChunk

_log = logging.getLogger(__name__)


class DeltaBuilder:
    """Collects the new tokens of a sequence in one step, with their text and log probabilities."""

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence
        self._position = sequence.num_completion_tokens
        self._token_ids: list[int] = []
        self._entropies: list[float] = []
        self._logprobs: list[float] = []
        self._cuts: list[int] = []
        self._reasoning_cuts: list[int] = []
        self._text = self._reasoning = ""

    def __len__(self) -> int:
        return len(self._token_ids)

    def add(self, sample: Sample, shown: TextDelta) -> None:
        """Add a token and the text released by it."""
        if self._token_ids:
            self._cuts.append(len(self._text))
            self._reasoning_cuts.append(len(self._reasoning))
        self._token_ids.append(sample.token_id)
        self._entropies.append(sample.entropy)
        self._logprobs.append(sample.logprob)
        self._sequence.mirostat_mu = sample.mu
        self.add_text(shown)

    def add_text(self, shown: TextDelta) -> None:
        self._text += shown.text
        self._reasoning += shown.reasoning

    def delta(self, finish: Finish | None, extras: SequenceExtras | None) -> SequenceDelta:
        """The delta, with new or changed reasoning flags of the last tokens."""
        reasoning = self._sequence.detokenizer.reasoning
        return SequenceDelta(
            dispatch_id=self._sequence.dispatch_id,
            position=self._position,
            token_ids=self._token_ids,
            text=self._text,
            entropies=self._entropies,
            logprobs=self._logprobs,
            cached_tokens=self._sequence.num_cached_prompt_tokens or 0,
            finish=finish,
            cuts=self._cuts,
            extras=extras,
            reasoning=self._reasoning,
            reasoning_cuts=self._reasoning_cuts if self._reasoning else [],
            reasoning_flags=[] if reasoning is None else reasoning.take_flags(),
        )


def extras_for(
    sequence: Sequence, samples: Samples, rows: range, prompt_extras: SequenceExtras | None
) -> SequenceExtras | None:
    """Extras of the tokens of these rows, added to those of the prompt."""
    extras = prompt_extras
    if sequence.uses_mirostat:
        extras = replace(extras or SequenceExtras(), mirostat_mu=sequence.mirostat_mu)
    if sequence.prompt_states is not None and rows:
        extras = replace(extras or SequenceExtras(), prompt_states=sequence.prompt_states)
        sequence.prompt_states = None
    if sequence.params.num_logprobs > 0 and rows:
        extras = replace(extras or SequenceExtras(), top=[samples.top(row) for row in rows])
    return extras


def prompt_logprobs(chunk: SequenceChunk, samples: Samples, first_row: int) -> SequenceExtras | None:
    """Log probabilities of the prompt tokens of the chunk's rows; None if all are reported.

    Raises ModelFailure where logits are not finite.
    """
    sequence = chunk.sequence
    position = sequence.num_reported_prompt_tokens
    if position == sequence.num_prompt_tokens:
        return None
    rows = samples.of(first_row, len(chunk.prompt_rows))
    logprobs: list[tuple[float, list[tuple[int, float]]]] = []
    if position == 0:
        logprobs.append((math.nan, []))  # the first token has no probability
    if not all(row.is_finite for row in rows):
        raise ModelFailure("the logits are not finite")
    logprobs += [(row.logprob, samples.top(first_row + place)) for place, row in enumerate(rows)]
    sequence.num_reported_prompt_tokens += len(logprobs)
    return SequenceExtras(prompt=logprobs, prompt_position=position) if logprobs else None


def error_finish(error: Exception, what: str = "a dispatch failed") -> Finish:
    """The finish of a sequence by an error; other errors than CactusError are logged and become ModelFailure."""
    if not isinstance(error, CactusError):
        _log.error(what, exc_info=error)
        error = ModelFailure(f"{what}: {type(error).__name__}")
    return Finish("error", error=error.info())


def final_delta(sequence: Sequence, finish: Finish, extras: SequenceExtras | None = None) -> SequenceDelta:
    """The final delta of a sequence without new tokens, with the text held back."""
    tokens = DeltaBuilder(sequence)
    tokens.add_text(sequence.detokenizer.flush())
    return tokens.delta(finish, extras)


def empty_final_delta(dispatch_id: int, position: int, finish: Finish) -> SequenceDelta:
    """A final delta without tokens and text."""
    return SequenceDelta(dispatch_id, position, [], "", [], [], finish=finish)
