"""Samples the next token of each sequence whose known tokens are computed."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Ordered
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.sampling_rows import SamplingRowsBuilder
from cactus_actors.workers.engine.step_batch import SequenceChunk
from cactus_actors.workers.kernels.compile_cache import compile_lock
from cactus_actors.workers.kernels.logit_chunks import logit_stats_width
from cactus_actors.workers.kernels.machine_code import Code, MachineCode
from cactus_actors.workers.kernels.sampling import (
    SamplingInputs,
    SamplingOutputs,
    logit_stats_of_rows,
    sample_rows,
)
from cactus_actors.workers.kernels.sampling_scratch import OUTCOME, new_scratch


class Sample(NamedTuple):
    """The result of one row, in the order of OUTCOME; other fields are undefined if it is not finite."""

    token_id: int
    entropy: float  # of the raw softmax, in units of ln V
    logprob: float  # of the token, from the raw softmax
    is_finite: bool
    mu: float  # state of mirostat after the token


@dataclass(frozen=True)
class Samples:
    """Sampled tokens, one entry a row; the row of a prompt token has the token that follows it."""

    rows: NDArray[Any]  # (rows,) OUTCOME
    top_ids: NDArray[np.int32]  # (rows, most that any row requests), -1 after the last
    top_logprobs: NDArray[np.float64]  # the same shape

    def of(self, first_row: int, num_rows: int) -> list[Sample]:
        return self._each[first_row : first_row + num_rows]

    @cached_property
    def _each(self) -> list[Sample]:
        return list(map(Sample._make, self.rows.tolist()))

    def top(self, row: int) -> list[tuple[int, float]]:
        """The most likely tokens of a row and their log probabilities, in descending order."""
        pairs = zip(self.top_ids[row].tolist(), self.top_logprobs[row].tolist(), strict=True)
        return [(token_id, logprob) for token_id, logprob in pairs if token_id >= 0]


class Sampler:
    """Samples the rows of a step by the rules of each row's sequence (see `sample_rows`).

    Randomness is a function of (seed, choice, position), so a token does not depend on earlier steps.
    """

    def __init__(self, end_ids: Iterable[int]) -> None:
        self._end_ids = np.array(sorted(end_ids), dtype=np.int32)
        self._scratch = new_scratch(1, self._end_ids.size)
        self._sample_rows = self._compiled()

    def sample(
        self,
        logits: NDArray[np.float32],
        chunks: Ordered[SequenceChunk],
        logit_stats: NDArray[np.float32] | None = None,
    ) -> Samples:
        """One token for each row of `logits` (rows, V), which belong to `chunks` as in their Batch.

        A row after drafts is sampled as if the drafts were tokens of the sequence. `logits` is written to
        during the call and restored. `logit_stats` are those of the rows, if known.
        """
        builder = SamplingRowsBuilder(self._end_ids)
        for chunk in chunks:
            if chunk.prompt_rows:
                first = chunk.sequence.num_computed_tokens + 1
                rows = chunk.prompt_rows
                for token_id in chunk.sequence.span(first + rows.start, first + rows.stop).tolist():
                    builder.add_given(chunk.sequence, token_id)
            for num_drafts in range(chunk.num_rows):
                builder.add_sampled(chunk.sequence, num_drafts)
        # One type for compiled code, whatever the model's padding.
        logits = np.ascontiguousarray(logits)
        if logit_stats is None:
            logit_stats = np.empty((len(logits), logit_stats_width(logits.shape[1])), np.float32)
            logit_stats_of_rows(logits, logit_stats)
        inputs = builder.rows(logits.shape[1])
        arguments = self._arguments(logits, np.ascontiguousarray(logit_stats), inputs, builder.max_top)
        self._sample_rows(*arguments)
        return Samples(*arguments[-1])

    def _compiled(self) -> Code:
        """The compiled sampler; the types of its arguments are always the same."""
        no_logit_stats = np.zeros((0, logit_stats_width(1)), np.float32)
        no_rows = SamplingRowsBuilder(self._end_ids).rows(1)
        arguments = self._arguments(np.zeros((0, 1), np.float32), no_logit_stats, no_rows, 0)
        with compile_lock(sample_rows):
            return MachineCode(sample_rows).of(*arguments)

    def _arguments(
        self, logits: NDArray[np.float32], logit_stats: NDArray[np.float32], rows: SamplingInputs, max_top: int
    ) -> tuple[Any, ...]:
        """Those of `sample_rows`, the outcomes last."""
        num_rows = len(rows.options)
        if logits.shape[1] != self._scratch.weights.size:
            self._scratch = new_scratch(logits.shape[1], self._end_ids.size)
        top_ids = np.empty((num_rows, max_top), np.int32)
        if max_top:
            top_ids.fill(-1)
        outcomes = SamplingOutputs(np.empty(num_rows, OUTCOME), top_ids, np.empty((num_rows, max_top)))
        return logits, logit_stats, rows, self._end_ids, self._scratch, outcomes
