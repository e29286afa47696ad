"""An error as it crosses a socket."""

from __future__ import annotations

import msgspec


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as it travels; `param` names the offending field, `retry_after` is in seconds."""

    type: str
    status: int
    message: str
    param: str | None = None
    retry_after: float | None = None
