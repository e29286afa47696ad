"""The directory and the hosts from which pictures of requests may be read."""

from __future__ import annotations

import msgspec


class PictureAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The permitted sources of pictures besides data URLs: the settings `image_root` and `image_hosts`."""

    root: str | None = None
    hosts: list[str] = []


DATA_URLS_ALONE = PictureAccess()
