"""Types of settings, and their descriptions."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
NonNegative = Annotated[int, Meta(ge=0)]
TokenCount = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Duration = Annotated[float, Meta(gt=0, le=1e9)]
Price = Annotated[float, Meta(ge=0, le=1e9)]
HourOrLess = Annotated[float, Meta(gt=0, le=3600)]
DayOrLess = Annotated[float, Meta(gt=0, le=86_400)]


def about(text: str) -> Meta:
    """The description of a field, for `cactus serve --help` and docs/reference/configuration.md."""
    return Meta(description=text)
