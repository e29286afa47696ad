"""Choosing the next token of every sequence that reached its end."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Ordered
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.kernels.sampling import SAMPLING_ROW, sample_rows
from workers.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Samples:
    """What was sampled, one entry a row; where `finite` is False the row's other entries mean nothing."""

    token_ids: NDArray[np.int32]  # (rows,)
    entropies: NDArray[np.float64]  # (rows,) of the raw softmax, in units of ln V
    logprobs: NDArray[np.float64]  # (rows,) of the token, from the raw softmax
    finite: NDArray[np.bool_]  # (rows,)


class Sampler:
    """Penalties, top_k, top_p, min_p, then temperature, in llama.cpp's order; temperature 0 is the argmax.

    Randomness is a function of (seed, choice, position), so a token does not depend on what ran before.
    """

    def __init__(self, end_ids: Iterable[int]) -> None:
        self._end_ids = np.array(sorted(end_ids), dtype=np.int32)

    def sample(self, logits: NDArray[np.float32], sequences: Ordered[Sequence]) -> Samples:
        """One token for each row of `logits` (rows, V), which belong to `sequences` in this order.

        `logits` is written to meanwhile and is the same again on return.
        """
        windows = [penalty_window(sequence) for sequence in sequences]
        num_rows = len(sequences)
        samples = Samples(
            token_ids=np.zeros(num_rows, dtype=np.int32),
            entropies=np.zeros(num_rows),
            logprobs=np.zeros(num_rows),
            finite=np.zeros(num_rows, dtype=np.bool_),
        )
        if num_rows:
            sample_rows(
                np.ascontiguousarray(logits),  # whole cache lines, whatever the model's padding
                np.array([sampling_row(sequence) for sequence in sequences], dtype=SAMPLING_ROW),
                np.array([sequence.num_completion_tokens for sequence in sequences], dtype=np.int64),
                np.array([sequence.needs_more_tokens for sequence in sequences], dtype=np.bool_),
                self._end_ids,
                np.concatenate(windows),
                np.cumsum([window.size for window in windows]),
                samples.token_ids,
                samples.entropies,
                samples.logprobs,
                samples.finite,
            )
        return samples


def sampling_row(sequence: Sequence) -> tuple[float | int, ...]:
    """The SAMPLING_ROW of a sequence."""
    params = sequence.params
    return (
        params.temperature,
        params.top_p,
        params.min_p,
        params.repeat_penalty,
        params.presence_penalty,
        params.frequency_penalty,
        params.top_k,
        params.seed,
        sequence.choice,
    )


def penalty_window(sequence: Sequence) -> NDArray[np.int32]:
    """The last `repeat_last_n` tokens of prompt and completion; none where no penalty is in force."""
    params = sequence.params
    penalises = params.repeat_penalty != 1.0 or params.presence_penalty or params.frequency_penalty
    if not penalises or params.repeat_last_n == 0:
        return sequence.token_ids[:0]
    if params.repeat_last_n < 0:
        return sequence.token_ids
    return sequence.token_ids[-params.repeat_last_n :]
