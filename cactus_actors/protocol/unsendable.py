"""Requests that cannot be encoded: text that is not Unicode, integers beyond 64 bits, endless nesting."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Submit

UNSENDABLE = (UnicodeEncodeError, TypeError, OverflowError, RecursionError)
"""Errors of an encoder for such a value."""

_REASONS = {
    UnicodeEncodeError: "holds text that is not Unicode",
    OverflowError: "holds an integer of more than 64 bits",
    RecursionError: "is nested too deeply",
}


def unsendable(submit: Submit, error: Exception) -> InvalidRequest:
    """The error for the first field of `submit` that cannot be encoded; `error` is the encoder's."""
    options = {field: getattr(submit.options, field) for field in submit.options.__struct_fields__}
    given = {name: getattr(submit, name) for name in ("messages", "prompt", "tools", "choice")} | options
    param = next((field for field, value in given.items() if not _is_sendable(value)), None)
    reason = _REASONS.get(type(error), f"cannot be sent: {error}")
    return InvalidRequest(f"{param or 'the request'} {reason}", param=param)


def _is_sendable(value: object) -> bool:
    try:
        msgspec.msgpack.encode(value)
    except UNSENDABLE:
        return False
    return True
