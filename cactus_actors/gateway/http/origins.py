"""Rules for requests of web pages with methods that change something.

A browser sends some requests of foreign pages without a preflight: forms, uploads, plain text. It names the page in
`Origin` (RFC 6454), and its relation to the server in `Sec-Fetch-Site` (W3C Fetch Metadata Request Headers).
Programs other than browsers send neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias
from urllib.parse import urlsplit

from cactus_actors.protocol.errors import ConfigurationInvalid, PermissionDenied

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

PREFLIGHT_VALID_S = 600
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({b"same-origin", b"none"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class OriginPolicy:
    """Refuses unsafe requests of pages of other origins, except the `allowed` ones.

    The server's own pages have one of `schemes`. Raises ConfigurationInvalid for an allowed origin that is not
    SCHEME://HOST[:PORT].
    """

    def __init__(self, allowed: Collection[str] = (), schemes: Collection[str] = ("http", "https")) -> None:
        self._schemes = frozenset(schemes)
        self._allowed = frozenset(_checked(origin) for origin in allowed)

    def check(self, method: str, headers: Headers) -> None:
        """Raise PermissionDenied for a request of a foreign page, unless its method changes nothing."""
        if method in SAFE_METHODS:
            return
        given: dict[bytes, list[bytes]] = {b"origin": [], b"sec-fetch-site": [], b"host": []}
        for name, value in headers:
            if name in given:
                given[name].append(value.lower())
        origins = given[b"origin"]
        if origins:
            is_foreign = not all(self._is_ours(origin, given[b"host"]) for origin in origins)
        else:
            is_foreign = not _OWN_SITES.issuperset(given[b"sec-fetch-site"])
        if is_foreign:
            raise PermissionDenied(
                "a web page of another origin may not send this; name its origin in [gateway] allowed_origins"
            )

    def preflight(self, method: str, headers: Headers) -> list[tuple[bytes, bytes]] | None:
        """The headers that answer an allowed page's CORS preflight; None for any other request."""
        if method != "OPTIONS":
            return None
        given = dict(headers)
        asked = given.get(b"access-control-request-method")
        granted = self.granted(given.items())
        if asked is None or not granted:
            return None
        return [
            *granted,
            (b"access-control-allow-methods", asked),
            (b"access-control-allow-headers", given.get(b"access-control-request-headers", b"")),
            (b"access-control-max-age", b"%d" % PREFLIGHT_VALID_S),
        ]

    def granted(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """The headers that let an allowed page read the answer; none for any other page."""
        if not self._allowed:
            return []
        origin = dict(headers).get(b"origin", b"")
        if origin.decode("latin-1").lower() not in self._allowed:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", b"*"),
            (b"vary", b"origin"),
        ]

    def _is_ours(self, origin: bytes, hosts: list[bytes]) -> bool:
        text = origin.decode("latin-1")
        if text in self._allowed:
            return True
        scheme, separator, server = text.partition("://")
        port = _DEFAULT_PORTS.get(scheme)
        if not separator or port is None or scheme not in self._schemes:
            return False
        return [server.removesuffix(port)] == [host.decode("latin-1").removesuffix(port) for host in hosts]


def _checked(origin: str) -> str:
    parts = urlsplit(origin)
    if not parts.scheme or not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
        raise ConfigurationInvalid(
            f"gateway.allowed_origins: {origin!r} is not SCHEME://HOST[:PORT]", param="allowed_origins"
        )
    return origin.lower()
