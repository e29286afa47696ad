"""The files of the page, as the package has them: modules, styles, and one document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

PREFIX = "/page/"
_MEDIA_TYPES = {
    "html": "text/html",
    "js": "text/javascript",
    "css": "text/css",
    "svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file of the page; its `etag` changes with its content."""

    body: bytes
    media_type: str
    etag: str


@cache
def assets() -> Mapping[str, Asset]:
    """All files by their paths on the server; that of the document is `/`."""
    static = files("cactus_actors.gateway.page") / "static"
    found = {PREFIX + name: _asset(name, file) for name, file in _below(static, "")}
    return {"/": found.pop(f"{PREFIX}index.html"), **found}


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        name = prefix + entry.name
        if entry.is_dir():
            found += _below(entry, f"{name}/")
        elif name.rpartition(".")[2] in _MEDIA_TYPES:
            found.append((name, entry))
    return found


def _asset(name: str, file: Traversable) -> Asset:
    body = file.read_bytes()
    etag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    return Asset(body, _MEDIA_TYPES[name.rpartition(".")[2]], etag)
