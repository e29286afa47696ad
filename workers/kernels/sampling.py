"""Logits in, token ids out: one compiled call for the rows of a step.

Each row is computed alone, in an order that depends on the vocabulary size only, so a row's token never
depends on its neighbours. Nothing here sorts the vocabulary.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from workers.kernels.heap import heapify, kth_largest, pop
from workers.kernels.nucleus import MAX_SORTED, cut_of
from workers.kernels.softmax import (
    CHUNK,
    PART,
    Ids,
    Logits,
    Reals,
    Scalar,
    entropy_of,
    fill_masses,
    fill_weights,
    largest_of,
    reweigh,
    survey,
)

MIN_TEMPERATURE = 1e-6  # anything warmer than zero and colder than this is the argmax all the same

# What stays the same for a sequence from token to token.
SAMPLING_ROW = np.dtype(
    [
        ("temperature", np.float64),
        ("top_p", np.float64),
        ("min_p", np.float64),
        ("repeat_penalty", np.float64),
        ("presence_penalty", np.float64),
        ("frequency_penalty", np.float64),
        ("top_k", np.int64),
        ("seed", np.uint64),
        ("choice", np.uint64),
    ]
)

_NEGATIVE_INFINITY = np.float32(-np.inf)


class Scratch(NamedTuple):
    """What one thread needs to sample a row; `counts` is all zeros between rows."""

    maxima: Logits  # (chunks,)
    largest: Reals  # (parts,)
    totals: Reals  # (parts,)
    weighted: Reals  # (parts,)
    weights: Logits  # (V,)
    candidates: Ids  # (V,)
    kept: Ids  # (V,)
    kept_weights: Reals  # (V,)
    counts: Ids  # (V,)
    touched: Ids  # (V + ends,)
    raw: Logits  # (V + ends,)


def new_scratch(vocab_size: int, num_ends: int) -> Scratch:
    """Room for rows of `vocab_size` logits; its pages are taken from the system when they are first used."""
    num_parts = -(-vocab_size // PART)
    return Scratch(
        maxima=np.empty(-(-vocab_size // CHUNK), np.float32),
        largest=np.empty(num_parts, np.float64),
        totals=np.empty(num_parts, np.float64),
        weighted=np.empty(num_parts, np.float64),
        weights=np.empty(vocab_size, np.float32),
        candidates=np.empty(max(vocab_size, MAX_SORTED), np.int32),
        kept=np.empty(vocab_size, np.int32),
        kept_weights=np.empty(vocab_size, np.float64),
        counts=np.zeros(vocab_size, np.int32),
        touched=np.empty(vocab_size + num_ends, np.int32),
        raw=np.empty(vocab_size + num_ends, np.float32),
    )


@njit(nogil=True)
def _mixed(z: Scalar) -> Scalar:
    """The output function of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True)
