"""A convolution of a few taps along the positions of a sequence, per channel, with its inputs as state."""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from cactus_actors.workers.kernels.row_kernels import silu
from cactus_actors.workers.kernels.simd import broadcast, fma, load, store

CHANNELS_OF_PART = 256
"""Channels that one task computes; a part of the state is (num_taps - 1, CHANNELS_OF_PART), oldest first."""


@internal(error_model="numpy")
def causal_conv(
    state: Any,
    state_start: int,
    part: int,
    rows: Any,
    start: int,  # of the first token's row
    row_width: int,
    num_tokens: int,
    taps: Any,  # (num_taps, padded channels) from `taps_start` on
    taps_start: int,
    num_taps: int,
    num_channels: int,
    bias_start: int,  # among the taps; -1 for none
    out: Any,
    out_start: int,
    out_width: int,
) -> None:
    """out = silu(bias + the sum over j of taps[j] * input[token - num_taps + 1 + j]) for the channels of one part.

    Inputs before the first token come from the state, which then holds those before the token after the last.
    Whole vectors are read and written: up to 15 columns after the last channel.
    """
    first = part * CHANNELS_OF_PART
    last = min(first + CHANNELS_OF_PART, num_channels)
    taps_width = -(-num_channels // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
    for token in range(num_tokens):
        oldest = token - num_taps + 1
        for column in range(first, last, 16):
            total = load(taps, bias_start + column) if bias_start >= 0 else broadcast(np.float32(0))
            for tap in range(num_taps):
                seen = oldest + tap
                if seen < 0:
                    place = state_start + (seen + num_taps - 1) * CHANNELS_OF_PART + column - first
                    value = load(state, place)
                else:
                    value = load(rows, start + seen * row_width + column)
                total = fma(load(taps, taps_start + tap * taps_width + column), value, total)
            store(out, out_start + token * out_width + column, silu(total))
    for kept in range(num_taps - 1):
        seen = num_tokens - num_taps + 1 + kept
        target = state_start + kept * CHANNELS_OF_PART - first
        for column in range(first, last, 16):
            if seen < 0:
                value = load(state, state_start + (seen + num_taps - 1) * CHANNELS_OF_PART + column - first)
            else:
                value = load(rows, start + seen * row_width + column)
            store(state, target + column, value)
