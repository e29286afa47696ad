"""Pictures are fetched from allowed hosts at public addresses, within limits of size and time."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trustme

from cactus_actors.protocol.errors import InvalidRequest, MediaInvalid, MediaNotAllowed, MediaTooLarge
from cactus_actors.vision.picture_fetcher import PictureFetcher
from cactus_actors.vision.picture_url import PictureURL, checked_url
from cactus_actors.vision.public_addresses import addresses_of, is_public
from tests.support.http.serving import Request, http_serving

CONTENT = bytes(range(256)) * 40
HOST = "pictures.example"
LONG_S = 60.0


class PictureServer:
    """Answers `/picture` with CONTENT, and other paths as the tests ask."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {"/picture?size=1": (200, {}, CONTENT)}
        self.is_over = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @contextmanager
    def serving(self) -> Iterator[PictureServer]:
        with http_serving(self.answer) as url:
            self.port = int(url.rpartition(":")[2])
            yield self
            self.is_over.set()

    def answer(self, request: Request) -> None:
        self.asked.append((request.path, request.headers["Host"]))
        if request.path == "/slow-headers":
            return self._send_slowly(request, b"HTTP/1.0 200 OK\r\n" + b"X: y\r\n" * 1000)
        if request.path == "/slow-body":
            return self._send_slowly(request, b"HTTP/1.0 200 OK\r\n\r\n" + CONTENT)
        if request.path == "/endless":
            request.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            while not self.is_over.is_set():
                try:
                    request.wfile.write(CONTENT)
                except OSError:
                    return None
            return None
        if request.path == "/garbage":
            request.wfile.write(b"220 this is another protocol\r\n")
            return None
        status, headers, body = self.answers.get(request.path, (404, {}, b"nothing"))
        request.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)
        return None

    def _send_slowly(self, request: Request, content: bytes) -> None:
        for place in range(len(content)):
            try:
                request.wfile.write(content[place : place + 1])
            except OSError:
                return
            if self.is_over.wait(0.02):
                return


@pytest.fixture
def server() -> Iterator[PictureServer]:
    with PictureServer().serving() as server:
        yield server


def fetcher(*allowed: str, **options: Any) -> PictureFetcher:
    """A fetcher whose names all lead to this machine, and that may connect to it."""
    options = {"resolve": lambda *_: ["127.0.0.1"], "may_connect": lambda _: True} | options
    return PictureFetcher(allowed, **options)


def refused(
    url: str,
    kind: type[InvalidRequest],
    *allowed: str,
    max_bytes: int = 1 << 20,
    limit_s: float = LONG_S,
    **options: Any,
) -> str:
    with pytest.raises(kind) as caught:
        fetcher(*allowed, **options).fetch(url, max_bytes, limit_s)
    return caught.value.message


def test_a_picture_is_fetched_from_an_allowed_host(server: PictureServer) -> None:
    found = fetcher(f"{HOST.upper()}:{server.port}").fetch(f"{server.url}/picture?size=1", len(CONTENT), LONG_S)
    assert found == CONTENT
    assert server.asked == [("/picture?size=1", f"{HOST}:{server.port}")]


def test_the_limit_of_bytes_holds_with_and_without_a_length(server: PictureServer) -> None:
    allowed = f"{HOST}:{server.port}"
    told = refused(f"{server.url}/picture?size=1", MediaTooLarge, allowed, max_bytes=len(CONTENT) - 1)
    assert told == f"{len(CONTENT)} bytes, {len(CONTENT) - 1} are allowed"
    assert refused(f"{server.url}/endless", MediaTooLarge, allowed) == f"more than {1 << 20} bytes"


@pytest.mark.parametrize("path", ["/slow-headers", "/slow-body"])
def test_a_slow_server_ends_at_the_limit_of_time(server: PictureServer, path: str) -> None:
    began = time.monotonic()
    refused(server.url + path, MediaInvalid, f"{HOST}:{server.port}", limit_s=0.5)
    assert time.monotonic() - began < 15


