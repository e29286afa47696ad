"""JSON by the letter (RFC 8259), where a name that is given twice in one object is a mistake too."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from cactus_actors.protocol.errors import InvalidJSON
from cactus_actors.protocol.type_mismatch import mismatch_of

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode_strictly(text: bytes, what: str) -> Any:
    """The value that `text` is, in UTF-8; raises InvalidJSON about `what`, with the place where it can."""
    try:
        value = msgspec.json.decode(text)
        _TELLING_NAMES_APART.decode(text.decode())
    except msgspec.ValidationError as error:
        raise InvalidJSON(f"{what} is not JSON that is taken here: {mismatch_of(error).message}") from None
    except msgspec.DecodeError as error:
        raise InvalidJSON(f"{what} is not JSON: {_placed(str(error), text)}") from None
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"{what} is not UTF-8: {error.reason} (byte {_first_undecodable(text)})") from None
    except RecursionError:
        raise InvalidJSON(f"{what} is not JSON that is taken here: nested too deeply") from None
    except ValueError as error:  # of json: a number of thousands of digits
        raise InvalidJSON(f"{what} is not JSON that is taken here: {error}") from None
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidJSON(f"{twice[:64]!r} is given twice in one object", param=twice[:64])
    return fields


_TELLING_NAMES_APART = json.JSONDecoder(object_pairs_hook=_distinct)


def _placed(reason: str, text: bytes) -> str:
    if "byte" in reason:
        return reason
    if not _is_cut(text) and (half := _SURROGATE.search(text)):
        return f"half of a surrogate pair (byte {half.start()})"
    return f"{reason} (byte {len(text)})"


def _is_cut(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _first_undecodable(text: bytes) -> int:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(text)
