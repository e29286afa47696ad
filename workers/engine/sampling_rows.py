"""Builds the input of the compiled sampler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.token_constraint import TokenConstraint
from cactus_actors.workers.kernels.sampling import SamplingInputs
from cactus_actors.workers.kernels.sampling_scratch import PARAMETERS, SAMPLING_ROW

_NO_MASKS = np.empty((0, 0), dtype=np.int32)
_NO_TOKENS = np.empty(0, dtype=np.int32)
_NO_BIASES = np.empty(0, dtype=np.float64)
_WORDS_PER_CHUNK = 2  # of the chunks of logits


class SamplingRowsBuilder:
    """Collects the rows of a step; most rows of a sequence differ in their position only."""

    def __init__(self, end_ids: NDArray[np.int32]) -> None:
        self._end_ids = end_ids
        self._static: list[bytes] = []
        self._positions: list[int] = []
        self._special: list[tuple[int, str, float]] = []  # row, field, value
        self._masks: list[NDArray[np.int32]] = []
        self._windows: list[NDArray[np.int32]] = []
        self._bias_ids: list[NDArray[np.int32]] = []
        self._biases: list[NDArray[np.float64]] = []
        self._num_window_tokens = self._num_biases = 0
        self.max_top = 0

    def add_given(self, sequence: Sequence, token_id: int) -> None:
        """Add a row that computes the log probability of this token of the prompt."""
        self._add(sequence, 0)
        self._set(given=token_id)

    def add_sampled(self, sequence: Sequence, num_drafts: int) -> None:
        """Add a row that samples the token after the known tokens and `num_drafts` drafts."""
        position = sequence.num_completion_tokens + num_drafts
        self._add(sequence, position)
        if sequence.has_token_rules:
            self._add_rules(sequence, position, num_drafts)

    def rows(self, vocab_size: int) -> SamplingInputs:
        options = np.frombuffer(bytearray().join(self._static), dtype=SAMPLING_ROW)
        options["position"] = self._positions
        for row, name, value in self._special:
            options[name][row] = value
        return SamplingInputs(
            options,
            self._padded_masks(vocab_size) if self._masks else _NO_MASKS,
            np.concatenate(self._windows) if self._windows else _NO_TOKENS,
            np.concatenate(self._bias_ids) if self._bias_ids else _NO_TOKENS,
            np.concatenate(self._biases) if self._biases else _NO_BIASES,
        )

    def _add_rules(self, sequence: Sequence, position: int, num_drafts: int) -> None:
        """Complete the last row, of a sequence whose rows differ in more than their position."""
        params = sequence.params
        if sequence.uses_mirostat:
            self._set(mu=sequence.mirostat_mu)
        if (forced_id := sequence.forced_id) is not None:  # no other token is allowed, so no rule applies
            self._set_mask(mask_allowing(np.array([forced_id], dtype=np.int32)))
            return
        if sequence.bias_ids.size:
            self._add_biases(sequence)
        if sequence.uses_penalties:
            self._add_windows(sequence, num_drafts)
        are_forbidden = position < params.min_tokens
        if sequence.constraint is not None:
            mask = self._add_mask(sequence.constraint)
            are_forbidden = (are_forbidden or params.ignore_eos) and allows_more_than_ends(mask, self._end_ids)
        if are_forbidden:
            self._set(are_ends_forbidden=True)

    def _padded_masks(self, vocab_size: int) -> NDArray[np.int32]:
        masks = np.zeros((len(self._masks), _WORDS_PER_CHUNK * -(-vocab_size // 64)), dtype=np.int32)
        for words, mask in zip(masks, self._masks, strict=True):
            words[: mask.size] = mask[: words.size]
        return masks

    def _add(self, sequence: Sequence, position: int) -> None:
        if not sequence.sampling_row:
            sequence.sampling_row = sampling_row(sequence)
        self._static.append(sequence.sampling_row)
        self._positions.append(position)
        self.max_top = max(self.max_top, sequence.params.num_logprobs)

    def _set(self, **fields: float) -> None:
        """Set fields of the last row."""
        self._special += [(len(self._static) - 1, name, value) for name, value in fields.items()]

    def _add_biases(self, sequence: Sequence) -> None:
        first = self._num_biases
        self._bias_ids.append(sequence.bias_ids)
        self._biases.append(sequence.biases)
        self._num_biases += sequence.bias_ids.size
        self._set(first_bias=first, end_bias=self._num_biases)

    def _add_windows(self, sequence: Sequence, num_drafts: int) -> None:
        repeated, counted = penalty_windows(sequence, num_drafts)
        first, middle = self._num_window_tokens, self._num_window_tokens + repeated.size
        self._num_window_tokens = middle + counted.size
        self._windows += [repeated, counted]
        self._set(first_repeated=first, end_repeated=middle)
        self._set(first_counted=middle, end_counted=self._num_window_tokens)

    def _add_mask(self, constraint: TokenConstraint) -> NDArray[np.int32]:
        mask = mask_allowing(self._end_ids) if constraint.is_finished else constraint.bitmask()
        if not mask.any():
            raise ModelFailure("the constraint allows no token here, not even the end")
        self._set_mask(mask)
        return mask

    def _set_mask(self, mask: NDArray[np.int32]) -> None:
        self._set(mask=len(self._masks))
        self._masks.append(mask)


def sampling_row(sequence: Sequence) -> bytes:
    """The SAMPLING_ROW of a sequence with default values of the fields of one row."""
    params = sequence.params
    row = np.zeros((), dtype=SAMPLING_ROW)
    for name, _ in PARAMETERS:
        row[name] = getattr(params, name)
    row["choice"], row["num_top"] = sequence.choice, max(0, params.num_logprobs)
    row["given"] = row["mask"] = -1
    row["mu"] = sequence.mirostat_mu
    return row.tobytes()


def mask_allowing(token_ids: NDArray[np.int32]) -> NDArray[np.int32]:
    mask = np.zeros(int(token_ids.max(initial=-1)) // 32 + 1, dtype=np.int32)
    np.bitwise_or.at(mask, token_ids // 32, np.int32(1) << token_ids % 32)
    return mask


def allows_more_than_ends(mask: NDArray[np.int32], end_ids: NDArray[np.int32]) -> bool:
    """True if a mask allows a token that is not an end token."""
    words, ends = mask.copy(), end_ids[end_ids < 32 * mask.size]
    np.bitwise_and.at(words, ends // 32, ~(np.int32(1) << ends % 32))
    return bool(words.any())


def penalty_windows(sequence: Sequence, num_drafts: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The tokens under repeat_penalty, and those counted by presence and frequency penalties.

    All three use the last `repeat_last_n` tokens; without `penalise_prompt` the latter two count the whole
    completion. Empty where a penalty is off.
    """
    params, stop = sequence.params, sequence.num_tokens + num_drafts
    start = 0 if params.repeat_last_n < 0 else max(0, stop - params.repeat_last_n)
    repeated = counted = sequence.span(start, stop)
    if not params.penalise_prompt:
        counted = sequence.span(sequence.num_prompt_tokens, stop)
    if params.repeat_penalty == 1.0:
        repeated = _NO_TOKENS
    if params.presence_penalty == params.frequency_penalty == 0.0:
        counted = _NO_TOKENS
    return repeated, counted
