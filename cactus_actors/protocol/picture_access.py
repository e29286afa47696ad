"""Where the pictures of requests may be read from."""

from __future__ import annotations

import msgspec


class PictureAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Where pictures are read from beside data URLs; `root` and `hosts` are `image_root` and `image_hosts`."""

    root: str | None = None
    hosts: list[str] = []


DATA_URLS_ALONE = PictureAccess()
