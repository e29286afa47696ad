"""Builds the deltas of sequences after a step."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence as Ordered
from itertools import accumulate

from msgspec.structs import replace

from cactus_actors.protocol.errors import CactusError, ModelFailure
from cactus_actors.protocol.worker_messages import Finish, SequenceDelta, SequenceExtras
from cactus_actors.workers.engine.detokenizer import TextDelta
from cactus_actors.workers.engine.sampler import Sample, Samples
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.step_batch import SequenceChunk

_log = logging.getLogger(__name__)


def sequence_delta(
    sequence: Sequence,
    position: int,
    samples: Ordered[Sample],
    texts: Ordered[TextDelta],
    finish: Finish | None,
    extras: SequenceExtras | None,
) -> SequenceDelta:
    """The delta of new tokens from `position` on, with new or changed reasoning flags of the last tokens.

    `texts` has the text that each token released, and may have more, which its end released.
    """
    (text, thought), cuts, reasoning_cuts = texts[0] if texts else TextDelta(), [], []
    if len(texts) > 1:
        answers, thoughts = zip(*texts, strict=True)
        text, thought = "".join(answers), "".join(thoughts)
        num_cuts = max(0, len(samples) - 1)
        cuts = [*accumulate(map(len, answers[:num_cuts]))]
        reasoning_cuts = [*accumulate(map(len, thoughts[:num_cuts]))] if thought else []
    reasoning = sequence.detokenizer.reasoning
    return SequenceDelta(
        sequence.dispatch_id,
        position,
        [sample.token_id for sample in samples],
        text,
        [sample.entropy for sample in samples],
        [sample.logprob for sample in samples],
        sequence.num_cached_prompt_tokens or 0,
        finish,
        cuts,
        extras,
        thought,
        reasoning_cuts,
        [] if reasoning is None else reasoning.take_flags(),
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
    return sequence_delta(sequence, sequence.num_completion_tokens, [], [sequence.detokenizer.flush()], finish, extras)


def empty_final_delta(dispatch_id: int, position: int, finish: Finish) -> SequenceDelta:
    """A final delta without tokens and text."""
    return SequenceDelta(dispatch_id, position, [], "", [], [], finish=finish)