def uniform(seed: Scalar, choice: Scalar, position: Scalar) -> Scalar:
    """A number in [0, 1) that depends on nothing but its three counters, each an unsigned 64-bit integer."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    state = _mixed(np.uint64(seed) + golden)
    state = _mixed(state + golden * (np.uint64(choice) + np.uint64(1)))
    state = _mixed(state + golden * (np.uint64(position) + np.uint64(1)))
    return np.float64(state >> np.uint64(11)) * 2.0**-53


@njit(nogil=True)
def _penalise(logits: Logits, row: Any, window: Ids, scratch: Scratch) -> Scalar:
    """Apply the three penalties to the tokens of `window`; how many ids were `touched`.

    llama.cpp's rule: a positive logit is divided by repeat_penalty and another multiplied by it, then
    count * frequency_penalty + presence_penalty is subtracted.
    """
    num_touched = 0
    for i in range(window.size):
        token = window[i]
        if scratch.counts[token] == 0:
            scratch.touched[num_touched] = token
            num_touched += 1
        scratch.counts[token] += 1
    for i in range(num_touched):
        token = scratch.touched[i]
        scratch.raw[i] = logits[token]
        value = np.float64(logits[token])
        value = value / row.repeat_penalty if value > 0 else value * row.repeat_penalty
        value -= scratch.counts[token] * row.frequency_penalty + row.presence_penalty
        logits[token] = np.float32(value)
        scratch.counts[token] = 0
    return num_touched


@njit(nogil=True)
def _forbid(logits: Logits, end_ids: Ids, num_touched: Scalar, scratch: Scratch) -> Scalar:
    for i in range(end_ids.size):
        scratch.touched[num_touched] = end_ids[i]
        scratch.raw[num_touched] = logits[end_ids[i]]
        logits[end_ids[i]] = _NEGATIVE_INFINITY
        num_touched += 1
    return num_touched


@njit(nogil=True)
def _maximum(logits: Logits, num_touched: Scalar, scratch: Scratch) -> Scalar:
    """The largest logit, after the maxima of the touched chunks are brought up to date."""
    for i in range(num_touched):
        chunk = scratch.touched[i] // CHUNK
        scratch.maxima[chunk] = largest_of(logits, chunk)
    maximum = _NEGATIVE_INFINITY
    for chunk in range(scratch.maxima.size):
        maximum = max(maximum, scratch.maxima[chunk])
    return maximum


@njit(nogil=True)
def _first_of(logits: Logits, maxima: Logits, maximum: Scalar) -> Scalar:
    """The lowest id whose logit is `maximum`."""
    for chunk in range(maxima.size):
        if maxima[chunk] == maximum:
            for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, logits.size)):
                if logits[i] == maximum:
                    return i
    return 0


@njit(nogil=True)
def _draw_by_id(weights: Logits, random: Scalar, masses: Reals) -> Scalar:
    """Draw an id by weight, the weights laid end to end in order of id."""
    rest = random * fill_masses(weights, masses)
    part = 0
    while part < masses.size - 1 and rest >= masses[part]:
        rest -= masses[part]
        part += 1
    last = -1
    while last < 0:  # rounding may carry past the last part that has any mass
        for i in range(part * PART, min((part + 1) * PART, weights.size)):
            if weights[i] > 0:
                last = i
                rest -= weights[i]
                if rest < 0:
                    return i
        part -= 1
    return last


@njit(nogil=True)
def _draw_from_all(logits: Logits, maximum: Scalar, row: Any, random: Scalar, scratch: Scratch) -> Scalar:
    """Draw from the ids that pass top_p, then min_p, whose probabilities are those at temperature 1."""
    temperature = max(row.temperature, MIN_TEMPERATURE)
    weights = scratch.weights
    if row.top_p < 1.0:
        fill_weights(logits, maximum, _NEGATIVE_INFINITY, 1.0, weights)
        total = fill_masses(weights, scratch.totals)
        cut, last = cut_of(weights, total, row.top_p, scratch.candidates)
        if row.min_p > cut:
            cut, last = np.float32(row.min_p), weights.size
        reweigh(logits, maximum, cut, last, temperature, weights)
    else:
        floor = np.float32(maximum + math.log(row.min_p)) if row.min_p > 0.0 else _NEGATIVE_INFINITY
        fill_weights(logits, maximum, floor, temperature, weights)
    return _draw_by_id(weights, random, scratch.totals)


@njit(nogil=True)
def _collect(logits: Logits, maxima: Logits, floor: Scalar, candidates: Ids) -> Scalar:
    """Fill `candidates` with the ids whose logit is >= floor; their number."""
    size = 0
    for chunk in range(maxima.size):
        if maxima[chunk] >= floor:
            for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, logits.size)):
                if logits[i] >= floor:
                    candidates[size] = i
                    size += 1
    return size


@njit(nogil=True)
def _draw_from_top(logits: Logits, maximum: Scalar, row: Any, random: Scalar, scratch: Scratch) -> Scalar:
    """Draw from the ids that pass top_k, then top_p, then min_p, laid end to end in falling order.

    Probabilities are those at temperature 1 over what the rule before has kept.
    """
    kept, weights = scratch.kept, scratch.kept_weights
    floor = kth_largest(scratch.maxima, row.top_k, scratch.weights)
    size = _collect(logits, scratch.maxima, floor, scratch.candidates)
    heapify(logits, scratch.candidates, size)
    num_kept = min(row.top_k, size)
    total = 0.0
    for rank in range(num_kept):
        kept[rank] = pop(logits, scratch.candidates, size - rank)
        weights[rank] = math.exp(np.float64(logits[kept[rank]]) - maximum)
        total += weights[rank]
    if row.top_p < 1.0:
        limit, num_kept, mass = num_kept, 1, weights[0]
        while num_kept < limit and mass < row.top_p * total:
            mass += weights[num_kept]
            num_kept += 1
    while num_kept > 1 and weights[num_kept - 1] < row.min_p:  # weights[0] is 1
        num_kept -= 1

    temperature = max(row.temperature, MIN_TEMPERATURE)
    total = 0.0
    for rank in range(num_kept):
        weights[rank] = math.exp((np.float64(logits[kept[rank]]) - maximum) / temperature)
        total += weights[rank]
    rest = random * total
    last = kept[0]
    for rank in range(num_kept):
        if weights[rank] > 0:
            last = kept[rank]
            rest -= weights[rank]
            if rest < 0:
                break
    return last


@functools.cache
def compiled_sampler(fingerprint: str) -> Callable[..., None]:
    """The function that samples a token for each row: end mask, penalties, top_k, top_p, min_p, temperature.

    `fingerprint` is read only so that numba compiles again when the kernels have changed.
    """

    @njit(nogil=True, cache=True)
    def sample_rows(
        rank: int,  # of `size` threads this one takes every size-th row
        size: int,
        logits: Logits,  # (rows, V) float32; changed meanwhile, the same again on return
        rows: NDArray[np.void],  # (rows,) SAMPLING_ROW
        positions: NDArray[np.int64],  # (rows,) int64, index of the wanted token among the completion tokens
        masked: NDArray[np.bool_],  # (rows,) bool, whether the end tokens may not come yet
        end_ids: Ids,  # (ends,) int32
        windows: Ids,  # (sum of window sizes,) int32, the tokens that the penalties see
        window_ends: NDArray[np.int64],  # (rows,) int64, where each row's window ends
        scratch: Scratch,  # of this thread alone
        token_ids: Ids,  # (rows,) int32, out
        entropies: Reals,  # (rows,) float64, out: normalised by ln V, of the raw logits
        logprobs: Reals,  # (rows,) float64, out: of the chosen token, from the raw logits
        finite: NDArray[np.bool_],  # (rows,) bool, out: False leaves the row's other outputs unset
    ) -> None:
        _ = fingerprint
        for r in range(rank, logits.shape[0], size):
            row = rows[r]
            row_logits = logits[r]
            finite[r] = survey(row_logits, scratch.maxima, scratch.totals, scratch.weighted, scratch.largest)
            if not finite[r]:
                continue
            raw_maximum = _maximum(row_logits, 0, scratch)
            log_total, entropies[r] = entropy_of(
                scratch.totals, scratch.weighted, scratch.largest, raw_maximum, row_logits.size
            )
            window = windows[(window_ends[r - 1] if r else 0) : window_ends[r]]
            num_touched = _penalise(row_logits, row, window, scratch)
            if masked[r]:
                num_touched = _forbid(row_logits, end_ids, num_touched, scratch)
            maximum = _maximum(row_logits, num_touched, scratch)
            random = uniform(row.seed, row.choice, np.uint64(positions[r]))
            if row.temperature == 0.0:
                token = _first_of(row_logits, scratch.maxima, maximum)
            elif 0 < row.top_k < row_logits.size:
                token = _draw_from_top(row_logits, maximum, row, random, scratch)
            else:
                token = _draw_from_all(row_logits, maximum, row, random, scratch)

            for i in range(
                num_touched - 1, -1, -1
            ):  # backwards: an id touched twice gets its first value back
                row_logits[scratch.touched[i]] = scratch.raw[i]
            token_ids[r] = token
            logprobs[r] = np.float64(row_logits[token]) - raw_maximum - log_total

    return sample_rows  # type: ignore[no-any-return]  # numba is untyped
