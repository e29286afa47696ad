"""Fetches pictures from web servers, never from this machine or its network."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from urllib.parse import urljoin

from cactus_actors.protocol.errors import MediaInvalid, MediaNotAllowed, MediaTooLarge
from cactus_actors.vision.picture_url import PictureURL, checked_url
from cactus_actors.vision.public_addresses import addresses_of, is_public
from cactus_actors.vision.timed_reading import TimedConnection, time_left

MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REQUEST = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: image/*\r\nAccept-Encoding: identity\r\n"
    "User-Agent: cactus-actors\r\nConnection: close\r\n\r\n"
)


class PictureFetcher:
    """GET requests to allowed hosts.

    All addresses of a host must be public, and the connection goes to one of the checked addresses: a name cannot
    resolve to another address in between. Each redirect is checked like the first URL. Proxies of the environment are
    not used.
    """

    def __init__(
        self,
        allowed: Collection[str],
        *,
        resolve: Callable[[str, int, float], list[str]] = addresses_of,
        may_connect: Callable[[str], bool] = is_public,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = frozenset(host.lower() for host in allowed)
        self._resolve = resolve
        self._may_connect = may_connect
        self._given_context = context

    def fetch(self, url: str, max_bytes: int, limit_s: float) -> bytes:
        """The body of the answer; raises MediaNotAllowed, MediaTooLarge, and MediaInvalid for any failure."""
        until = time.monotonic() + limit_s
        place = checked_url(url, self._allowed)
        for _ in range(MAX_REDIRECTS + 1):
            content = self._get(place, max_bytes, until)
            if isinstance(content, bytes):
                return content
            url = _joined(url, content)
            was_secure, place = place.scheme == "https", checked_url(url, self._allowed)
            if was_secure and place.scheme != "https":
                raise MediaNotAllowed("a redirect from https to http is not followed")
        raise MediaInvalid("too many redirects")

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._given_context or ssl.create_default_context()

    def _get(self, place: PictureURL, max_bytes: int, until: float) -> bytes | str:
        """The body, or the target of a redirect."""
        addresses = self._addresses(place, until)
        try:
            with self._connected(place, addresses, until) as connection:
                connection.send(_REQUEST.format(path=place.path, host=place.host_header).encode())
                answer = connection.answer()
                if answer.status in _REDIRECTS and (target := answer.getheader("Location")):
                    return target
                if answer.status != http.client.OK:
                    raise MediaInvalid(f"the server answers with status {answer.status}")
                if answer.getheader("Content-Encoding", "identity").strip().lower() != "identity":
                    raise MediaInvalid("the server compresses the picture")
                return _body(answer, max_bytes)
        except TimeoutError:
            raise MediaInvalid("the picture could not be fetched in time") from None
        except (OSError, http.client.HTTPException, ValueError):
            raise MediaInvalid("the picture could not be fetched") from None

    def _addresses(self, place: PictureURL, until: float) -> list[str]:
        left = until - time.monotonic()
        addresses = self._resolve(place.host, place.port, max(left, 0.0))
        if not all(self._may_connect(address) for address in addresses):
            raise MediaNotAllowed("this service fetches no pictures from that address")
        return addresses

    @contextlib.contextmanager
    def _connected(self, place: PictureURL, addresses: Sequence[str], until: float) -> Iterator[TimedConnection]:
        with contextlib.ExitStack() as stack:
            connected = _first_connection(addresses, place.port, until)
            stack.callback(connected.close)
            if place.scheme == "https":
                connected.settimeout(time_left(until))  # of the handshake as a whole
                connected = self._context.wrap_socket(connected, server_hostname=place.host)
                stack.callback(connected.close)
            yield TimedConnection(connected, until)


def _first_connection(addresses: Sequence[str], port: int, until: float) -> socket.socket:
    """A connection to the first address that accepts it in time; a host may have thousands."""
    failure = OSError("no address")
    for address in addresses:
        left = time_left(until)
        try:
            return socket.create_connection((address, port), left)
        except OSError as error:
            failure = error
    raise failure


def _body(answer: http.client.HTTPResponse, max_bytes: int) -> bytes:
    declared = answer.length
    if declared is not None and declared > max_bytes:
        raise MediaTooLarge(f"{declared} bytes, {max_bytes} are allowed")
    content = answer.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise MediaTooLarge(f"more than {max_bytes} bytes")
    if declared is not None and len(content) < declared:
        raise MediaInvalid("the picture could not be fetched in full")
    return content


def _joined(url: str, target: str) -> str:
    try:
        return urljoin(url, target)
    except ValueError:
        raise MediaInvalid("the server redirects to a malformed URL") from None
