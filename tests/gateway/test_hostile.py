"""Requests that mean harm: each has its answer, nothing protected is reached, and the gateway goes on."""

from __future__ import annotations

import gzip
import http.client
import json
import select
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.app import build_app
from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.gateway.request_guard import PUBLIC_PATHS
from tests.support.http.raw_http import PROMPT, asked, connection, post, request, statuses, until_closed
from tests.support.router.scripted_router import until
from tests.support.services.played_service import JSON, PlayedService, played_service

ANN, BEN = "ann-0123456789abcdef", "ben-0123456789abcdef"
MAX_OPEN_BYTES = 6 * 1024 * 1024
MAX_BODY = 4 * 1024 * 1024
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
BEARER = {"authorization": f"Bearer {ANN}"}
CHUNKED = b"Transfer-Encoding: chunked"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedService]:
    settings = {"key_digests": [digest_of(ANN), digest_of(BEN)], "max_open_bytes": MAX_OPEN_BYTES}
    with played_service(tmp_path_factory.mktemp("state"), gateway=settings) as service:
        yield service


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedService]:
    """The service with timeouts that a test can wait for."""
    timeouts = GatewayTimeouts(headers_s=0.3, body_s=0.3, linger_s=0.3, reader_s=0.3)
    settings = {"key_digests": [digest_of(ANN)], "max_open_bytes": MAX_OPEN_BYTES}
    with played_service(tmp_path_factory.mktemp("state"), gateway=settings, timeouts=timeouts) as service:
        yield service


@pytest.fixture
def http_client(service: PlayedService) -> Iterator[httpx.Client]:
    with service.http(headers=BEARER) as client:
        yield client
        assert client.get("/readyz").status_code == 200


def routes(service: PlayedService) -> list[tuple[str, str]]:
    """Every method and path that the application has."""
    assert service.gateway is not None
    assert service.gateway.context is not None
    app: Any = build_app(service.gateway.context).app
    return [(method, route.path.replace("{", "").replace("}", "")) for route in app.routes for method in route.methods]


@pytest.mark.parametrize("form", ["{}", "{}/", "/{}", "/.{}", "{}?x=/healthz", "{}#/healthz", "/healthz/..{}"])
def test_no_route_answers_without_a_key_however_its_path_is_written(service: PlayedService, form: str) -> None:
    found = routes(service)
    assert len(found) > 25
    assert {("POST", CHAT), ("GET", "/metrics"), ("POST", "/v1/files"), ("GET", "/docs")} <= set(found)
    with connection(service.url) as opened:  # one for all: each answer leaves it usable
        for method, path in found:
            target = form.format(path)
            if path in PUBLIC_PATHS and target.partition("?")[0].partition("#")[0] == path:
                continue
            opened.sendall(request(method.encode(), target.encode()))
            answer = http.client.HTTPResponse(opened, method=method)
            answer.begin()
            answer.read()
            assert answer.status == 401, (method, target)


