"""Reads the encoded pictures that requests name: data URLs, paths, file URLs, and http(s) URLs."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from cactus_actors.protocol.errors import MediaInvalid, MediaNotAllowed, MediaTooLarge
from cactus_actors.vision.picture_directory import PictureDirectory
from cactus_actors.vision.picture_limits import LIMITS

if TYPE_CHECKING:
    from cactus_actors.vision.picture_fetcher import PictureFetcher

FETCH_LIMIT_S = 3.0
"""The seconds for fetching the pictures of a request: less than a request may be in preparation."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_URL_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BLANKS = re.compile(r"[ \t\r\n]+")


class PictureReader:
    """Reads pictures; without a directory paths and file URLs are refused, without hosts http(s) URLs."""

    def __init__(
        self,
        root: Path | None = None,
        hosts: Collection[str] = (),
        *,
        max_bytes: int = LIMITS.max_bytes,
        fetcher: PictureFetcher | None = None,
    ) -> None:
        self._directory = None if root is None else PictureDirectory(root)
        self._fetcher = fetcher or _fetcher_of(hosts)
        self._max_bytes = max_bytes

    def read(self, source: str, limit_s: float = FETCH_LIMIT_S) -> bytes:
        """The encoded picture; raises MediaNotAllowed, MediaTooLarge or MediaInvalid.

        Fetching it may take `limit_s` seconds.
        """
        match = _SCHEME.match(source)
        match match[1].lower() if match else "":
            case "data":
                return _of_data_url(source, self._max_bytes)
            case "file":
                return self._of_path(_path_of_url(source))
            case "http" | "https":
                if self._fetcher is None:
                    raise MediaNotAllowed("this service fetches no pictures")
                return self._fetcher.fetch(source, self._max_bytes, limit_s)
        if _URL_SCHEME.match(source):
            raise MediaNotAllowed("a picture is given as a path, or as a data, file, http or https URL")
        return self._of_path(source)

    def _of_path(self, path: str) -> bytes:
        if self._directory is None:
            raise MediaNotAllowed("this service reads no pictures from files")
        return self._directory.read(path, self._max_bytes)


def _fetcher_of(hosts: Collection[str]) -> PictureFetcher | None:
    if not hosts:
        return None
    from cactus_actors.vision.picture_fetcher import PictureFetcher  # with TLS: most services fetch nothing

    return PictureFetcher(hosts)


def _path_of_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise MediaInvalid("malformed URL") from None
    if parts.netloc not in ("", "localhost"):
        raise MediaNotAllowed("a file URL must not name a host")
    return unquote(parts.path)


def _of_data_url(url: str, max_bytes: int) -> bytes:
    """The content of a data URL (RFC 2397) in base64; its media type is ignored."""
    head, comma, body = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise MediaInvalid("a data URL is data:image/TYPE;base64,CONTENT")
    if len(body) > 2 * max_bytes + 16:  # before anything is copied; percent signs and blanks are removed below
        raise MediaTooLarge(f"more than {max_bytes} bytes")
    try:
        content = base64.b64decode(_BLANKS.sub("", unquote(body) if "%" in body else body), validate=True)
    except (binascii.Error, ValueError):
        raise MediaInvalid("the data URL is not valid base64") from None
    if len(content) > max_bytes:
        raise MediaTooLarge(f"{len(content)} bytes, {max_bytes} are allowed")
    return content
