"""Input and output records of the sampler, and its scratch memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cactus_actors.workers.kernels.logit_chunks import CHUNK, PART
from cactus_actors.workers.kernels.nucleus import MAX_SORTED
from cactus_actors.workers.kernels.softmax import Ids, Logits, Reals

LOWEST = np.float32(np.finfo(np.float32).min)
"""The logit of a token that is sampled only if no other is allowed; masked tokens have -inf."""

NEGATIVE_INFINITY = np.float32(-np.inf)
MIN_TEMPERATURE = 1e-6  # anything warmer than zero and colder than this is the argmax all the same

PARAMETERS = [
    ("temperature", np.float64),
    ("top_p", np.float64),
    ("min_p", np.float64),
    ("typical_p", np.float64),
    ("repeat_penalty", np.float64),
    ("presence_penalty", np.float64),
    ("frequency_penalty", np.float64),
    ("mirostat_tau", np.float64),
    ("mirostat_eta", np.float64),
    ("mirostat", np.int64),
    ("top_k", np.int64),
    ("seed", np.uint64),
]
"""The fields of SamplingParams that the sampler reads, and their types."""

SAMPLING_ROW = np.dtype(
    [
        # the same for a sequence from token to token
        *PARAMETERS,
        ("choice", np.uint64),
        ("num_top", np.int64),  # number of top log probabilities
        # of one row
        ("position", np.int64),  # of the sampled token among the completion tokens
        ("given", np.int64),  # the token whose probability is computed, or -1 to sample one
        ("are_ends_forbidden", np.int64),
        ("mask", np.int64),  # which of the masks, or -1
        ("first_repeated", np.int64),  # spans of the windows that all rows share
        ("end_repeated", np.int64),
        ("first_counted", np.int64),
        ("end_counted", np.int64),
        ("first_bias", np.int64),  # and of their biases
        ("end_bias", np.int64),
        ("mu", np.float64),  # state of mirostat
    ]
)
"""The sampling options of a row of logits."""

OUTCOME = np.dtype(
    [
        ("token_id", np.int64),  # the sampled token, or the given one
        ("entropy", np.float64),  # normalised by ln V, of the raw logits
        ("logprob", np.float64),  # of the token, from the raw logits
        ("is_finite", np.bool_),  # False leaves the rest unset
        ("mu", np.float64),  # after the token
    ],
    align=True,
)
"""The result of a row."""


class Scratch(NamedTuple):
    """Memory of one thread that samples rows; `counts` is all zeros between rows."""

    maxima: Logits  # (chunks,)
    totals: Reals  # (parts,)
    weights: Logits  # (V,)
    allowed: Logits  # (V,)
    candidates: Ids  # (V,)
    kept: Ids  # (V,)
    kept_weights: Reals  # (V,)
    counts: Ids  # (V,)
    touched: Ids  # (3 V + ends,) by a bias, by either kind of penalty, as an end
    raw: Logits  # (3 V + ends,)


def new_scratch(vocab_size: int, num_ends: int) -> Scratch:
    """Room for rows of `vocab_size` logits; its pages are taken from the system when they are first used."""
    return Scratch(
        maxima=np.empty(-(-vocab_size // CHUNK), np.float32),
        totals=np.empty(-(-vocab_size // PART), np.float64),
        weights=np.empty(vocab_size, np.float32),
        allowed=np.empty(vocab_size, np.float32),
        candidates=np.empty(max(vocab_size, MAX_SORTED), np.int32),
        kept=np.empty(vocab_size, np.int32),
        kept_weights=np.empty(vocab_size, np.float64),
        counts=np.zeros(vocab_size, np.int32),
        touched=np.empty(3 * vocab_size + num_ends, np.int32),
        raw=np.empty(3 * vocab_size + num_ends, np.float32),
    )