def test_failures_are_one_error(server: PictureServer) -> None:
    allowed = f"{HOST}:{server.port}"
    server.answers["/short"] = 200, {"Content-Length": "100"}, b"few"
    server.answers["/packed"] = 200, {"Content-Encoding": "gzip"}, b"few"
    for path in ("/missing", "/garbage", "/short", "/packed"):
        refused(server.url + path, MediaInvalid, allowed)
    refused("http://pictures.example:1/x", MediaInvalid, "pictures.example:1")


def test_redirects_are_followed_and_checked(server: PictureServer) -> None:
    allowed = f"{HOST}:{server.port}"
    server.answers |= {
        "/once": (302, {"Location": "/picture?size=1"}, b""),
        "/away": (302, {"Location": f"http://other.example:{server.port}/picture?size=1"}, b""),
        "/file": (302, {"Location": "file:///etc/passwd"}, b""),
        "/broken": (302, {"Location": "http://[/"}, b""),
        "/round": (302, {"Location": "/round"}, b""),
    }
    assert fetcher(allowed).fetch(f"{server.url}/once", 1 << 20, LONG_S) == CONTENT
    assert fetcher(allowed, f"other.example:{server.port}").fetch(f"{server.url}/away", 1 << 20, LONG_S) == CONTENT
    refused(f"{server.url}/away", MediaNotAllowed, allowed)
    refused(f"{server.url}/file", MediaNotAllowed, allowed)
    refused(f"{server.url}/broken", MediaInvalid, allowed)
    assert refused(f"{server.url}/round", MediaInvalid, allowed) == "too many redirects"


def test_a_redirect_to_a_private_address_is_refused(server: PictureServer) -> None:
    server.answers["/inside"] = 302, {"Location": f"http://inside.example:{server.port}/picture?size=1"}, b""
    asked: list[str] = []

    def resolve(host: str, port: int, timeout_s: float) -> list[str]:
        return ["127.0.0.1"] if host == HOST else ["10.0.0.1"]

    def may_connect(address: str) -> bool:
        asked.append(address)
        return address == "127.0.0.1"

    allowed = (f"{HOST}:{server.port}", f"inside.example:{server.port}")
    refused(f"{server.url}/inside", MediaNotAllowed, *allowed, resolve=resolve, may_connect=may_connect)
    assert asked == ["127.0.0.1", "10.0.0.1"]


def test_a_name_is_resolved_once_and_each_of_its_addresses_must_be_public(server: PictureServer) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    url, allowed = f"{server.url}/picture?size=1", f"{HOST}:{server.port}"
    options: Any = {"may_connect": lambda address: address != "10.0.0.1"}
    assert fetcher(allowed, resolve=lambda *_: answers.pop(0), **options).fetch(url, 1 << 20, LONG_S) == CONTENT
    assert len(answers) == 1
    refused(url, MediaNotAllowed, allowed, resolve=lambda *_: ["127.0.0.1", "10.0.0.1"], **options)


def test_the_next_address_is_tried(server: PictureServer) -> None:
    url = f"{server.url}/picture?size=1"
    found = fetcher(f"{HOST}:{server.port}", resolve=lambda *_: ["127.0.0.255", "127.0.0.1"]).fetch(
        url, 1 << 20, LONG_S
    )
    assert found == CONTENT


def test_many_addresses_do_not_take_more_than_the_limit_of_time() -> None:
    began = time.monotonic()
    addresses = ["192.0.2.1"] * 20_000  # nobody answers there
    told = refused("http://pictures.example/x", MediaInvalid, HOST, resolve=lambda *_: addresses, limit_s=0.2)
    assert told in ("the picture could not be fetched in time", "the picture could not be fetched")
    assert time.monotonic() - began < 15


def test_a_slow_resolver_ends_at_the_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: is_over.wait(LONG_S) and [])
    with pytest.raises(MediaInvalid, match="in time"):
        addresses_of(HOST, 80, 0.05)
    is_over.set()


def test_the_certificate_is_that_of_the_name() -> None:
    authority, context, trusting = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(HOST).configure_cert(context)
    authority.configure_trust(trusting)
    server = PictureServer()
    with server.serving(), tls_in_front_of(server.port, context) as port:
        server.answers["/down"] = 302, {"Location": f"http://{HOST}:{server.port}/picture?size=1"}, b""
        url, allowed = f"https://{HOST}:{port}", [f"{HOST}:{port}", f"other.example:{port}", f"{HOST}:{server.port}"]
        assert fetcher(*allowed, context=trusting).fetch(f"{url}/picture?size=1", 1 << 20, LONG_S) == CONTENT
        refused(f"https://other.example:{port}/picture?size=1", MediaInvalid, *allowed, context=trusting)
        refused(f"{url}/picture?size=1", MediaInvalid, *allowed)
        refused(f"{url}/down", MediaNotAllowed, *allowed, context=trusting)


