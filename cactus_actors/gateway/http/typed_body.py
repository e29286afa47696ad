"""A body of an endpoint of our own as its struct."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from cactus_actors.api.conversion import converted

S = TypeVar("S", bound=msgspec.Struct)


def typed(body: dict[str, Any], kind: type[S]) -> S:
    """`body` as a `kind`, null standing for what is left out; raises InvalidRequest with `param`."""
    return converted({name: value for name, value in body.items() if value is not None}, kind)