@pytest.mark.parametrize(
    "host",
    [
        *(b"a/?x=", b"evil/#", b"localhost/healthz?", b"localhost@evil", b"localhost:80:80", b"", b"a b"),
        *(b"\xff", b"[::1", b"localhost:", b"localhost\t/"),
    ],
)
def test_a_host_that_is_none_reaches_nothing(service: PlayedService, host: bytes) -> None:
    assert asked(service.url, request(target=b"/metrics", host=host)) == [400]
    assert asked(service.url, request(target=b"/metrics", host=host, key=ANN)) == [400]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (request(host=None, key=ANN), 400),
        (request(b"GET", b"/v1/models", b"Host: localhost", key=ANN), 400),
        (request(target=b"http://localhost/metrics"), 401),
        (request(target=b"http://evil/metrics"), 401),
        (request(target=b"http://localhost@evil/healthz/../metrics"), 401),
        (request(target=b"//v1/models"), 401),
        (request(target=b"/v1/%2e%2e/metrics"), 401),
        (request(target=b"/healthz%2f..%2fmetrics"), 401),
        (request(target=b"/healthz%00"), 401),
        (request(target=b"/healthz;/metrics"), 401),
        (request(target=b"/%2568ealthz"), 401),
        (request(target=b"/HEALTHZ"), 401),
        (request(target=b"/v1/%2e%2e/metrics", key=ANN), 404),
        (request(target=b"/v1/models?api_key=" + ANN.encode()), 401),
        (request(b"GET", b"/v1/models", b"X-API-Key: " + ANN.encode()), 401),
        (request(b"GET", b"/v1/models", b"Cookie: key=" + ANN.encode()), 401),
        (request(b"GET", b"/metrics", b"X-Original-URL: /healthz", b"X-Forwarded-Prefix: /healthz"), 401),
        (request(b"TRACE"), 401),
        (request(b"TRACE", key=ANN), 405),
        (request(b"TRACE", b"/healthz"), 405),
        (request(b"OPTIONS", b"*"), 401),
        (request(b"CONNECT", b"localhost:80", key=ANN), 400),
        (request(b"get", key=ANN), 400),
        (request(b"GET", b"/v1/models", b"Connection: Upgrade", b"Upgrade: websocket"), 401),
        (request(b"GET", b"/v1/models", b"Connection: Upgrade", b"Upgrade: h2c", key=ANN), 200),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (request(version=b"HTTP/9.9", key=ANN), 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (request(b"GET", b"/v1/models", b"X : y", key=ANN), 400),
        (request(b"GET", b"/v1/models", b"X: y", b" folded", key=ANN), 400),
        (request(b"GET", b"/v1/models", b"X: a\0b", key=ANN), 400),
        (request(b"GET", b"/v1/models", b": y", key=ANN), 400),
        (request(b"GET", b"/v1/mo dels", key=ANN), 400),
        (request(b"GET", b"/v1/models\xff", key=ANN), 400),
        (request(key=ANN).replace(b"\r\n", b"\n"), 400),
        (request(b"GET", b"/v1/models", b"X: " + b"y" * 65536, key=ANN), 431),
        (request(b"GET", b"/v1/models", *[b"X: y"] * 10_000, key=ANN), 431),
        (request(b"GET", b"/" + b"y" * 65536, key=ANN), 431),
        (request(b"GET", b"/v1/models", b"Authorization: Bearer " + b"y" * 1_000_000), 431),
    ],
)
def test_a_head_that_is_none_or_reaches_for_what_is_not_its_own(
    service: PlayedService, data: bytes, status: int
) -> None:
    assert asked(service.url, data) == [status]