@contextmanager
def tls_in_front_of(port: int, context: ssl.SSLContext) -> Iterator[int]:
    """The port of a listener that takes the encryption off connections to `port`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pipe(source: Any, sink: Any) -> None:
        try:
            while part := source.recv(65536):
                sink.sendall(part)
        except OSError:
            pass
        finally:
            sink.close()

    def accept() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                outside = context.wrap_socket(plain, server_side=True)
            except OSError:
                continue
            inside = socket.create_connection(("127.0.0.1", port))
            request = outside.recv(65536)
            inside.sendall(request)
            pipe(inside, outside)
            inside.close()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
        *("100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "not an address"),
        *("::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1", "fec0::1", "100.100.100.200"),
        *("168.63.129.16", "192.0.0.192", "::ffff:168.63.129.16", "64:ff9b::a83f:8110"),
    ],
)
def test_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_global_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0x7f.1", "2130706433", "::ffff:127.0.0.1", "::1"])
def test_no_spelling_of_a_local_address_is_connected_to(host: str) -> None:
    name = f"[{host}]" if ":" in host else host
    with pytest.raises(InvalidRequest) as caught:
        PictureFetcher(["*", name, host]).fetch(f"http://{name}/latest/meta-data", 1 << 20, LONG_S)
    assert isinstance(caught.value, MediaNotAllowed | MediaInvalid)
    assert "address" in caught.value.message


def test_a_name_without_an_address_is_one_error() -> None:
    with pytest.raises(MediaInvalid):
        addresses_of("nowhere.invalid", 80, 10.0)
    with pytest.raises(MediaInvalid):
        addresses_of("x" * 300, 80, 10.0)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://a.example/x?y=1#z", PictureURL("http", "a.example", 80, "/x?y=1")),
        ("https://A.Example.", PictureURL("https", "a.example", 443, "/")),
        ("https://a.example:443/ü b", PictureURL("https", "a.example", 443, "/%C3%BC%20b")),
        ("http://b.example:8080/", PictureURL("http", "b.example", 8080, "/")),
        ("http://bücher.example/", PictureURL("http", "xn--bcher-kva.example", 80, "/")),
    ],
)
def test_an_allowed_url_is_split_into_its_parts(url: str, place: PictureURL) -> None:
    assert checked_url(url, {"a.example", "b.example:8080", "xn--bcher-kva.example"}) == place


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://b.example/", MediaNotAllowed),
        ("http://a.example:8080/", MediaNotAllowed),
        ("http://sub.a.example/", MediaNotAllowed),
        ("http://a.example.b.example/", MediaNotAllowed),
        ("http://user:word@a.example/", MediaNotAllowed),
        ("http://b.example\\@a.example/", MediaNotAllowed),
        ("ftp://a.example/", MediaNotAllowed),
        ("http:///x", MediaInvalid),
        ("http://a.example:99999/", MediaInvalid),
        ("http://[::1/", MediaInvalid),
    ],
)
def test_other_urls_are_refused(url: str, kind: type[InvalidRequest]) -> None:
    with pytest.raises(kind):
        checked_url(url, {"a.example"})


def test_any_host_is_allowed_only_at_the_default_port() -> None:
    assert checked_url("https://anything.example/", {"*"}).host == "anything.example"
    with pytest.raises(MediaNotAllowed):
        checked_url("https://anything.example:22/", {"*"})


def test_the_host_header_has_a_port_other_than_the_default() -> None:
    allowed = {"*", "a.example:8080", "::1:8080"}
    assert checked_url("http://a.example/", allowed).host_header == "a.example"
    assert checked_url("http://a.example:8080/", allowed).host_header == "a.example:8080"
    assert checked_url("http://[::1]:8080/", allowed).host_header == "[::1]:8080"
