"""Choosing the next token of every sequence that reached its end."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Ordered
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ModelFailure
from workers.batch import Chunk
from workers.kernels.compiling import compiling_alone, fingerprint
from workers.kernels.sampling import Outcomes, Rows, compiled_sampler
from workers.kernels.sampling_scratch import SAMPLING_ROW, new_scratch
from workers.sequence import Sequence

SHARED_LOGITS = 1 << 19
"""From so many logits on, another thread takes a part of the rows: waking it costs as much as some rows."""

_NO_TOKENS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Samples:
    """What was sampled, one entry a row; where `finite` is False the row's other entries mean nothing.

    A row of a prompt has the token that follows there.
    """

    token_ids: NDArray[np.int32]  # (rows,)
    entropies: NDArray[np.float64]  # (rows,) of the raw softmax, in units of ln V
    logprobs: NDArray[np.float64]  # (rows,) of the token, from the raw softmax
    finite: NDArray[np.bool_]  # (rows,)
    mus: NDArray[np.float64]  # (rows,) state of mirostat after the token
    top_ids: NDArray[np.int32]  # (rows, most that any row asks for), -1 behind the last
    top_logprobs: NDArray[np.float64]  # the same shape

    def top(self, row: int) -> list[tuple[int, float]]:
        """The likeliest tokens of a row and their log probabilities, in falling order."""
        pairs = zip(self.top_ids[row].tolist(), self.top_logprobs[row].tolist(), strict=True)
        return [(token_id, logprob) for token_id, logprob in pairs if token_id >= 0]


@dataclass(slots=True)
class _Wanted:
    """The rows of a step while they are gathered, in the form of `Rows`."""

    params: list[bytes] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    num_top: list[int] = field(default_factory=list)
    are_ends_forbidden: list[bool] = field(default_factory=list)
    mask_of_row: list[int] = field(default_factory=list)
    masks: list[NDArray[np.int32]] = field(default_factory=list)
    windows: list[NDArray[np.int32]] = field(default_factory=list)
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)
    bias_ids: list[NDArray[np.int32]] = field(default_factory=list)
    biases: list[NDArray[np.float64]] = field(default_factory=list)
    bias_ends: list[int] = field(default_factory=list)
    mus: list[float] = field(default_factory=list)
    num_window_tokens: int = 0
    num_biases: int = 0

    def add_given(self, sequence: Sequence, token_id: int) -> None:
        """A row that tells how likely this token of the prompt is."""
        self._add(sequence, 0, token_id)
        self.are_ends_forbidden.append(False)
        self.mask_of_row.append(-1)
        self.spans.append((0, 0, 0, 0))

    def add_sampled(self, sequence: Sequence, num_drafts: int, end_ids: NDArray[np.int32]) -> None:
        """A row that samples the token behind the sequence's known ones and so many drafts."""
        params, position = sequence.params, sequence.num_completion_tokens + num_drafts
        if sequence.bias_ids.size:
            self.bias_ids.append(sequence.bias_ids)
            self.biases.append(sequence.biases)
            self.num_biases += sequence.bias_ids.size
        self._add(sequence, position, -1)
        are_forbidden = position < params.min_tokens
        if sequence.constraint is None:
            self.mask_of_row.append(-1)
        else:
            is_finished = sequence.constraint.is_finished
            mask = mask_of(end_ids) if is_finished else sequence.constraint.bitmask()
            are_forbidden = may_go_on(mask, end_ids) and (are_forbidden or params.ignore_eos)
            self.mask_of_row.append(len(self.masks))
            self.masks.append(mask)
        self.are_ends_forbidden.append(are_forbidden)
        start, repeated, counted = self.num_window_tokens, *penalty_windows(sequence, num_drafts)
        if repeated is counted:
            stop = self._add_window(repeated)
            self.spans.append((start, stop, start, stop))
        else:
            middle, stop = self._add_window(repeated), self._add_window(counted)
            self.spans.append((start, middle, middle, stop))

    def rows(self, vocab_size: int) -> Rows:
        """All of them."""
        num_words = 2 * -(-vocab_size // 64)  # two words a chunk of the kernels
        masks = np.zeros((len(self.masks), num_words), dtype=np.int32)
        for row, mask in zip(masks, self.masks, strict=True):
            row[: mask.size] = mask[:num_words]
        return Rows(
            params=np.frombuffer(b"".join(self.params), dtype=SAMPLING_ROW),
            positions=np.array(self.positions, dtype=np.int64),
            given=np.array(self.given, dtype=np.int32),
            num_top=np.array(self.num_top, dtype=np.int32),
            are_ends_forbidden=np.array(self.are_ends_forbidden, dtype=np.bool_),
            mask_of_row=np.array(self.mask_of_row, dtype=np.int32),
            masks=masks,
            windows=np.concatenate([_NO_TOKENS, *self.windows]),
            spans=np.array(self.spans, dtype=np.int64).reshape(-1, 4),
            bias_ids=np.concatenate([_NO_TOKENS, *self.bias_ids]),
            biases=np.concatenate([np.empty(0), *self.biases]),
            bias_ends=np.array(self.bias_ends, dtype=np.int64),
            mus=np.array(self.mus, dtype=np.float64),
        )

    def _add(self, sequence: Sequence, position: int, given: int) -> None:
        if not sequence.sampling_row:
            sequence.sampling_row = sampling_row(sequence)
        self.params.append(sequence.sampling_row)
        self.positions.append(position)
        self.given.append(given)
        self.num_top.append(max(0, sequence.params.num_logprobs))
        self.bias_ends.append(self.num_biases)
        self.mus.append(sequence.mirostat_mu)

    def _add_window(self, window: NDArray[np.int32]) -> int:
        if window.size:
            self.windows.append(window)
            self.num_window_tokens += window.size
        return self.num_window_tokens


class Sampler:
    """Samples the rows of a step by the rules of each row's sequence (see `compiled_sampler`).

    Randomness is a function of (seed, choice, position), so a token does not depend on what ran before, nor
    on how many of the `threads` take part.
    """

    def __init__(self, end_ids: Iterable[int], threads: int = 1) -> None:
        self._end_ids = np.array(sorted(end_ids), dtype=np.int32)
        self._scratch = [new_scratch(1, self._end_ids.size) for _ in range(threads)]
        self._others = ThreadPoolExecutor(threads - 1, "sampler") if threads > 1 else None
        self._sample_rows = compiled_sampler(fingerprint())
        with compiling_alone(self._sample_rows):
            nothing = _Wanted().rows(1)
            self._sample_rows(
                0, 1, np.zeros((0, 1), np.float32), nothing, self._end_ids, self._scratch[0], _outcomes(0, 0)
            )

    def sample(self, logits: NDArray[np.float32], chunks: Ordered[Chunk]) -> Samples:
        """One token for each row of `logits` (rows, V), which belong to `chunks` as in their Batch.

        A row after drafts is sampled as if they were the sequence's tokens. `logits` is written to meanwhile
        and is the same again on return.
        """
        wanted = _Wanted()
        for chunk in chunks:
            sequence, first = chunk.sequence, chunk.sequence.num_computed_tokens
            if chunk.prompt_rows:
                following = sequence.span(
                    first + chunk.prompt_rows.start + 1, first + chunk.prompt_rows.stop + 1
                )
                for token_id in following.tolist():
                    wanted.add_given(sequence, token_id)
            for num_drafts in range(chunk.num_rows):
                wanted.add_sampled(sequence, num_drafts, self._end_ids)
        outcomes = _outcomes(len(wanted.params), max(wanted.num_top, default=0))
        if wanted.params:
            logits = np.ascontiguousarray(logits)  # one type for compiled code, whatever the model's padding
            self._run(logits, wanted.rows(logits.shape[1]), outcomes)
        return Samples(*outcomes)

    def _run(self, logits: NDArray[np.float32], rows: Rows, outcomes: Outcomes) -> None:
        num_rows, vocab_size = logits.shape
        if vocab_size != self._scratch[0].weights.size:
            self._scratch = [new_scratch(vocab_size, self._end_ids.size) for _ in self._scratch]
        is_shared = self._others is not None and num_rows > 1 and logits.size >= SHARED_LOGITS
        size = min(len(self._scratch), num_rows) if is_shared else 1

        def run(rank: int) -> None:
            self._sample_rows(rank, size, logits, rows, self._end_ids, self._scratch[rank], outcomes)

        helping = self._others.map(run, range(1, size)) if self._others is not None and size > 1 else ()
        run(0)
        for _ in helping:
            pass


def _outcomes(num_rows: int, num_top: int) -> Outcomes:
    return Outcomes(
        token_ids=np.zeros(num_rows, dtype=np.int32),
        entropies=np.zeros(num_rows),
        logprobs=np.zeros(num_rows),
        finite=np.zeros(num_rows, dtype=np.bool_),
        mus=np.zeros(num_rows),
        top_ids=np.full((num_rows, num_top), -1, dtype=np.int32),
        top_logprobs=np.zeros((num_rows, num_top)),
    )


def sampling_row(sequence: Sequence) -> bytes:
    """The SAMPLING_ROW of a sequence."""
    params = sequence.params
    row = (
        params.temperature,
        params.top_p,
        params.min_p,
        params.typical_p,
        params.repeat_penalty,
        params.presence_penalty,
        params.frequency_penalty,
        params.mirostat_tau,
        params.mirostat_eta,
        params.mirostat,
        params.top_k,
        params.seed,
        sequence.choice,
    )
    return np.array(row, dtype=SAMPLING_ROW).tobytes()


def mask_of(token_ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The mask that lets these tokens come."""
    mask = np.zeros(int(token_ids.max(initial=-1)) // 32 + 1, dtype=np.int32)
    np.bitwise_or.at(mask, token_ids // 32, np.int32(1) << token_ids % 32)
    return mask


def may_go_on(mask: NDArray[np.int32], end_ids: NDArray[np.int32]) -> bool:
    """Whether a mask allows anything but ends; raises ModelFailure if it allows nothing."""
    words, ends = mask.copy(), end_ids[end_ids < 32 * mask.size]
    np.bitwise_and.at(words, ends // 32, ~(np.int32(1) << ends % 32))
    if words.any():
        return True
    if not mask.any():
        raise ModelFailure("the text can neither go on nor end as it was asked to")
    return False


def penalty_windows(sequence: Sequence, num_drafts: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What repeat_penalty sees, and what presence and frequency count, of prompt, completion and drafts.

    The last `repeat_last_n` tokens for all three, but where the prompt is not penalised the latter count the
    whole completion. Empty where a rule is off.
    """
    params = sequence.params
    repeats = params.repeat_penalty != 1.0
    counts = params.presence_penalty != 0.0 or params.frequency_penalty != 0.0
    if not repeats and not counts:
        return _NO_TOKENS, _NO_TOKENS
    stop = sequence.num_tokens + num_drafts
    start = 0 if params.repeat_last_n < 0 else max(0, stop - params.repeat_last_n)
    window = sequence.span(start, stop)
    completion = sequence.span(sequence.num_prompt_tokens, stop)
    counted = window if params.penalise_prompt else completion
    if repeats and counts:
        return window, counted
    return (window, _NO_TOKENS) if repeats else (_NO_TOKENS, counted)
