"""Logits in, token ids out: one compiled call for all rows of a step.

Each row is computed alone, in an order that depends on the vocabulary size only, so a row's token never
depends on its neighbours. Nothing here sorts the vocabulary: logits are summarised by the maxima of chunks of
`CHUNK`, and only the candidates that top-k or top-p can reach go through a heap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Logits = NDArray[np.float32]
Reals = NDArray[np.float64]
Ids = NDArray[np.int32]
Scalar = Any  # the compiler infers its width

CHUNK = 64
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


@njit(cache=True, nogil=True)
def _mixed(z: Scalar) -> Scalar:
    """The output function of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform(seed: Scalar, choice: Scalar, position: Scalar) -> Scalar:
    """A number in [0, 1) that depends on nothing but its three counters, each an unsigned 64-bit integer."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    state = _mixed(np.uint64(seed) + golden)
    state = _mixed(state + golden * (np.uint64(choice) + np.uint64(1)))
    state = _mixed(state + golden * (np.uint64(position) + np.uint64(1)))
    return np.float64(state >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True, fastmath={"contract"})
def _exp(x: Scalar) -> Scalar:
    """exp of a float32 x <= 0, within 2 units in the last place; 0 below -87.

    Range reduction to [-ln2/2, ln2/2] and a polynomial of degree 6, free of branches so that it vectorises.
    """
    clamped = max(x, np.float32(-87.0))
    scale = np.floor(clamped * np.float32(1.4426950408889634) + np.float32(0.5))
    rest = clamped - scale * np.float32(0.693359375)
    rest = rest - scale * np.float32(-2.12194440e-4)
    value = np.float32(1.0 / 720.0)
    value = value * rest + np.float32(1.0 / 120.0)
    value = value * rest + np.float32(1.0 / 24.0)
    value = value * rest + np.float32(1.0 / 6.0)
    value = value * rest + np.float32(0.5)
    value = value * rest + np.float32(1.0)
    value = value * rest + np.float32(1.0)
    power = np.int32((np.int32(scale) + np.int32(127)) << np.int32(23)).view(np.float32)
    return value * power if x >= np.float32(-87.0) else np.float32(0.0)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _all_finite(logits: Logits) -> Scalar:
    probe = np.float32(0.0)  # stays 0 unless a logit is infinite or NaN
    for i in range(logits.size):
        probe += logits[i] * np.float32(0.0)
    return probe == np.float32(0.0)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nnan", "nsz"})
def _find_maxima(logits: Logits, maxima: Logits) -> Scalar:
    """Fill `maxima` (chunks,) with the largest logit of each chunk; returns the largest of all."""
    largest = _NEGATIVE_INFINITY
    for chunk in range(maxima.size):
        part = logits[chunk * CHUNK : (chunk + 1) * CHUNK]
        best = _NEGATIVE_INFINITY
        for i in range(part.size):
            best = part[i] if part[i] > best else best
        maxima[chunk] = best
        largest = max(largest, best)
    return largest


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _entropy(logits: Logits, maximum: Scalar) -> tuple[Scalar, Scalar]:
    """(log of the sum of exp(logit - maximum), entropy in units of ln V) of the softmax over a row."""
    total: Scalar = 0.0
    weighted: Scalar = 0.0
    for start in range(0, logits.size, CHUNK):
        part = logits[start : start + CHUNK]
        chunk_total = np.float32(0.0)
        chunk_weighted = np.float32(0.0)
        for i in range(part.size):
            x = part[i] - maximum
            weight = _exp(x)
            chunk_total += weight
            chunk_weighted += weight * x
        total += chunk_total
        weighted += chunk_weighted
    log_total = math.log(total)
    if logits.size == 1:
        return log_total, 0.0
    entropy = (log_total - weighted / total) / math.log(logits.size)
    return log_total, min(1.0, max(0.0, entropy))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _find_masses(
    logits: Logits, maximum: Scalar, floor: Scalar, inverse_temperature: Scalar, masses: Reals
) -> Scalar:
    """Fill `masses` (chunks,) with the sums of exp((logit - maximum) / T) over logits >= floor; the total."""
    total: Scalar = 0.0
    for chunk in range(masses.size):
        part = logits[chunk * CHUNK : (chunk + 1) * CHUNK]
        mass = np.float32(0.0)
        for i in range(part.size):
            weight = _exp((part[i] - maximum) * inverse_temperature)
            mass += weight if part[i] >= floor else np.float32(0.0)
        masses[chunk] = mass
        total += mass
    return total


@njit(cache=True, nogil=True)
def _first_of(logits: Logits, maxima: Logits, maximum: Scalar) -> Scalar:
    """The lowest id whose logit is `maximum`."""
    for chunk in range(maxima.size):
        if maxima[chunk] == maximum:
            for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, logits.size)):
                if logits[i] == maximum:
                    return i
    return 0


@njit(cache=True, nogil=True)
def _precedes(keys: Logits, a: Scalar, b: Scalar) -> Scalar:
    return keys[a] > keys[b] or (keys[a] == keys[b] and a < b)


@njit(cache=True, nogil=True)
def _sift_down(keys: Logits, heap: Ids, size: Scalar, parent: Scalar) -> None:
    item = heap[parent]
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and _precedes(keys, heap[child + 1], heap[child]):
            child += 1
        if not _precedes(keys, heap[child], item):
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = item


@njit(cache=True, nogil=True)
def _heapify(keys: Logits, heap: Ids, size: Scalar) -> None:
    for parent in range(size // 2 - 1, -1, -1):
        _sift_down(keys, heap, size, parent)


@njit(cache=True, nogil=True)
def _pop(keys: Logits, heap: Ids, size: Scalar) -> Scalar:
    """Take the first index off a heap of `size`, ordered by falling key, then rising index."""
    first = heap[0]
    heap[0] = heap[size - 1]
    _sift_down(keys, heap, size - 1, 0)
    return first


@njit(cache=True, nogil=True)
def _kth_largest(values: Logits, k: Scalar, heap: Ids) -> Scalar:
    """The k-th largest of `values`, -inf where there are fewer."""
    if k > values.size:
        return _NEGATIVE_INFINITY
    size = values.size
    for i in range(size):
        heap[i] = i
    _heapify(values, heap, size)
    for _ in range(k - 1):
        _pop(values, heap, size)
        size -= 1
    return values[heap[0]]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _draw_by_id(
    logits: Logits, maximum: Scalar, floor: Scalar, temperature: Scalar, random: Scalar, masses: Reals
) -> Scalar:
    """Draw from all ids with logit >= floor, their probabilities laid end to end in order of id."""
    inverse = np.float32(1.0 / temperature)
    rest = random * _find_masses(logits, maximum, floor, inverse, masses)
    chunk = 0
    while chunk < masses.size - 1 and rest >= masses[chunk]:
        rest -= masses[chunk]
        chunk += 1
    last = -1
    while last < 0:  # rounding may carry past the last chunk that has any mass
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, logits.size)):
            weight = _exp((logits[i] - maximum) * inverse)
            if logits[i] >= floor and weight > 0:
                last = i
                rest -= weight
                if rest < 0:
                    return i
        chunk -= 1
    return last


@njit(cache=True, nogil=True)
def _draw_by_rank(
    logits: Logits,
    maximum: Scalar,
    kept: Ids,
    weights: Reals,
    num_kept: Scalar,
    temperature: Scalar,
    random: Scalar,
) -> Scalar:
    """Draw from `kept[:num_kept]`, their probabilities laid end to end in that order."""
    total: Scalar = 0.0
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


@njit(cache=True, nogil=True)
def _keep(
    logits: Logits,
    maxima: Logits,
    maximum: Scalar,
    row: Any,
    candidates: Ids,
    kept: Ids,
    weights: Reals,
    masses: Reals,
) -> Scalar:
    """Fill `kept` with the ids that pass top_k, then top_p, then min_p, in falling order; their number.

    Probabilities are those at temperature 1 over what the rule before has kept.
    """
    truncates = 0 < row.top_k < logits.size
    if truncates:
        floor = _kth_largest(maxima, row.top_k, candidates)
        total = 0.0
    else:
        total = _find_masses(logits, maximum, _NEGATIVE_INFINITY, np.float32(1.0), masses)
        # The ids less probable than (1 - top_p) / V have less than 1 - top_p together: never reached.
        reach = max(max(1.0 - row.top_p, 1e-12) * total / logits.size, row.min_p)
        floor = np.float32(maximum + math.log(reach) - 1e-3)
    size = _collect(logits, maxima, floor, candidates)
    _heapify(logits, candidates, size)

    limit = min(row.top_k, size) if truncates else size
    num_kept = 0
    mass = 0.0
    while num_kept < limit and (truncates or num_kept == 0 or mass < row.top_p * total):
        kept[num_kept] = _pop(logits, candidates, size - num_kept)
        weights[num_kept] = math.exp(np.float64(logits[kept[num_kept]]) - maximum)
        mass += weights[num_kept]
        num_kept += 1

    if truncates and row.top_p < 1.0:
        total = mass
        limit = num_kept
        mass = weights[0]
        num_kept = 1
        while num_kept < limit and mass < row.top_p * total:
            mass += weights[num_kept]
            num_kept += 1
    while num_kept > 1 and weights[num_kept - 1] < row.min_p:  # weights[0] is 1
        num_kept -= 1
    return num_kept


@njit(cache=True, nogil=True)
def _penalise(logits: Logits, row: Any, window: Ids, counts: Ids, touched: Ids, raw: Logits) -> Scalar:
    """Apply the three penalties to the tokens of `window`; their ids and raw logits go to `touched`, `raw`.

    llama.cpp's rule: a positive logit is divided by repeat_penalty and another multiplied by it, then
    count * frequency_penalty + presence_penalty is subtracted.
    """
    num_touched = 0
    for i in range(window.size):
        token = window[i]
        if counts[token] == 0:
            touched[num_touched] = token
            num_touched += 1
        counts[token] += 1
    for i in range(num_touched):
        token = touched[i]
        raw[i] = logits[token]
        value = np.float64(raw[i])
        value = value / row.repeat_penalty if value > 0 else value * row.repeat_penalty
        value -= counts[token] * row.frequency_penalty + row.presence_penalty
        logits[token] = np.float32(value)
        counts[token] = 0
    return num_touched


@njit(cache=True, nogil=True)
def sample_rows(
    logits: Logits,  # (rows, V) float32; changed meanwhile, the same again on return
    rows: NDArray[np.void],  # (rows,) SAMPLING_ROW
    positions: NDArray[np.int64],  # (rows,) int64, index of the wanted token among the completion tokens
    masked: NDArray[np.bool_],  # (rows,) bool, whether the end tokens may not come yet
    end_ids: Ids,  # (ends,) int32
    windows: Ids,  # (sum of window sizes,) int32, the tokens that the penalties see
    window_ends: NDArray[np.int64],  # (rows,) int64, where each row's window ends
    token_ids: Ids,  # (rows,) int32, out
    entropies: Reals,  # (rows,) float64, out: normalised by ln V, of the raw logits
    logprobs: Reals,  # (rows,) float64, out: of the chosen token, from the raw logits
    finite: NDArray[np.bool_],  # (rows,) bool, out: False leaves the row's other outputs unset
) -> None:
    """Sample one token a row: end mask, penalties, top_k, top_p, min_p, temperature, in this order."""
    vocab_size = logits.shape[1]
    num_chunks = (vocab_size + CHUNK - 1) // CHUNK
    maxima = np.empty(num_chunks, np.float32)
    masses = np.empty(num_chunks, np.float64)
    candidates = np.empty(vocab_size, np.int32)
    kept = np.empty(vocab_size, np.int32)
    weights = np.empty(vocab_size, np.float64)
    counts = np.zeros(vocab_size if windows.size else 0, np.int32)
    touched = np.empty(vocab_size + end_ids.size, np.int32)
    raw = np.empty(vocab_size + end_ids.size, np.float32)

    window_start = 0
    for r in range(logits.shape[0]):
        row = rows[r]
        row_logits = logits[r]
        window = windows[window_start : window_ends[r]]
        window_start = window_ends[r]
        finite[r] = _all_finite(row_logits)
        if not finite[r]:
            continue
        raw_maximum: Scalar = _find_maxima(row_logits, maxima)
        maximum = raw_maximum
        log_total, entropies[r] = _entropy(row_logits, maximum)

        num_touched = _penalise(row_logits, row, window, counts, touched, raw)
        if masked[r]:
            for i in range(end_ids.size):
                touched[num_touched] = end_ids[i]
                raw[num_touched] = row_logits[end_ids[i]]
                row_logits[end_ids[i]] = _NEGATIVE_INFINITY
                num_touched += 1
        if num_touched:
            maximum = _find_maxima(row_logits, maxima)

        if row.temperature == 0.0:
            token = _first_of(row_logits, maxima, maximum)
        else:
            temperature = max(row.temperature, MIN_TEMPERATURE)
            random = uniform(row.seed, row.choice, np.uint64(positions[r]))
            if row.top_p >= 1.0 and not 0 < row.top_k < vocab_size:
                floor = _NEGATIVE_INFINITY
                if row.min_p > 0.0:
                    floor = np.float32(maximum + math.log(row.min_p))
                token = _draw_by_id(row_logits, maximum, floor, temperature, random, masses)
            else:
                num_kept = _keep(row_logits, maxima, maximum, row, candidates, kept, weights, masses)
                token = _draw_by_rank(row_logits, maximum, kept, weights, num_kept, temperature, random)

        for i in range(num_touched - 1, -1, -1):  # backwards: an id touched twice gets its first value back
            row_logits[touched[i]] = raw[i]
        token_ids[r] = token
        logprobs[r] = np.float64(row_logits[token]) - raw_maximum - log_total
