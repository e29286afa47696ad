"""Converts plain JSON values to our types; errors name the place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.type_mismatch import mismatch_of

S = TypeVar("S")


def converted(value: object, kind: type[S]) -> S:
    """`value` as a `kind`; raises InvalidRequest whose `param` is the path of the first invalid field."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        mismatch = mismatch_of(error, kind)
        raise InvalidRequest(mismatch.message, param=mismatch.param) from None


def typed(body: Mapping[str, Any], kind: type[S]) -> S:
    """`body` as a `kind`, where null means an absent field; raises like `converted`."""
    return converted({name: value for name, value in body.items() if value is not None}, kind)