@pytest.mark.parametrize(
    "data",
    [
        post(CHUNKED, key=ANN, body=b"0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        post(CHUNKED, CHUNKED, key=ANN, body=b"0\r\n\r\n", has_length=False),
        post(b"Transfer-Encoding: xchunked", key=ANN, body=b"0\r\n\r\n", has_length=False),
        post(b"Transfer-Encoding: chunked, identity", key=ANN, body=b"0\r\n\r\n", has_length=False),
        post(b"Transfer-Encoding : chunked", key=ANN),
        post(b"Content-Length: 3", key=ANN),
        post(b"Content-Length: %d" % len(PROMPT), key=ANN),
        *(
            post(b"Content-Length: " + length, key=ANN, has_length=False)
            for length in (b"+14", b"-1", b"0xe", b"14, 14", b"1e1", b"9" * 30)
        ),
        *(
            post(CHUNKED, key=ANN, body=body, has_length=False)
            for body in (
                b"F" * 17 + b"\r\n",
                b"-1\r\n",
                b"0x1\r\n{\r\n",
                b"1\r\n{XX",
                b"e\n" + PROMPT + b"\n0\n\n",
            )
        ),
    ],
)
def test_a_body_whose_length_is_in_doubt_is_refused_and_nothing_behind_it_is_read(
    service: PlayedService, data: bytes
) -> None:
    num_before = len(service.worker.dispatches)
    with connection(service.url) as opened:
        opened.sendall(data + request(target=b"/healthz"))
        assert statuses(until_closed(opened)) == [400]
    assert len(service.worker.dispatches) == num_before


def test_what_stands_behind_a_body_says_nothing_about_it(service: PlayedService) -> None:
    body = b"%x\r\n%b\r\n0\r\n" % (len(PROMPT), PROMPT)
    trailers = b"Authorization: Bearer z\r\nIdempotency-Key: z\r\n"
    assert asked(service.url, post(CHUNKED, key=ANN, body=body + trailers + b"\r\n", has_length=False)) == [200]
    smuggled = body + b"Authorization: Bearer " + ANN.encode() + b"\r\n\r\n"
    assert asked(service.url, post(CHUNKED, body=smuggled, has_length=False)) == [401]
    flood = body + b"X: " + b"y" * 65536 + b"\r\n\r\n"
    assert asked(service.url, post(CHUNKED, key=ANN, body=flood, has_length=False)) == [431]


@pytest.mark.parametrize(
    ("behind", "status"),
    [
        (b"garbage\r\n\r\n", 400),
        (request(b"GET", b"/v1/models", *[b"X: y"] * 200, key=ANN), 431),
        (post(CHUNKED, key=ANN, body=b"zz\r\n", has_length=False), 400),
        (b"GET /v1/models HTTP/1.1\r\nX: ", 408),
    ],
)
@pytest.mark.parametrize("is_streamed", [True, False])
def test_answers_keep_their_order_whatever_follows_a_request(
    impatient: PlayedService,
    behind: bytes,
    status: int,
    is_streamed: bool,
) -> None:
    body = json.dumps({"prompt": "a", "stream": is_streamed}).encode()
    with connection(impatient.url) as opened:
        opened.sendall(post(key=ANN, body=body) + request(target=b"/healthz") + behind)
        answers = until_closed(opened)
    assert statuses(answers) == [200, 200, status]
    first = answers.split(b"HTTP/1.1 ")[1]
    assert (b"[DONE]" in first) == is_streamed
    assert first.endswith(b"0\r\n\r\n" if is_streamed else b"}")


def test_a_connection_is_not_kept_open_by_line_ends(impatient: PlayedService) -> None:
    with connection(impatient.url) as opened:
        opened.sendall(request(target=b"/healthz"))
        assert opened.recv(4096)
        until(lambda: not _takes(opened, b"\r\n"))


def trickle(opened: socket.socket, part: bytes) -> None:
    """Send one part after the other until the service answers that it took too long."""
    opened.settimeout(0.05)
    for _ in range(100):
        try:
            assert opened.recv(4096).startswith(b"HTTP/1.1 408 ")
            return
        except TimeoutError:
            opened.sendall(part)
    pytest.fail("it waits for ever")


def test_headers_that_trickle_are_not_waited_for(impatient: PlayedService) -> None:
    with connection(impatient.url) as opened:
        opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        trickle(opened, b"X: y\r\n")
        opened.settimeout(10)
        assert opened.recv(4096) == b""


@pytest.mark.parametrize("head", [b"Content-Length: 1000", CHUNKED])
def test_a_body_that_trickles_is_not_waited_for(impatient: PlayedService, head: bytes) -> None:
    part = b"1\r\n \r\n" if head == CHUNKED else b" "
    with connection(impatient.url) as opened:
        opened.sendall(post(head, key=ANN, body=b"", has_length=False))
        trickle(opened, part)


@pytest.mark.parametrize(
    ("key", "length", "status"),
    [(None, 100_000_000, 401), (ANN, 100_000_000, 413), (ANN, MAX_BODY + 1, 413), (ANN, 2**63, 413)],
)
def test_a_body_that_is_not_wanted_is_answered_before_it_comes_and_ends_the_connection(
    service: PlayedService, key: str | None, length: int, status: int
) -> None:
    with connection(service.url) as opened:
        head = post(b"Content-Length: %d" % length, key=key, body=b"", has_length=False)
        opened.sendall(head + b"x" * 100_000)
        assert statuses(until_closed(opened)) == [status]


def test_a_body_without_an_end_is_cut_at_the_limit_and_its_sender_still_hears_why(impatient: PlayedService) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connection(impatient.url) as opened:
        opened.sendall(post(CHUNKED, key=ANN, body=b"", has_length=False))
        for _ in range(MAX_BODY // 0x10000 + 16):
            opened.sendall(chunk)
        assert statuses(until_closed(opened)) == [413]
        until(lambda: not _takes(opened, chunk))


@pytest.mark.parametrize("where", ["first chunk", "last chunk"])
def test_a_long_chunk_extension_is_refused(service: PlayedService, where: str) -> None:
    extension = b";x=" + b"e" * 100_000
    first, last = (extension, b"") if where == "first chunk" else (b"", extension)
    body = b"%x%b\r\n%b\r\n0%b\r\n\r\n" % (len(PROMPT), first, PROMPT, last)
    with connection(service.url) as opened:
        with suppress(OSError):
            opened.sendall(post(CHUNKED, key=ANN, body=body, has_length=False))
        assert statuses(until_closed(opened)) == [431]


def test_a_body_in_chunks_of_one_byte_is_taken(service: PlayedService) -> None:
    content = b'{"prompt":"a","x":"' + b"y" * 40_000 + b'"}'
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in content) + b"0\r\n\r\n"
    assert asked(service.url, post(CHUNKED, key=ANN, body=body, has_length=False)) == [200]


def test_two_idempotency_keys_are_refused(service: PlayedService) -> None:
    headers = [("idempotency-key", "one"), ("idempotency-key", "two"), ("authorization", f"Bearer {ANN}")]
    with service.http() as http:
        refused = http.post(COMPLETIONS, json={"prompt": "a"}, headers=headers)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "Idempotency-Key")


