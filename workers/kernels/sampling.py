"""Logits in, token ids out: one compiled call for the rows of a step.

Each row is computed alone, in an order that depends on the vocabulary size only, so a row's token never
depends on its neighbours. Nothing here sorts the vocabulary.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from workers.kernels.sampling_adjust import add_bias, apply_mask, forbid, penalise, restore, update_maxima
from workers.kernels.sampling_all import draw_from_all, first_of
from workers.kernels.sampling_mirostat import draw_mirostat
from workers.kernels.sampling_random import uniform
from workers.kernels.sampling_ranked import MAX_RANKED, draw_from_top, rank_top
from workers.kernels.sampling_scratch import NEGATIVE_INFINITY, Scratch
from workers.kernels.softmax import Ids, Logits, Reals, Scalar, entropy_of, largest_of, survey


class Rows(NamedTuple):
    """What is wanted of each row; spans and ends are places in the arrays that all rows share."""

    params: Any  # (rows,) SAMPLING_ROW
    positions: NDArray[np.int64]  # (rows,) of the wanted token among the completion tokens
    given: Ids  # (rows,) the token whose probability is wanted, or -1 to sample one
    num_top: Ids  # (rows,) how many likely tokens are told
    are_ends_forbidden: NDArray[np.bool_]  # (rows,)
    mask_of_row: Ids  # (rows,) or -1
    masks: NDArray[np.int32]  # (masks, words): bit i % 32 of word i // 32 lets token i come
    windows: Ids  # tokens that the penalties see
    spans: NDArray[np.int64]  # (rows, 4) of windows: where what is repeated, then what is counted, lies
    bias_ids: Ids
    biases: Reals
    bias_ends: NDArray[np.int64]  # (rows,)
    mus: Reals  # (rows,) state of mirostat


class Outcomes(NamedTuple):
    """What came of each row; where `finite` is False the rest is unset."""

    token_ids: Ids  # (rows,) the sampled token, or the given one
    entropies: Reals  # (rows,) normalised by ln V, of the raw logits
    logprobs: Reals  # (rows,) of the token, from the raw logits
    finite: NDArray[np.bool_]  # (rows,)
    mus: Reals  # (rows,) after the token
    top_ids: NDArray[np.int32]  # (rows, widest num_top) falling, lower ids first on ties; -1 behind the last
    top_logprobs: NDArray[np.float64]  # the same shape


@njit(nogil=True)
def _largest(maxima: Logits) -> Scalar:
    largest = NEGATIVE_INFINITY
    for chunk in range(maxima.size):
        largest = max(largest, maxima[chunk])
    return largest


@njit(nogil=True)
def _tell_top(
    logits: Logits, num_top: Scalar, offset: Scalar, ids: Ids, logprobs: Reals, scratch: Scratch
) -> None:
    """The likeliest tokens; `offset` makes log probabilities of logits."""
    num_ranked = rank_top(logits, num_top, scratch)
    for place in range(num_ranked):
        ids[place] = scratch.kept[place]
        logprobs[place] = np.float64(logits[ids[place]]) - offset
    for place in range(num_ranked, ids.size):
        ids[place] = -1


@njit(nogil=True)
def _sample(values: Logits, rows: Rows, r: Scalar, end_ids: Ids, scratch: Scratch) -> Any:
    """(id, the next mu); `values` are the same again on return."""
    row = rows.params[r]
    is_steered = row.mirostat != 0 and row.temperature > 0.0
    first = rows.bias_ends[r - 1] if r else 0
    ids, biases = rows.bias_ids[first : rows.bias_ends[r]], rows.biases[first : rows.bias_ends[r]]
    num_touched = add_bias(values, ids, biases, 0, scratch)
    if row.mirostat == 0:
        repeated = rows.windows[rows.spans[r, 0] : rows.spans[r, 1]]
        counted = rows.windows[rows.spans[r, 2] : rows.spans[r, 3]]
        num_touched = penalise(values, row, repeated, counted, num_touched, scratch)
    if rows.are_ends_forbidden[r]:
        num_touched = forbid(values, end_ids, num_touched, scratch)
    update_maxima(values, num_touched, scratch)
    maximum = _largest(scratch.maxima)

    random = uniform(row.seed, row.choice, np.uint64(rows.positions[r]))
    mu = rows.mus[r]
    if row.temperature == 0.0:
        token = np.int64(first_of(values, scratch.maxima, maximum))
    elif is_steered:
        token, mu = draw_mirostat(values, maximum, row, mu, random, scratch)
    elif 0 < row.top_k <= MAX_RANKED and row.top_k < values.size:
        token = np.int64(draw_from_top(values, row, random, scratch))
    else:
        token = np.int64(draw_from_all(values, maximum, row, random, scratch))
    restore(values, num_touched, scratch)
    return token, mu


@functools.cache
def compiled_sampler(fingerprint: str) -> Callable[..., None]:
    """The function that samples a token for each row, or tells how likely a given one is.

    In llama.cpp's order: mask, bias, penalties, forbidden ends, top_k, typical_p, top_p, min_p, temperature;
    with mirostat mask, bias, forbidden ends, temperature, mirostat. What is told of probabilities is of the
    raw logits. `fingerprint` is read only so that numba compiles again when the kernels have changed.
    """

    @njit(nogil=True, cache=True)
    def sample_rows(
        rank: int,  # of `size` threads this one takes every size-th row
        size: int,
        logits: Logits,  # (rows, V) float32; changed meanwhile, the same again on return
        rows: Rows,
        end_ids: Ids,  # (ends,) int32
        scratch: Scratch,  # of this thread alone
        outcomes: Outcomes,
    ) -> None:
        _ = fingerprint
        for r in range(rank, logits.shape[0], size):
            raw = logits[r]
            is_finite = survey(raw, scratch.maxima, scratch.totals, scratch.weighted, scratch.largest)
            outcomes.finite[r] = is_finite
            if not is_finite:
                continue
            maximum = _largest(scratch.maxima)
            log_total, outcomes.entropies[r] = entropy_of(
                scratch.totals, scratch.weighted, scratch.largest, maximum, raw.size
            )
            offset = np.float64(maximum) + log_total
            if rows.num_top[r] > 0:
                num_top = min(rows.num_top[r], raw.size)
                _tell_top(raw, num_top, offset, outcomes.top_ids[r], outcomes.top_logprobs[r], scratch)

            token = np.int64(rows.given[r])
            outcomes.mus[r] = rows.mus[r]
            if token < 0 and rows.mask_of_row[r] >= 0:
                apply_mask(raw, rows.masks[rows.mask_of_row[r]], scratch.allowed)
                for chunk in range(scratch.maxima.size):
                    scratch.maxima[chunk] = largest_of(scratch.allowed, chunk)
                token, outcomes.mus[r] = _sample(scratch.allowed, rows, r, end_ids, scratch)
            elif token < 0:
                token, outcomes.mus[r] = _sample(raw, rows, r, end_ids, scratch)
            outcomes.token_ids[r] = token
            outcomes.logprobs[r] = np.float64(raw[token]) - maximum - log_total

    return sample_rows  # type: ignore[no-any-return]  # numba is untyped
