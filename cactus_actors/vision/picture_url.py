"""The address of a picture on a web server, checked against the hosts that the service fetches from."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from cactus_actors.protocol.errors import MediaInvalid, MediaNotAllowed

ANY_HOST = "*"
_PORTS = {"http": 80, "https": 443}
_SAFE = "/%:@!$&'()*+,;=~-._?"


class PictureURL(NamedTuple):
    """The address to connect to, and the requested path with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        """The value of the header Host."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"


def checked_url(url: str, allowed: Collection[str]) -> PictureURL:
    """The parts of an http or https URL of an allowed host.

    `allowed` has hosts as NAME, for the scheme's own port, or NAME:PORT, or * for all hosts at the schemes' own ports.
    Raises MediaNotAllowed for any other URL, and MediaInvalid for a malformed one.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
        host = _host(parts)
    except ValueError:
        raise MediaInvalid("malformed URL") from None
    if parts.scheme not in _PORTS:
        raise MediaNotAllowed("only http and https URLs are fetched")
    if parts.username is not None or parts.password is not None:
        raise MediaNotAllowed("URLs with credentials are not fetched")
    if not host:
        raise MediaInvalid("malformed URL")
    is_own_port = port == _PORTS[parts.scheme]
    is_allowed = f"{host}:{port}" in allowed or (is_own_port and (host in allowed or ANY_HOST in allowed))
    if not is_allowed:
        raise MediaNotAllowed("this service fetches no pictures from that host")
    path = quote(parts.path or "/", safe=_SAFE)
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return PictureURL(parts.scheme, host, port, path + query)


def _host(parts: SplitResult) -> str:
    """The host in ASCII and lower case, without a dot at its end."""
    host = (parts.hostname or "").rstrip(".")
    return host if host.isascii() else host.encode("idna").decode("ascii").lower()