def test_a_file_that_a_batch_of_another_key_reads_is_not_found(service: PlayedService) -> None:
    line = b'{"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"a"}}\n'
    with (
        service.http(headers={"authorization": f"Bearer {ANN}"}) as ann,
        service.http(headers={"authorization": f"Bearer {BEN}"}) as ben,
    ):
        file_id = ann.post("/v1/files", files={"file": ("in.jsonl", line * 1)}, data={"purpose": "batch"}).json()["id"]
        batch = {"input_file_id": file_id, "endpoint": COMPLETIONS, "completion_window": "24h"}
        batch_id = ann.post("/v1/batches", json=batch).json()["id"]
        assert service.gateway is not None
        assert ben.delete(f"/v1/files/{file_id}").status_code == 404
        assert ben.post(f"/v1/batches/{batch_id}/cancel").status_code == 404
        until(lambda: ann.delete(f"/v1/files/{file_id}").status_code == 200)


def test_a_packed_body_is_not_unpacked(http_client: httpx.Client) -> None:
    bomb = gzip.compress(b" " * 20_000_000)
    for name in ("gzip", "deflate", "br", "identity, gzip"):
        headers = JSON | {"content-encoding": name}
        assert http_client.post(COMPLETIONS, content=bomb, headers=headers).status_code == 415
    twice = [
        ("content-type", "application/json"),
        ("content-encoding", "identity"),
        ("content-encoding", "gzip"),
    ]
    assert http_client.post(COMPLETIONS, content=bomb, headers=twice).status_code == 415


def test_all_bodies_of_a_caller_together_have_a_size_too(service: PlayedService, http_client: httpx.Client) -> None:
    part = b" " * (MAX_BODY // 2 - 1000)
    head = post(b"Content-Length: %d" % (len(part) + 1), key=ANN, body=b"", has_length=False)
    with connection(service.url) as one, connection(service.url) as two:
        for opened in (one, two):
            opened.sendall(head + part)
        until(lambda: http_client.post(COMPLETIONS, content=b" " * 4000, headers=JSON).status_code == 429)
        refused = http_client.post(COMPLETIONS, content=b" " * 4000, headers=JSON)
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert int(refused.headers["retry-after"]) >= 1
        with service.http(
            headers={"authorization": f"Bearer {BEN}"}
        ) as other:  # what one caller holds leaves room for another
            assert other.post(COMPLETIONS, content=part, headers=JSON).status_code == 400
    until(lambda: http_client.post(COMPLETIONS, content=part, headers=JSON).status_code == 400)


def test_an_answer_that_is_not_taken_is_not_kept(impatient: PlayedService) -> None:
    assert impatient.gateway is not None
    body = json.dumps({"content": "a " * 200_000, "with_pieces": True}).encode()
    with socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.settimeout(60)
        opened.connect(("127.0.0.1", int(impatient.url.rpartition(":")[2])))
        opened.sendall(post(key=ANN, target=b"/tokenize", body=body))
        assert opened.recv(1) == b"H"
        polled = select.poll()
        polled.register(opened, 0)  # errors and resets are always told
        until(lambda: polled.poll(0) != [])


def _takes(opened: socket.socket, data: bytes) -> bool:
    """Whether the other side has not dropped the connection yet."""
    time.sleep(0.01)
    try:
        opened.sendall(data)
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            b'{"prompt":"a",' + b",".join(b'"%d":0' % number for number in range(350_000)) + b"}",
            marks=pytest.mark.chaos,
        ),
        b'{"prompt":"a","x":[' + b",".join([b"[]"] * 1_300_000) + b"]}",
        pytest.param(b'{"prompt":[' + b",".join([b"1"] * 2_000_000) + b"]}", marks=pytest.mark.chaos),
        b'{"prompt":"' + b"x" * 4_000_000 + b'"}',
        b'{"content":"' + b"x" * 4_000_000 + b'"}',
    ],
)
def test_a_body_of_a_million_things_holds_nobody_up_for_long(http_client: httpx.Client, body: bytes) -> None:
    path = "/tokenize" if b"content" in body else COMPLETIONS
    started = time.process_time()
    assert http_client.post(path, content=body, headers=JSON).status_code in (200, 400)
    assert time.process_time() - started < 8.0


