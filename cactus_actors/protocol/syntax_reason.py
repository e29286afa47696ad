"""Rewrites the decoder's syntax errors of JSON and msgpack in plain words."""

from __future__ import annotations

import re

import msgspec

_SUBJECT = re.compile(r"^(JSON|MessagePack data) is malformed: ")
_TOO_SHORT = "Input data was truncated"


def syntax_reason(error: msgspec.DecodeError) -> str:
    """The reason, with the position (`byte N`) if the decoder reports one."""
    return _SUBJECT.sub("", str(error)).replace(_TOO_SHORT, "it ends too early")
