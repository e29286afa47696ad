"""Converts messages of the grammar compiler to our errors, which name fields of the request."""

from __future__ import annotations

import re

from cactus_actors.protocol.errors import (
    InvalidRequest,
    NotSupported,
    SchemaInvalid,
    SchemaTooComplex,
    SchemaUnsatisfiable,
)

TOO_COMPLEX = "it is too complex to be compiled"
NOT_ENFORCED = "it cannot be enforced"

_EXPRESSION_ERROR = re.compile(
    r"regex parse error:\n(?: {4}(?!\s*\^).*\n)* {4}(?P<before> *)\^.*\nerror: (?P<reason>.*)"
)
"""The expression, marks below the fault, and the reason."""

_LIMITS = r"(?i)too (many|big|large|complex|deep)|exceed|limit|fuel"

_KINDS: tuple[tuple[str, type[InvalidRequest], str], ...] = (
    (r"oneOf constraints", NotSupported, "oneOf can be enforced only where its schemas plainly exclude each other"),
    (
        r"lookarounds not supported.* in regex /(?P<detail>.*)/",
        NotSupported,
        "the expression {detail} looks around: ^ and $ can stand only at its ends",
    ),
    (
        r"min/maxProperties only supported",
        NotSupported,
        "minProperties and maxProperties can be enforced only where all listed properties are required",
    ),
    (
        r"patternProperty regexes (?P<detail>.*) are not disjoint",
        NotSupported,
        "patterns of patternProperties can be enforced only where no name matches two: {detail}",
    ),
    (r"[Uu]nable to determine if", SchemaTooComplex, TOO_COMPLEX),
    (
        r"Unsatisfiable schema: Regex is empty",
        SchemaUnsatisfiable,
        "no text can match it: its patterns, lengths and formats exclude each other",
    ),
    (
        r"range \[.*\] does not contain a (?P<detail>multiple of \S+)",
        SchemaUnsatisfiable,
        "no number within its bounds is a {detail}",
    ),
    (r"Unsatisfiable schema: (?P<detail>.*)", SchemaUnsatisfiable, "no value can match it: {detail}"),
    (r"(?i)unsatisfiable|is empty", SchemaUnsatisfiable, "no text can match it"),
    (
        r"'multipleOf' has too many digits|Failed to generate regex for \w+ range",
        NotSupported,
        "its bounds or its multipleOf are numbers too large or too fine to be enforced",
    ),
    (_LIMITS, SchemaTooComplex, TOO_COMPLEX),
    (r"(?i)unimplemented|not (supported|disjoint|fully)|can't determine", NotSupported, NOT_ENFORCED),
)


def is_about_limits(message: str) -> bool:
    """True if the compiler, or the matcher, gave up because of its limits and not because of the grammar."""
    return re.search(_LIMITS, message) is not None


def error_of(message: str, param: str) -> InvalidRequest:
    """The error for the compiler's `message` about the field `param`."""
    expression = _EXPRESSION_ERROR.search(message)
    if expression is not None:
        reason = expression["reason"]
        where = f"the expression, position {len(expression['before'])}"
        return SchemaInvalid(f"{where}: {reason[:1].lower()}{reason[1:200]}", param=param)
    line = message.strip().partition("\n")[0]
    for pattern, kind, words in _KINDS:
        found = re.search(pattern, line)
        if found is not None:
            return kind(words.format(detail=(found.groupdict().get("detail") or "")[:200]), param=param)
    return SchemaInvalid("it cannot be compiled", param=param)
