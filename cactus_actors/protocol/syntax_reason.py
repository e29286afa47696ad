"""Syntax errors of JSON and msgpack in plain words instead of the decoder's."""

from __future__ import annotations

import re

import msgspec

_SUBJECT = re.compile(r"^(JSON|MessagePack data) is malformed: ")
_TOO_SHORT = "Input data was truncated"


def syntax_reason(error: msgspec.DecodeError) -> str:
    """The reason, with the place (`byte N`) where the decoder tells one."""
    return _SUBJECT.sub("", str(error)).replace(_TOO_SHORT, "it ends too early")
