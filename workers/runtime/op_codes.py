"""Kinds of operations and of rows, by the numbers that the compiled step uses."""

from __future__ import annotations

from enum import IntEnum


class OpCode(IntEnum):
    """Kinds of operations; the compiled step uses the same numbers."""

    EMBED = 0
    GATHER = 1
    NORM = 2
    ENCODE = 3
    MATMUL = 4
    BIAS = 5
    NORM_HEADS = 6
    ROTATE = 7
    STORE = 8
    ATTEND = 9
    GATE = 10
    ADD = 11
    SOFTCAP = 12
    STORE_STATE = 13
    SHORT_CONV = 14
    CHOOSE = 15
    COMBINE = 16
    LOGIT_STATS = 17
    NORM_COLUMNS = 18
    SCALE = 19
    SCALE_QUERIES = 20
    GATE_HEADS = 21
    SCORE = 22
    CAUSAL_CONV = 23
    DELTA_RULE = 24
    DELTA_GATES = 25
    UNIT_HEADS = 26
    GATED_NORM = 27
    SIGMOID_GATE = 28
    SELECTIVE_SCAN = 29
    CLAMPED_GATE = 30
    GELU_TIMES = 31
    LAYER_NORM = 32
    ACTIVATE = 33
    MERGE = 34
    SHIFT = 35
    JOIN = 36
    ADD_GIVEN = 37
    GRID_CONV = 38
    CLAMP = 39
    STANDARDISE = 40
    TAKE_STREAM = 41  # from here on, operations on several residual streams
    MIX_STREAMS = 42
    CORRECT_STREAMS = 43
    ADD_TO_STREAMS = 44
    LEVEL_STREAMS = 45
    AVERAGE_STREAMS = 46
    CUT_GATES = 47
    GROUP = 48  # from here on, operations over the choices of all tokens together
    ENCODE_CHOSEN = 49
    EXPERT_MATMUL = 50
    ADAPTER_DOWN = 51  # from here on, products of adapters
    ADAPTER_UP = 52


class RowKind(IntEnum):
    """The number of rows of a value in a step; the tokens of an encoder are the patches of a tile."""

    TOKENS = 0
    LOGITS = 1  # tokens with logits, or merged patches
    CHOICES = 2  # tokens times chosen experts


RECURRENCES = frozenset({OpCode.CAUSAL_CONV, OpCode.DELTA_RULE, OpCode.SELECTIVE_SCAN, OpCode.SHIFT})
"""Operations with a state of each sequence; they go over its tokens in order."""
