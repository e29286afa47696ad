"""Groups the failed lines of a run by reason, from its error file."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from cactus_actors.batch.batch_errors import naming_file

MAX_KINDS = 100
"""Beyond this many kinds of messages, lines are grouped by code and param only."""
_OF_ONE_LINE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+")

_Key = tuple[str, str | None, str]


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Lines with the same `code`, `param` and kind of message; `message` is that of `first_line`."""

    code: str
    param: str | None
    count: int
    message: str
    first_line: int | None


class _Error(msgspec.Struct):
    code: str = "server_error"
    message: str = ""
    param: str | None = None
    line: int | None = None


class _ErrorLine(msgspec.Struct):
    error: _Error


def reasons_of(path: Path) -> list[Reason]:
    """The reasons in an error file, the most frequent first; none if there is no file.

    Raises OutputFailed.
    """
    reasons: dict[_Key, Reason] = {}
    decoder = msgspec.json.Decoder(_ErrorLine)
    with naming_file(path), contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                error = decoder.decode(line).error
                key = _key(error)
                if key not in reasons and len(reasons) >= MAX_KINDS:
                    key = error.code, error.param, ""
                reasons[key] = _with(reasons.get(key), error)
    return _sorted(reasons.values())


def merged_reasons(reasons: Iterable[Reason]) -> list[Reason]:
    """Reasons of several files: those of one kind are one, with the line and the message of the first file."""
    merged: dict[_Key, Reason] = {}
    for reason in reasons:
        known = merged.setdefault(_key(reason), msgspec.structs.replace(reason, count=0))
        merged[_key(reason)] = msgspec.structs.replace(known, count=known.count + reason.count)
    return _sorted(merged.values())


def _sorted(reasons: Iterable[Reason]) -> list[Reason]:
    return sorted(reasons, key=lambda reason: (-reason.count, reason.code, reason.param or ""))


def _key(error: _Error | Reason) -> _Key:
    """The grouping key of an error: its message without quoted words and numbers."""
    return error.code, error.param, _OF_ONE_LINE.sub("_", error.message)


def _with(known: Reason | None, error: _Error) -> Reason:
    """The reason with one more line."""
    count = 1 if known is None else known.count + 1
    if known is not None and (known.first_line or 0) <= (error.line or 0):
        return msgspec.structs.replace(known, count=count)
    return Reason(code=error.code, param=error.param, count=count, message=error.message, first_line=error.line)
