"""Sampling of token ids from logits: one compiled call for the rows of a step.

Each row is computed alone, in an order that depends on the vocabulary size only, so a row's token never
depends on its neighbours. Nothing here sorts the vocabulary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.kernels.compile_cache import cached_njit
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import PART
from cactus_actors.workers.kernels.sampling_adjust import add_bias, apply_mask, forbid, penalise, restore, update_maxima
from cactus_actors.workers.kernels.sampling_all import draw_from_all, first_of
from cactus_actors.workers.kernels.sampling_mirostat import draw_mirostat
from cactus_actors.workers.kernels.sampling_random import uniform
from cactus_actors.workers.kernels.sampling_ranked import MAX_RANKED, draw_from_top, rank_top
from cactus_actors.workers.kernels.sampling_scratch import NEGATIVE_INFINITY, Scratch
from cactus_actors.workers.kernels.softmax import (
    Ids,
    Logits,
    Reals,
    Scalar,
    compute_logit_stats,
    entropy_of,
    is_finite,
    largest_of,
)


class SamplingInputs(NamedTuple):
    """The options of each row, and arrays that rows have spans of."""

    options: Any  # (rows,) SAMPLING_ROW
    masks: NDArray[np.int32]  # (masks, words): bit i % 32 of word i // 32 allows token i
    windows: Ids  # tokens that the penalties see
    bias_ids: Ids
    biases: Reals


class SamplingOutputs(NamedTuple):
    """The result of each row."""

    rows: Any  # (rows,) OUTCOME
    top_ids: NDArray[np.int32]  # (rows, widest num_top) descending, lower ids first on ties; -1 after the last
    top_logprobs: NDArray[np.float64]  # the same shape


@internal()
def _largest(maxima: Logits) -> Scalar:
    largest = NEGATIVE_INFINITY
    for chunk in range(maxima.size):
        largest = max(largest, maxima[chunk])
    return largest


@internal()
def _logprob(logit: Scalar, maximum: Scalar, log_total: Scalar) -> Scalar:
    return np.float64(logit) - maximum - log_total


@internal()
def _fill_top_logprobs(
    logits: Logits, num_top: Scalar, maximum: Scalar, log_total: Scalar, ids: Ids, logprobs: Reals, scratch: Scratch
) -> None:
    """The most likely tokens, with exactly the log probabilities that they have where they are sampled."""
    num_ranked = rank_top(logits, num_top, scratch)
    for place in range(num_ranked):
        ids[place] = scratch.kept[place]
        logprobs[place] = _logprob(logits[ids[place]], maximum, log_total)
    for place in range(num_ranked, ids.size):
        ids[place] = -1


@internal()
def _sample(values: Logits, row: Any, rows: SamplingInputs, end_ids: Ids, scratch: Scratch) -> Any:
    """(id, the next mu); `values` are the same again on return."""
    ids, biases = rows.bias_ids[row.first_bias : row.end_bias], rows.biases[row.first_bias : row.end_bias]
    num_touched = add_bias(values, ids, biases, 0, scratch)
    if row.mirostat == 0:
        repeated = rows.windows[row.first_repeated : row.end_repeated]
        counted = rows.windows[row.first_counted : row.end_counted]
        num_touched = penalise(values, row, repeated, counted, num_touched, scratch)
    if row.are_ends_forbidden:
        num_touched = forbid(values, end_ids, num_touched, scratch)
    update_maxima(values, num_touched, scratch)
    maximum = _largest(scratch.maxima)

    random = uniform(row.seed, row.choice, np.uint64(row.position))
    mu = row.mu
    if row.temperature == 0.0:
        token = np.int64(first_of(values, scratch.maxima, maximum))
    elif row.mirostat != 0:
        token, mu = draw_mirostat(values, maximum, row, mu, random, scratch)
    elif 0 < row.top_k <= MAX_RANKED and row.top_k < values.size:
        token = np.int64(draw_from_top(values, row, random, scratch))
    else:
        token = np.int64(draw_from_all(values, maximum, row, random, scratch))
    restore(values, num_touched, scratch)
    return token, mu


@cached_njit(nogil=True)
def logit_stats_of_rows(
    logits: Logits,  # (rows, V) float32
    logit_stats: Logits,  # (rows, logit_stats_width(V)) float32, out
) -> None:
    """Compute the statistics of each row."""
    num_parts = -(-logits.shape[1] // PART)
    for r in range(logits.shape[0]):
        compute_logit_stats(logits[r], 0, logits.shape[1], 0, num_parts, logit_stats[r], 0)


@cached_njit(nogil=True)
def sample_rows(
    logits: Logits,  # (rows, V) float32; changed meanwhile, the same again on return
    logit_stats: Logits,  # (rows, logit_stats_width(V)) float32
    rows: SamplingInputs,
    end_ids: Ids,  # (ends,) int32
    scratch: Scratch,
    outcomes: SamplingOutputs,
) -> None:
    """Sample a token for each row, or compute the log probability of a given one.

    Rules apply in llama.cpp's order: mask, bias, penalties, forbidden ends, top_k, typical_p, top_p, min_p,
    temperature; with mirostat mask, bias, forbidden ends, temperature, mirostat. Reported probabilities are
    those of the raw logits.
    """
    for r in range(logits.shape[0]):
        raw, stats, row, outcome = logits[r], logit_stats[r], rows.options[r], outcomes.rows[r]
        outcome.is_finite = is_finite(stats, raw.size)
        if not outcome.is_finite:
            continue
        for chunk in range(scratch.maxima.size):  # an assignment of slices takes 2 s to compile
            scratch.maxima[chunk] = stats[chunk]
        maximum = _largest(scratch.maxima)
        log_total, outcome.entropy = entropy_of(stats, maximum, raw.size)
        if row.num_top > 0:
            num_top = min(row.num_top, raw.size)
            top_ids, top_logprobs = outcomes.top_ids[r], outcomes.top_logprobs[r]
            _fill_top_logprobs(raw, num_top, maximum, log_total, top_ids, top_logprobs, scratch)

        token, outcome.mu = row.given, row.mu
        if token < 0 and row.mask >= 0:
            apply_mask(raw, rows.masks[row.mask], scratch.allowed)
            for chunk in range(scratch.maxima.size):
                scratch.maxima[chunk] = largest_of(scratch.allowed, chunk)
            token, outcome.mu = _sample(scratch.allowed, row, rows, end_ids, scratch)
        elif token < 0:
            token, outcome.mu = _sample(raw, row, rows, end_ids, scratch)
        outcome.token_id = token
        outcome.logprob = _logprob(raw[token], maximum, log_total)
