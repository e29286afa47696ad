"""Integers that every reader of JSON decodes to the same value.

JavaScript, like any reader of JSON numbers as float64, rounds integers beyond 2**53 - 1. Seeds are drawn below
that. A larger integer of a client, or in a model's call, is sent as text too.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from msgspec import Meta

from cactus_actors.protocol.errors import InvalidRequest

MAX_EXACT = 2**53 - 1
RANDOM_SEED = -1
NUM_DRAWN_BITS = 53

Seed = int | Annotated[str, Meta(pattern=r"^(-1|[0-9]{1,20})$")] | None
"""A seed as clients write it: a JSON number, or its decimal digits as text."""


def seed_of(given: int | str | None) -> int:
    """The seed of a client, RANDOM_SEED for none; raises InvalidRequest for text that is not digits."""
    if given is None:
        return RANDOM_SEED
    try:
        return int(given)
    except ValueError:
        raise InvalidRequest("seed must be an integer of 64 bits, or its digits", param="seed") from None


def drawn_seed() -> int:
    """A new seed."""
    return secrets.randbits(NUM_DRAWN_BITS)


def seed_of_job(job_id: str) -> int:
    """The seed of a job without one, derived from its id."""
    return int(job_id[:16], 16) >> (64 - NUM_DRAWN_BITS)


def text_if_inexact(value: int) -> str | None:
    """The digits of an integer that some readers round, None for any other."""
    return str(value) if abs(value) > MAX_EXACT else None


def is_exact(value: Any) -> bool:
    """True if float64 readers of JSON read every integer in the value exactly."""
    match value:
        case bool():
            return True
        case int():
            return abs(value) <= MAX_EXACT
        case dict():
            return all(map(is_exact, value.values()))
        case list() | tuple():
            return all(map(is_exact, value))
    return True
