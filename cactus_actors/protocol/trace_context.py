"""The trace that a job belongs to: the `traceparent` of https://www.w3.org/TR/trace-context-2/."""

from __future__ import annotations

import re

_FORM = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
_LENGTH = 55


def is_traceparent(text: str) -> bool:
    """True for a traceparent of version 00 whose ids are not zero."""
    return _FORM.fullmatch(text) is not None


def read_traceparent(header: str) -> str | None:
    """The traceparent of a header, as version 00; None for an invalid header, whose job starts a trace of its own.

    Of a later version than 00, except ff, the first fields are read.
    """
    text = header.strip(" \t")
    version, rest = text[:2], text[2:_LENGTH]
    is_later = re.fullmatch("[0-9a-f]{2}", version, re.ASCII) is not None and version not in ("00", "ff")
    if len(text) > _LENGTH and not (is_later and text[_LENGTH] == "-"):
        return None
    read = f"00{rest}"
    return read if (version == "00" or is_later) and is_traceparent(read) else None


def trace_id_of(traceparent: str) -> str:
    """The 32 hexadecimal digits of the trace."""
    return traceparent[3:35]
