"""Passes over a row of logits: maxima, weights exp((logit - maximum) / T) and their sums.

Each pass is a loop without branches over parts of PART logits, which vectorises; sums inside a part are
float32 (`ordered_sums`), across parts float64. The order depends on the size of the row only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import CHUNK, PART
from cactus_actors.workers.kernels.ordered_sums import LOG2_E, power_sums, sum_weights, sum_weights_from
from cactus_actors.workers.kernels.simd import F32, address, broadcast, primitive

Logits = NDArray[np.float32]
Reals = NDArray[np.float64]
Ids = NDArray[np.int32]
Scalar = Any  # the compiler infers its width

_CHUNK_TYPE = ir.VectorType(F32, CHUNK)


@primitive
def largest_of_chunk(typing: Any, logits: Any, start: Any) -> Any:  # noqa: ARG001
    """The largest of CHUNK floats from `start` on, none of them NaN."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        chunk = builder.load(address(context, builder, logits, values[0], values[1], _CHUNK_TYPE), align=4)
        name = f"llvm.vector.reduce.fmax.v{CHUNK}f32"
        kind = ir.FunctionType(F32, [_CHUNK_TYPE])
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [chunk], fastmath=("nnan", "nsz"))

    return types.float32(logits, types.intp), generate


@internal(fastmath={"contract"})
def _power_of_two(x: Scalar) -> Scalar:
    """2^x of a float32 -126 <= x <= 0, within 2 units in the last place.

    2^x = 2^n * 2^r with n = round(x), by adding and subtracting 1.5 * 2^23; 2^r is the Taylor polynomial of
    e^(r ln 2) of degree 6.
    """
    shifted = np.float32(x + np.float32(12582912.0))
    rest = x - (shifted - np.float32(12582912.0))
    value = np.float32(math.log(2) ** 6 / 720)
    value = value * rest + np.float32(math.log(2) ** 5 / 120)
    value = value * rest + np.float32(math.log(2) ** 4 / 24)
    value = value * rest + np.float32(math.log(2) ** 3 / 6)
    value = value * rest + np.float32(math.log(2) ** 2 / 2)
    value = value * rest + np.float32(math.log(2))
    value = value * rest + np.float32(1.0)
    power = np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)).view(np.float32)
    return value * power


@internal(fastmath={"contract"})
def _power_or_zero(x: Scalar) -> Scalar:
    """2^x of a float32 x <= 0; 0 below -126."""
    power = _power_of_two(max(x, np.float32(-126.0)))
    return power if x >= np.float32(-126.0) else np.float32(0.0)


@internal()
def largest_of(logits: Logits, chunk: Scalar) -> Scalar:
    """The largest logit of a chunk; the last one may be short."""
    start = chunk * CHUNK
    if start + CHUNK <= logits.size:
        return largest_of_chunk(logits, start)
    largest = logits[start]
    for i in range(start + 1, logits.size):
        largest = max(largest, logits[i])
    return largest