MEDIA_URLS = [
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "http://[::ffff:127.0.0.1]:1/",
    "http://0x7f.1/",
    "http://localtest.me/",
    "https://example.org/redirect",
    "data:image/png;base64," + "A" * 1_000_000,
    "ftp://127.0.0.1/x",
    "//127.0.0.1/x",
]
MEDIA_KINDS = ["image_url", "input_audio", "video_url", "file", "input_image", "document_url"]
MEDIA = [*((url, MEDIA_KINDS[0]) for url in MEDIA_URLS), *((MEDIA_URLS[0], kind) for kind in MEDIA_KINDS)]


def test_media_is_refused_and_nothing_is_fetched(service: PlayedService, http_client: httpx.Client) -> None:
    reached: list[Any] = []
    is_watched = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watched and event in ("socket.connect", "socket.getaddrinfo", "urllib.Request"):
            reached.append(arguments[1] if event == "socket.connect" else arguments[0])

    sys.addaudithook(watch)
    try:
        for url, kind in MEDIA:
            for value in (url, {"url": url, "file_data": url, "data": url}):
                content = [{"type": "text", "text": "what is it?"}, {"type": kind, kind: value}]
                refused = http_client.post(CHAT, json={"messages": [{"role": "user", "content": content}]})
                assert refused.status_code == 400
                error = refused.json()["error"]
                assert error["type"] == "not_supported_error"
                assert error["param"].startswith("messages[0].content")
                assert kind in error["message"]
                assert len(error["message"]) < 500
    finally:
        is_watched = False
    ours = int(service.url.rpartition(":")[2])
    assert all(place == ("127.0.0.1", ours) or place in ("127.0.0.1", b"127.0.0.1") for place in reached)


def test_names_are_not_echoed_at_length(http_client: httpx.Client) -> None:
    for path in (f"/v1/models/{'m' * 20_000}", f"/v1/files/{'f' * 20_000}", f"/v1/requests/{'r' * 20_000}"):
        missing = http_client.get(path)
        assert missing.status_code == 404
        assert len(missing.json()["error"]["message"]) < 300


@pytest.mark.parametrize(
    ("length", "max_tokens", "status", "num_tokens"),
    [(4096, 1, 400, 0), (4095, 1, 400, 0), (4094, 2, 200, 1), (4093, 2, 200, 2)],
)
def test_the_end_of_the_context_is_where_it_is_said_to_be(
    http_client: httpx.Client, length: int, max_tokens: int, status: int, num_tokens: int
) -> None:
    response = http_client.post(COMPLETIONS, json={"prompt": "x" * length, "max_tokens": max_tokens})
    assert response.status_code == status
    if status == 400:
        error = response.json()["error"]
        assert error["type"] == "exceed_context_size_error"
        assert str(length + 1) in error["message"]  # with the token that a prompt begins with
        assert "4096" in error["message"]
    else:
        assert response.json()["usage"]["completion_tokens"] == num_tokens
