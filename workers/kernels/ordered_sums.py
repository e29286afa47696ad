# ruff: noqa: ARG001 - all terms have the same parameters
"""Sums over a part of a row of logits, added in the same order on every CPU.

Of a loop over single numbers LLVM would make as many sums side by side as suit the CPU that it compiles for. Here
there are always thirty-two: number k adds the elements k, k + 32, ... of the part.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import (
    FLOATS,
    INTEGERS,
    absolute,
    broadcast,
    constant,
    fma,
    lanes_below,
    larger_of,
    load,
    load_first,
    operation,
    vector,
)
from cactus_actors.workers.kernels.vector_parts import parts_of

Floats = Any
"""An array of float32, one after the other."""
Lanes = Any
"""Sixteen lanes."""

LOG2_E = np.float32(1.4426950408889634)


@operation(vector, vector)
def _larger(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The larger of a and b; b where either is NaN."""
    return larger_of(builder, a, b)


@operation(vector, vector, vector)
def _where_at_least(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, value: ir.Value) -> ir.Value:
    """`value` where a >= b, else 0."""
    return builder.select(builder.fcmp_ordered(">=", a, b), value, constant(FLOATS, 0.0))


@operation(vector)
def _scale_in(builder: ir.IRBuilder, shifted: ir.Value) -> ir.Value:
    """2^n of n + 1.5 * 2^23."""
    exponent = builder.add(builder.bitcast(shifted, INTEGERS), constant(INTEGERS, 127))
    return builder.bitcast(builder.shl(exponent, constant(INTEGERS, 23)), FLOATS)


@operation(vector, vector, result=types.float32)
def _total(builder: ir.IRBuilder, first: ir.Value, second: ir.Value) -> ir.Value:
    """Thirty-two sums added up: four times eight, then in a tree."""
    total, *others = (half for sums in (first, second) for half in parts_of(builder, sums, 2))
    for other in others:
        total = builder.fadd(total, other)
    while total.type.count > 1:
        total = builder.fadd(*parts_of(builder, total, 2))
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


@operation(vector, types.int64)
def _only_first(builder: ir.IRBuilder, a: ir.Value, count: ir.Value) -> ir.Value:
    """Lanes from `count` on become 0."""
    return builder.select(lanes_below(builder, count), a, constant(FLOATS, 0.0))


def _make_sum(term: Any) -> Any:
    @internal()
    def sum_of_terms(values: Floats, weights: Floats, start: int, stop: int, bound: Lanes, centre: Lanes) -> Any:
        first, second = broadcast(np.float32(0)), broadcast(np.float32(0))
        whole = start + (stop - start) // 32 * 32
        for place in range(start, whole, 32):
            next_place = place + 16
            first = first + term(load(values, place), load(weights, place), bound, centre)
            second = second + term(load(values, next_place), load(weights, next_place), bound, centre)
        rest, last, left = stop - whole, whole + 16, stop - whole - 16
        if rest > 0:
            first = first + term(load_first(values, whole, rest), load_first(weights, whole, rest), bound, centre)
        if left > 0:
            second = second + term(load_first(values, last, left), load_first(weights, last, left), bound, centre)
        return _total(first, second)

    return sum_of_terms


@internal()
def _weight(value: Lanes, weight: Lanes, bound: Lanes, centre: Lanes) -> Lanes:
    return weight


@internal()
def _weight_from(value: Lanes, weight: Lanes, bound: Lanes, centre: Lanes) -> Lanes:
    return _where_at_least(value, bound, weight)


@internal()
def _weight_within(value: Lanes, weight: Lanes, bound: Lanes, centre: Lanes) -> Lanes:
    return _where_at_least(bound, absolute(value - centre), weight)


@internal()
def _weighted_distance(value: Lanes, weight: Lanes, bound: Lanes, centre: Lanes) -> Lanes:
    return weight * _larger(value - centre, bound)


sum_weights = _make_sum(_weight)
"""The sum of weights[start:stop]; as each of these, of (values, weights, start, stop, bound, centre)."""
sum_weights_from = _make_sum(_weight_from)
"""Of those whose value is >= bound."""
sum_weights_within = _make_sum(_weight_within)
"""Of those whose value is at most `bound` from the centre."""
sum_weighted_distances = _make_sum(_weighted_distance)
"""The sum of weight * max(value - centre, bound)."""


@internal()
def power_sums(logits: Floats, start: int, stop: int, maximum: Any) -> Any:
    """(sum of w = 2^x, sum of w * x, a zero if all are finite); x = (logit - maximum) / ln 2, at least -126."""
    zero, centre = broadcast(np.float32(0)), broadcast(maximum)
    totals, more_totals, weighted, more_weighted, probe = zero, zero, zero, zero, zero
    whole = start + (stop - start) // 32 * 32
    for place in range(start, whole, 32):
        values, more = load(logits, place), load(logits, place + 16)
        x, more_x = _exponent(values, centre), _exponent(more, centre)
        weights, more_weights = _power_of_two(x), _power_of_two(more_x)
        totals, more_totals = totals + weights, more_totals + more_weights
        weighted, more_weighted = fma(weights, x, weighted), fma(more_weights, more_x, more_weighted)
        probe = probe + values * zero + more * zero
    rest, left = stop - whole, stop - whole - 16
    if rest > 0:
        values = load_first(logits, whole, rest)
        x = _exponent(values, centre)
        weights = _only_first(_power_of_two(x), rest)
        totals, weighted, probe = totals + weights, fma(weights, x, weighted), probe + values * zero
    if left > 0:
        values = load_first(logits, whole + 16, left)
        x = _exponent(values, centre)
        weights = _only_first(_power_of_two(x), left)
        more_totals, more_weighted = more_totals + weights, fma(weights, x, more_weighted)
        probe = probe + values * zero
    return _total(totals, more_totals), _total(weighted, more_weighted), _total(probe, zero)


@internal()
def _exponent(values: Lanes, maximum: Lanes) -> Lanes:
    return _larger((values - maximum) * broadcast(LOG2_E), broadcast(np.float32(-126)))


@internal()
def _power_of_two(x: Lanes) -> Lanes:
    """2^x for -126 <= x <= 0, with the bits of `softmax`."""
    magic = broadcast(np.float32(12582912.0))
    shifted = x + magic
    rest = x - (shifted - magic)
    value = broadcast(np.float32(math.log(2) ** 6 / 720))
    value = fma(value, rest, broadcast(np.float32(math.log(2) ** 5 / 120)))
    value = fma(value, rest, broadcast(np.float32(math.log(2) ** 4 / 24)))
    value = fma(value, rest, broadcast(np.float32(math.log(2) ** 3 / 6)))
    value = fma(value, rest, broadcast(np.float32(math.log(2) ** 2 / 2)))
    value = fma(value, rest, broadcast(np.float32(math.log(2))))
    value = fma(value, rest, broadcast(np.float32(1.0)))
    return value * _scale_in(shifted)
