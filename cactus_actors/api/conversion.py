"""Plain JSON values -> our types, with the place of what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.type_mismatch import mismatch_of

S = TypeVar("S")


def converted(value: object, kind: type[S]) -> S:
    """`value` as a `kind`; raises InvalidRequest whose `param` is the path of the first field that is not."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        mismatch = mismatch_of(error, kind)
        raise InvalidRequest(mismatch.message, param=mismatch.param) from None


def typed(body: Mapping[str, Any], kind: type[S]) -> S:
    """`body` as a `kind`, null standing for what is left out; raises as `converted` does."""
    return converted({name: value for name, value in body.items() if value is not None}, kind)
