"""Malicious request heads: each is refused, nothing protected is reached, and the gateway stays up."""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from cactus_actors.gateway.app import build_app
from cactus_actors.gateway.request_guard import PUBLIC_PATHS
from tests.support.http.hostile_bodies import ANN, CHAT, takes, trickle
from tests.support.http.raw_http import asked, connection, request
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService


def routes(service: FakeWorkerService) -> list[tuple[str, str]]:
    """Every method and path that the application has."""
    assert service.gateway is not None
    assert service.gateway.context is not None
    guard: Any = build_app(service.gateway.context).app
    app = guard.app
    return [(method, route.path.replace("{", "").replace("}", "")) for route in app.routes for method in route.methods]


@pytest.mark.parametrize("form", ["{}", "{}/", "/{}", "/.{}", "{}?x=/healthz", "{}#/healthz", "/healthz/..{}"])
def test_no_route_answers_without_a_key_however_its_path_is_written(service: FakeWorkerService, form: str) -> None:
    found = routes(service)
    assert len(found) > 25
    assert {("POST", CHAT), ("GET", "/metrics"), ("POST", "/v1/files"), ("GET", "/docs")} <= set(found)
    with connection(service.url) as opened:  # one client for all: each answer leaves its connection usable
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
def test_an_invalid_host_is_refused(service: FakeWorkerService, host: bytes) -> None:
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
        (request(b"GET", b"/v1/models", b"X-API-Key: " + ANN.encode(), b"X-API-Key: " + ANN.encode()), 401),
        (request(b"GET", b"/v1/models", b"X-Auth-Token: " + ANN.encode()), 401),
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
def test_malformed_heads_and_foreign_targets_are_refused(service: FakeWorkerService, data: bytes, status: int) -> None:
    assert asked(service.url, data) == [status]


def test_blank_lines_do_not_keep_a_connection_open(impatient: FakeWorkerService) -> None:
    with connection(impatient.url) as opened:
        opened.sendall(request(target=b"/healthz"))
        assert opened.recv(4096)
        until(lambda: not takes(opened, b"\r\n"))


def test_slow_headers_time_out(impatient: FakeWorkerService) -> None:
    with connection(impatient.url) as opened:
        opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        trickle(opened, b"X: y\r\n")
        opened.settimeout(60)
        assert opened.recv(4096) == b""
