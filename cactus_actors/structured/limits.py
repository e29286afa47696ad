"""Limits on schemas, regular expressions and grammars."""

from __future__ import annotations

from typing import Any

from llguidance import LLParserLimits

from cactus_actors.protocol.errors import SchemaTooComplex

MAX_BYTES = 256 * 1024
"""Bytes of a schema or grammar."""
MAX_REGEX = 16 * 1024
"""Characters of one regular expression."""
MAX_DEPTH = 64
"""Schemas inside schemas, groups inside groups."""
MAX_REFERENCE_DEPTH = 128
"""Schemas along a chain of references: they are compiled by recursion, on a stack of fixed size."""
MAX_SCHEMAS = 4000
MAX_ENUM_VALUES = 5000
MAX_OPTIONAL_PROPERTIES = 256
"""Properties of one object: each may be next, so every step examines all of them."""
MAX_COUNT = 100_000
"""Items, properties and characters that a schema may require."""
MAX_REMAINDERS = 100_000
"""Remainders of a division by `multipleOf`, its decimal places included."""
MAX_REPEATS = 10_000
"""Characters and groups of an expression or rule, repetitions multiplied out."""
MAX_RULES = 1000
MAX_RULE_DEPTH = 1000
"""Rules and groups along a chain of rules, for the same reason."""


def parser_limits() -> LLParserLimits:
    """Bounds on the work of compiling a grammar and of one mask, and on the memory of one sequence."""
    return LLParserLimits(max_lexer_states=20_000, verbose_errors=False)


def check_limit(value: int, highest: int, what: str, param: str) -> None:
    """Raise SchemaTooComplex if `value` is above `highest`."""
    if value > highest:
        raise SchemaTooComplex(f"{what}: {value}, at most {highest}", param=param)


def short(value: Any) -> str:
    """`value` for a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
