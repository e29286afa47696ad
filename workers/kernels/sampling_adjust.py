"""Rules that change single logits before sampling: mask, bias, penalties, forbidden ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import CHUNK
from cactus_actors.workers.kernels.sampling_scratch import LOWEST, NEGATIVE_INFINITY, Scratch
from cactus_actors.workers.kernels.softmax import Ids, Logits, Reals, Scalar, largest_of

WORD = 32


@internal()
def apply_mask(logits: Logits, words: Ids, allowed: Logits) -> None:
    """`allowed` becomes the logits whose bit is set in the mask, -inf elsewhere."""
    for index in range(words.size):
        start, word = index * WORD, words[index]
        if start + WORD <= logits.size:
            for i in range(WORD):
                bit = (word >> np.int32(i)) & np.int32(1)
                allowed[start + i] = logits[start + i] if bit else NEGATIVE_INFINITY
        else:
            for i in range(logits.size - start):
                bit = (word >> np.int32(i)) & np.int32(1)
                allowed[start + i] = logits[start + i] if bit else NEGATIVE_INFINITY


@internal()
def add_bias(values: Logits, ids: Ids, biases: Reals, num_touched: Scalar, scratch: Scratch) -> Scalar:
    """Add to the logits of these ids; returns the number of touched ids. Sums stay finite."""
    for i in range(ids.size):
        num_touched = _touch(values, ids[i], num_touched, scratch)
        _set(values, ids[i], np.float64(values[ids[i]]) + biases[i])
    return num_touched


@internal()
def penalise(values: Logits, row: Any, repeated: Ids, counted: Ids, num_touched: Scalar, scratch: Scratch) -> Scalar:
    """Apply the three penalties; returns the number of touched ids.

    llama.cpp's rule: a positive logit of a token of `repeated` is divided by repeat_penalty and another
    multiplied by it, then count * frequency_penalty + presence_penalty is subtracted for those of `counted`.
    """
    first = num_touched
    num_touched = _touch_all(values, repeated, num_touched, scratch)
    for i in range(first, num_touched):
        token = scratch.touched[i]
        value = np.float64(values[token])
        _set(values, token, value / row.repeat_penalty if value > 0 else value * row.repeat_penalty)
        scratch.counts[token] = 0
    first = num_touched
    num_touched = _touch_all(values, counted, num_touched, scratch)
    for i in range(first, num_touched):
        token = scratch.touched[i]
        penalty = scratch.counts[token] * row.frequency_penalty + row.presence_penalty
        _set(values, token, np.float64(values[token]) - penalty)
        scratch.counts[token] = 0
    return num_touched


@internal()
def forbid(values: Logits, ids: Ids, num_touched: Scalar, scratch: Scratch) -> Scalar:
    """Forbid these ids; returns the number of touched ids."""
    for i in range(ids.size):
        num_touched = _touch(values, ids[i], num_touched, scratch)
        values[ids[i]] = NEGATIVE_INFINITY
    return num_touched


@internal()
def update_maxima(values: Logits, num_touched: Scalar, scratch: Scratch) -> None:
    """Bring the maxima of the touched chunks up to date."""
    for i in range(num_touched):
        chunk = scratch.touched[i] // CHUNK
        scratch.maxima[chunk] = largest_of(values, chunk)


@internal()
def restore(values: Logits, num_touched: Scalar, scratch: Scratch) -> None:
    """Undo all changes, backwards: an id touched twice gets its first value back."""
    for i in range(num_touched - 1, -1, -1):
        values[scratch.touched[i]] = scratch.raw[i]


@internal()
def _touch(values: Logits, token: Scalar, num_touched: Scalar, scratch: Scratch) -> Scalar:
    scratch.touched[num_touched] = token
    scratch.raw[num_touched] = values[token]
    return num_touched + 1


@internal()
def _touch_all(values: Logits, tokens: Ids, num_touched: Scalar, scratch: Scratch) -> Scalar:
    """Touch each of the tokens once, and count its occurrences."""
    for i in range(tokens.size):
        if scratch.counts[tokens[i]] == 0:
            num_touched = _touch(values, tokens[i], num_touched, scratch)
        scratch.counts[tokens[i]] += 1
    return num_touched


@internal()
def _set(values: Logits, token: Scalar, value: Scalar) -> None:
    """Give an allowed token a finite logit."""
    if values[token] > NEGATIVE_INFINITY:
        values[token] = np.float32(min(max(value, np.float64(LOWEST)), -np.float64(LOWEST)))