@internal()
def compute_logit_stats(
    logits: Logits,
    start: Scalar,
    num_logits: Scalar,
    first_part: Scalar,
    last_part: Scalar,
    out: Logits,
    out_start: Scalar,
) -> None:
    """One pass over some parts of a row at `start`; its statistics (see `logit_stats_width`) go to `out_start`."""
    num_chunks, num_parts = -(-num_logits // CHUNK), -(-num_logits // PART)
    row = logits[start : start + num_logits]
    numbers = out_start + num_chunks
    for part in range(first_part, last_part):
        first_chunk = part * (PART // CHUNK)
        maximum = np.float32(-np.inf)
        for chunk in range(first_chunk, min(first_chunk + PART // CHUNK, num_chunks)):
            largest_here = largest_of(row, chunk)
            out[out_start + chunk] = largest_here
            maximum = max(maximum, largest_here)
        first, last = part * PART, min((part + 1) * PART, num_logits)
        total, total_weighted, probe = power_sums(row, first, last, maximum)
        out[numbers + part] = maximum
        out[numbers + num_parts + part] = total
        out[numbers + 2 * num_parts + part] = total_weighted
        out[numbers + 3 * num_parts + part] = probe


@internal()
def is_finite(stats: Logits, num_logits: Scalar) -> Scalar:
    """True if all logits of a row are finite; if not, its statistics are undefined."""
    num_parts = -(-num_logits // PART)
    probe = np.float32(0.0)
    for part in range(stats.size - num_parts, stats.size):
        probe += abs(stats[part])
    return probe == np.float32(0.0)


@internal()
def entropy_of(stats: Logits, maximum: Scalar, num_logits: Scalar) -> tuple[Scalar, Scalar]:
    """From the statistics of a row: the log of the sum of exp(logit - maximum), and the entropy in units of ln V."""
    num_chunks, num_parts = -(-num_logits // CHUNK), -(-num_logits // PART)
    total = 0.0
    total_weighted = 0.0
    for part in range(num_chunks, num_chunks + num_parts):
        below = np.float64(stats[part]) - maximum
        total_here = np.float64(stats[part + num_parts])
        weighted_here = np.float64(stats[part + 2 * num_parts])
        scaled = math.exp(below) * total_here
        total += scaled
        total_weighted += math.exp(below) * weighted_here * math.log(2) + below * scaled
    log_total = math.log(total)
    if num_logits == 1:
        return log_total, 0.0
    entropy = (log_total - total_weighted / total) / math.log(num_logits)
    return log_total, min(1.0, max(0.0, entropy))


@internal(fastmath={"contract"})
def fill_weights(
    logits: Logits, maximum: Scalar, floor: Scalar, last: Scalar, temperature: Scalar, weights: Logits
) -> None:
    """weights = exp((logit - maximum) / T), 0 for logits below `floor`, and at `floor` beyond id `last`."""
    scale = np.float32(LOG2_E / temperature)
    for i in range(logits.size):
        weight = _power_or_zero((logits[i] - maximum) * scale)
        is_kept = (logits[i] > floor) | ((logits[i] == floor) & (i <= last))
        weights[i] = weight if is_kept else np.float32(0.0)


@internal(fastmath={"contract"})
def reweigh(logits: Logits, maximum: Scalar, cut: Scalar, last: Scalar, temperature: Scalar, weights: Logits) -> None:
    """Weights at 1 become weights at T, or 0 below `cut`, and at `cut` beyond id `last`; 0 stays 0."""
    scale = np.float32(LOG2_E / temperature)
    for i in range(logits.size):
        weight = _power_or_zero((logits[i] - maximum) * scale)
        is_kept = (weights[i] > cut) | ((weights[i] == cut) & (i <= last) & (cut > 0))
        weights[i] = weight if is_kept else np.float32(0.0)


@internal()
def fill_masses(weights: Logits, masses: Reals) -> Scalar:
    """Sums of the weights of each part; returns that of all."""
    total: Scalar = 0.0
    none = broadcast(np.float32(0))
    for part in range(masses.size):
        first, last = part * PART, min((part + 1) * PART, weights.size)
        masses[part] = sum_weights(weights, weights, first, last, none, none)
        total += masses[part]
    return total


@internal()
def mass_from(weights: Logits, floor: Scalar, counts: Ids) -> Scalar:
    """The sum of the weights that are >= floor; counts[0] becomes their number."""
    total: Scalar = 0.0
    num_from_floor = np.int32(0)
    lowest = broadcast(np.float32(floor))
    for start in range(0, weights.size, PART):
        part = weights[start : start + PART]
        total += sum_weights_from(weights, weights, start, start + part.size, lowest, lowest)
        for i in range(part.size):
            num_from_floor += np.int32(part[i] >= floor)
    counts[0] = num_from_floor
    return total
