"""Operations on single rows of models with several residual streams (AltUp, Baykal et al. 2023).

The streams of a token stand side by side in its row, `width` columns each, and after them their coefficients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.encoder_kernels import mean_and_variance
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.row_kernels import add_row, clear_padding, mean_of_squares, scale_row
from cactus_actors.workers.kernels.simd import (
    broadcast,
    fma,
    load,
    load_first,
    maximum,
    store,
    store_first,
)

LEAST_MEAN = 1e-5
"""The least mean of squares by which streams are divided."""


@internal(error_model="numpy")
def take_stream(
    values: Any,
    source: int,
    gains: Any,
    gains_start: int,
    has_gains: bool,
    width: int,
    target: int,
    target_width: int,
) -> None:
    """target = source, times gains if there are some; columns after the last are zero."""
    whole, rest = width // 16 * 16, width % 16
    for column in range(0, whole, 16):
        taken = load(values, source + column)
        if has_gains:
            taken = taken * load(gains, gains_start + column)
        store(values, target + column, taken)
    if rest:
        taken = load_first(values, source + whole, rest)
        if has_gains:
            taken = taken * load_first(gains, gains_start + whole, rest)
        store(values, target + whole, taken)
    clear_padding(values, target, width, target_width)


@internal(error_model="numpy")
def mix_streams(values: Any, source: int, target: int, num_streams: int, width: int) -> None:
    """Each stream of the target is that of the source plus the sum of all, times a row of coefficients."""
    whole, rest = width // 16 * 16, width % 16
    coefficients = target + num_streams * width
    for stream in range(num_streams):
        factors = coefficients + stream * num_streams
        for column in range(0, whole, 16):
            total = load(values, source + stream * width + column)
            for other in range(num_streams):
                part = load(values, source + other * width + column)
                total = fma(broadcast(values[factors + other]), part, total)
            store(values, target + stream * width + column, total)
        if rest:
            total = load_first(values, source + stream * width + whole, rest)
            for other in range(num_streams):
                part = load_first(values, source + other * width + whole, rest)
                total = fma(broadcast(values[factors + other]), part, total)
            store_first(values, target + stream * width + whole, total, rest)


@internal(error_model="numpy")
def correct_streams(values: Any, source: int, target: int, active: int, num_streams: int, width: int) -> None:
    """Add to each stream the source minus the active stream (which begins at `active`), times 1 + its coefficient."""
    whole, rest = width // 16 * 16, width % 16
    coefficients, one = target + num_streams * width, np.float32(1)
    for column in range(0, whole, 16):
        change = load(values, source + column) - load(values, target + active + column)
        for stream in range(num_streams):
            place = target + stream * width + column
            factor = broadcast(one + values[coefficients + stream])
            store(values, place, fma(factor, change, load(values, place)))
    if rest:
        change = load_first(values, source + whole, rest) - load_first(values, target + active + whole, rest)
        for stream in range(num_streams):
            place = target + stream * width + whole
            factor = broadcast(one + values[coefficients + stream])
            store_first(values, place, fma(factor, change, load_first(values, place, rest)), rest)


@internal(error_model="numpy")
def add_to_streams(values: Any, source: int, target: int, num_streams: int, width: int) -> None:
    """Add the source to every stream but the first."""
    for stream in range(1, num_streams):
        add_row(values, target + stream * width, values, source, width)


@internal(error_model="numpy")
def level_streams(values: Any, start: int, num_streams: int, width: int) -> None:
    """Scale every stream to the magnitude of the first."""
    magnitude = np.float32(math.sqrt(mean_of_squares(values, start, width)))
    for stream in range(1, num_streams):
        mean = max(mean_of_squares(values, start + stream * width, width), np.float32(LEAST_MEAN))
        scale_row(values, start + stream * width, width, magnitude / np.float32(math.sqrt(mean)))


@internal(error_model="numpy")
def cut_gates(values: Any, start: int, num_columns: int, deviations: float) -> None:
    """values = max(values - (mean + `deviations` standard deviations), 0) (Gemma 3n, 2025)."""
    mean, variance = mean_and_variance(values, start, num_columns)
    least = broadcast(mean + np.float32(deviations) * np.float32(math.sqrt(variance)))
    whole, rest, zero = num_columns // 16 * 16, num_columns % 16, broadcast(np.float32(0))
    for column in range(start, start + whole, 16):
        store(values, column, maximum(load(values, column) - least, zero))
    if rest:
        store_first(values, start + whole, maximum(load_first(values, start + whole, rest) - least, zero), rest)
