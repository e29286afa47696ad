"""Choosing the next token of every sequence that reached its end."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Ordered
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.batch import Chunk
from workers.kernels.compiling import compiling_alone, fingerprint
from workers.kernels.sampling import SAMPLING_ROW, compiled_sampler, new_scratch
from workers.sequence import Sequence

_NO_TOKENS = np.empty(0, dtype=np.int32)


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
        self._scratch = new_scratch(1, self._end_ids.size)
        self._sample_rows = compiled_sampler(fingerprint())
        with compiling_alone(self._sample_rows):
            self._run(
                np.zeros((1, 1), np.float32),
                [bytes(SAMPLING_ROW.itemsize)],
                [0],
                [False],
                [_NO_TOKENS],
            )

    def sample(self, logits: NDArray[np.float32], chunks: Ordered[Chunk]) -> Samples:
        """One token for each row of `logits` (rows, V), which belong to `chunks` in this order.

        A row after drafts is sampled as if they were the sequence's tokens. `logits` is written to meanwhile
        and is the same again on return.
        """
        rows: list[bytes] = []
        positions: list[int] = []
        masked: list[bool] = []
        windows: list[NDArray[np.int32]] = []
        for chunk in chunks:
            sequence, num_rows = chunk.sequence, chunk.num_rows
            first = sequence.num_completion_tokens
            if not sequence.sampling_row:
                sequence.sampling_row = sampling_row(sequence)
            for num_drafts in range(num_rows):
                rows.append(sequence.sampling_row)
                positions.append(first + num_drafts)
                masked.append(first + num_drafts < sequence.params.min_tokens)
                windows.append(penalty_window(sequence, num_drafts))
        return self._run(logits, rows, positions, masked, windows)

    def _run(
        self,
        logits: NDArray[np.float32],
        rows: list[bytes],
        positions: list[int],
        masked: list[bool],
        windows: list[NDArray[np.int32]],
    ) -> Samples:
        num_rows = len(rows)
        samples = Samples(
            token_ids=np.zeros(num_rows, dtype=np.int32),
            entropies=np.zeros(num_rows),
            logprobs=np.zeros(num_rows),
            finite=np.zeros(num_rows, dtype=np.bool_),
        )
        if logits.shape[1] != self._scratch.weights.size:
            self._scratch = new_scratch(logits.shape[1], self._end_ids.size)
        self._sample_rows(
            0,
            1,
            np.ascontiguousarray(logits),  # one type for compiled code, whatever the model's padding
            np.frombuffer(b"".join(rows), dtype=SAMPLING_ROW),
            np.array(positions, dtype=np.int64),
            np.array(masked, dtype=np.bool_),
            self._end_ids,
            np.concatenate([_NO_TOKENS, *windows]),
            np.cumsum([window.size for window in windows], dtype=np.int64),
            self._scratch,
            samples.token_ids,
            samples.entropies,
            samples.logprobs,
            samples.finite,
        )
        return samples


def sampling_row(sequence: Sequence) -> bytes:
    """The SAMPLING_ROW of a sequence."""
    params = sequence.params
    row = (
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
    return np.array(row, dtype=SAMPLING_ROW).tobytes()


def penalty_window(sequence: Sequence, num_drafts: int = 0) -> NDArray[np.int32]:
    """The last `repeat_last_n` tokens of prompt, completion and drafts; none where no penalty is in force."""
    params = sequence.params
    penalises = params.repeat_penalty != 1.0 or params.presence_penalty or params.frequency_penalty
    if not penalises or params.repeat_last_n == 0:
        return _NO_TOKENS
    stop = sequence.num_tokens + num_drafts
    start = 0 if params.repeat_last_n < 0 else max(0, stop - params.repeat_last_n)
    return sequence.span(start, stop)
