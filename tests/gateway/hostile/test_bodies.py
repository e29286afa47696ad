"""Malicious bodies: ambiguous lengths, no end, too many values."""

from __future__ import annotations

import gzip
import json
import select
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import httpx
import pytest

from tests.support.http.hostile_bodies import ANN, BEN, CHUNKED, COMPLETIONS, MAX_BODY, takes, trickle
from tests.support.http.raw_http import PROMPT, asked, connection, post, request, statuses, until_closed
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import JSON, FakeWorkerService


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
def test_a_body_of_ambiguous_length_is_refused_and_nothing_after_it_is_read(
    service: FakeWorkerService, data: bytes
) -> None:
    num_before = len(service.worker.dispatches)
    with connection(service.url) as opened:
        opened.sendall(data + request(target=b"/healthz"))
        assert statuses(until_closed(opened)) == [400]
    assert len(service.worker.dispatches) == num_before


def test_trailers_do_not_change_a_request(service: FakeWorkerService) -> None:
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
def test_pipelined_requests_are_answered_in_order(
    impatient: FakeWorkerService,
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


@pytest.mark.parametrize("head", [b"Content-Length: 1000", CHUNKED])
def test_a_slow_body_times_out(impatient: FakeWorkerService, head: bytes) -> None:
    part = b"1\r\n \r\n" if head == CHUNKED else b" "
    with connection(impatient.url) as opened:
        opened.sendall(post(head, key=ANN, body=b"", has_length=False))
        trickle(opened, part)


@pytest.mark.parametrize(
    ("key", "length", "status"),
    [(None, 100_000_000, 401), (ANN, 100_000_000, 413), (ANN, MAX_BODY + 1, 413), (ANN, 2**63, 413)],
)
def test_an_unwanted_body_is_refused_before_it_arrives_and_ends_the_connection(
    service: FakeWorkerService, key: str | None, length: int, status: int
) -> None:
    with connection(service.url) as opened:
        head = post(b"Content-Length: %d" % length, key=key, body=b"", has_length=False)
        opened.sendall(head + b"x" * 100_000)
        assert statuses(until_closed(opened)) == [status]


def test_an_endless_body_is_cut_at_the_limit_and_its_sender_gets_the_error(impatient: FakeWorkerService) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connection(impatient.url) as opened:
        opened.sendall(post(CHUNKED, key=ANN, body=b"", has_length=False))
        for _ in range(MAX_BODY // 0x10000 + 16):
            opened.sendall(chunk)
        assert statuses(until_closed(opened)) == [413]
        until(lambda: not takes(opened, chunk))


@pytest.mark.parametrize("where", ["first chunk", "last chunk"])
def test_a_long_chunk_extension_is_refused(service: FakeWorkerService, where: str) -> None:
    extension = b";x=" + b"e" * 100_000
    first, last = (extension, b"") if where == "first chunk" else (b"", extension)
    body = b"%x%b\r\n%b\r\n0%b\r\n\r\n" % (len(PROMPT), first, PROMPT, last)
    with connection(service.url) as opened:
        with suppress(OSError):
            opened.sendall(post(CHUNKED, key=ANN, body=body, has_length=False))
        assert statuses(until_closed(opened)) == [431]


def test_a_body_in_chunks_of_one_byte_is_accepted(service: FakeWorkerService) -> None:
    content = b'{"prompt":"a","x":"' + b"y" * 40_000 + b'"}'
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in content) + b"0\r\n\r\n"
    assert asked(service.url, post(CHUNKED, key=ANN, body=body, has_length=False)) == [200]


def test_a_compressed_body_is_refused(http_client: httpx.Client) -> None:
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


def test_the_bodies_of_a_caller_together_have_a_limit(service: FakeWorkerService, http_client: httpx.Client) -> None:
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
        ) as other:  # one caller's memory leaves some for another
            assert other.post(COMPLETIONS, content=part, headers=JSON).status_code == 400
    until(lambda: http_client.post(COMPLETIONS, content=part, headers=JSON).status_code == 400)


def test_a_connection_that_does_not_read_its_answer_is_closed(impatient: FakeWorkerService) -> None:
    assert impatient.gateway is not None
    body = json.dumps({"content": "a " * 200_000, "with_pieces": True}).encode()
    with socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.settimeout(60)
        opened.connect(("127.0.0.1", int(impatient.url.rpartition(":")[2])))
        opened.sendall(post(key=ANN, target=b"/tokenize", body=body))
        assert opened.recv(1) == b"H"
        polled = select.poll()
        polled.register(opened, 0)  # errors and resets are always reported
        until(lambda: polled.poll(0) != [])


@pytest.mark.parametrize(
    ("begin", "items", "end"),
    [
        pytest.param(
            b'{"prompt":"a",', lambda: (b'"%d":0' % number for number in range(350_000)), b"}", marks=pytest.mark.chaos
        ),
        (b'{"prompt":"a","x":[', lambda: [b"[]"] * 1_300_000, b"]}"),
        pytest.param(b'{"prompt":[', lambda: [b"1"] * 2_000_000, b"]}", marks=pytest.mark.chaos),
        (b'{"prompt":"', lambda: [b"x" * 4_000_000], b'"}'),
        (b'{"content":"', lambda: [b"x" * 4_000_000], b'"}'),
    ],
    ids=["members", "arrays", "tokens", "prompt", "content"],
)
def test_a_body_of_a_million_values_delays_other_requests_briefly(
    http_client: httpx.Client, begin: bytes, items: Callable[[], Iterable[bytes]], end: bytes
) -> None:
    path, body = "/tokenize" if b"content" in begin else COMPLETIONS, begin + b",".join(items()) + end
    started = time.process_time()
    assert http_client.post(path, content=body, headers=JSON).status_code in (200, 400)
    assert time.process_time() - started < 8.0
