"""Reads untrusted model files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from cactus_actors.protocol.errors import ModelFileInvalid

PICKLE_SUFFIXES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl"})
MAX_CONFIG_BYTES = 16 << 20
MAX_SHOWN_CHARACTERS = 500

# a lone UTF-16 surrogate, unless a backslash before it makes it text
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def invalid(path: Path, what: str) -> ModelFileInvalid:
    """The error that names a model file and its fault; quotes of the file are shortened."""
    shown = what if len(what) <= MAX_SHOWN_CHARACTERS else f"{what[:MAX_SHOWN_CHARACTERS]}..."
    return ModelFileInvalid(f"{path}: {shown}", param=path.name)


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in `path`; ModelFileInvalid if it is missing, too large, or anything else."""
    return parse_json_object(path, read_bytes(path, max_bytes=MAX_CONFIG_BYTES))


def parse_json_object(path: Path, content: bytes) -> dict[str, Any]:
    """Strict JSON: Unicode text, no key twice, an object at the root. `path` is for the error only."""

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise invalid(path, "a JSON object names the same key twice")
        return members

    try:
        root = json.loads(content.decode("utf-8"), object_pairs_hook=without_duplicates)
        if _SURROGATE.search(content):
            json.dumps(root, ensure_ascii=False).encode("utf-8")  # raises for a lone surrogate
    except (ValueError, RecursionError) as error:
        raise invalid(path, f"not valid JSON: {error}") from error
    if not isinstance(root, dict):
        raise invalid(path, "not a JSON object")
    return root


def read_bytes(path: Path, *, max_bytes: int) -> bytes:
    """The whole of a file that is at most `max_bytes` long; ModelFileInvalid otherwise."""
    try:
        if path.stat().st_size > max_bytes:
            raise invalid(path, f"larger than the {max_bytes} bytes allowed for this file")
        return path.read_bytes()
    except OSError as error:
        raise invalid(path, f"cannot be read: {error.strerror or error}") from error
