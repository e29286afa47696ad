"""Invalid bodies and the errors for them; the service stays up."""

from __future__ import annotations

import json
import re
import socket
from typing import Any

import httpx
import pytest

from tests.support.http.raw_http import connection, statuses, until_closed
from tests.support.services.fake_worker_service import JSON, STORY, FakeWorkerService

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
MESSAGES = [{"role": "user", "content": "hi"}]
ROUTES = (
    *(CHAT, COMPLETIONS, "/completion", "/infill", "/v1/embeddings"),
    *("/tokenize", "/detokenize", "/apply-template", "/v1/batches"),
)
MAX_BODY = 4 * 1024 * 1024


def refusal(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error of a response, which must have the one documented shape."""
    assert response.status_code == status, response.text[:300]
    [(name, error)] = response.json().items()
    assert name == "error"
    assert error.keys() == {"message", "type", "code", "param", "request_id"}
    assert error["code"] == status
    assert error["request_id"] == response.headers["x-request-id"]
    assert isinstance(error["message"], str)
    assert len(error["message"]) < 1000
    assert "Traceback" not in error["message"]
    result: dict[str, Any] = error
    return result


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"7",
        b'{"prompt": "a"',
        b'\xef\xbb\xbf{"prompt":"a"}',
        '{"prompt":"a"}'.encode("utf-16"),
        b'{"temperature": NaN}',
        b'{"temperature": Infinity}',
        b'{"temperature": 1e999}',
        b'{"prompt": "a"} {}',
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "\xed\xa0\x80"}',
        b'{"prompt": "\xff"}',
        b'{"prompt": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model": "a", "model": "b"}',
        b'{"x": {"y": 1, "y": 1}}',
        b"{'prompt': 'a'}",
    ],
)
def test_invalid_json_is_refused(http: httpx.Client, route: str, body: bytes) -> None:
    error = refusal(http.post(route, content=body, headers=JSON), 400)
    assert error["type"] == "invalid_json"


def test_the_position_of_a_syntax_error_is_reported(http: httpx.Client) -> None:
    error = refusal(http.post(COMPLETIONS, content=b'{"prompt": }', headers=JSON), 400)
    assert "byte 11" in error["message"]
    error = refusal(http.post(COMPLETIONS, content=b'{"prompt": "a"', headers=JSON), 400)
    assert "byte 14" in error["message"]
    error = refusal(http.post(COMPLETIONS, content=b'{"prompt": "a\xffb"}', headers=JSON), 400)
    assert "byte 13" in error["message"]
    error = refusal(http.post(COMPLETIONS, content=b'{"prompt": "\\ud800"}', headers=JSON), 400)
    assert "lone surrogate (byte 12)" in error["message"]
    error = refusal(http.post(COMPLETIONS, content=b'{"n": 1, "n": 1}', headers=JSON), 400)
    assert error["param"] == "n"


@pytest.mark.parametrize("number", [b"1e400", b"-1.5E999", b"1" * 5000])
def test_the_position_of_a_number_out_of_range_is_reported(http: httpx.Client, number: bytes) -> None:
    content = b'{"prompt": "1e400 \\" 1e400", "top_k": [1e3, 1' + b"0" * 400 + b", " + number + b"]}"
    error = refusal(http.post(COMPLETIONS, content=content, headers=JSON), 400)
    assert error["type"] == "invalid_json"
    assert f"a number is out of range (byte {content.rindex(number)})" in error["message"]


@pytest.mark.parametrize("host", [b"", b"Host: a b\r\n", b"Host: a\r\nHost: b\r\n"])
def test_a_connection_without_a_host_is_closed_with_its_answer(service: FakeWorkerService, host: bytes) -> None:
    with connection(service.url) as opened:
        opened.sendall(b"GET /v1/models HTTP/1.1\r\n" + host + b"\r\n")
        assert statuses(until_closed(opened)) == [400]  # long before an idle one would be closed


def test_a_body_has_a_size_limit(http: httpx.Client) -> None:
    exact = b'{"prompt":"a","x":"' + b"y" * (MAX_BODY - 21) + b'"}'
    assert len(exact) == MAX_BODY
    assert http.post(COMPLETIONS, content=exact, headers=JSON).status_code == 200
    error = refusal(http.post(COMPLETIONS, content=exact + b" ", headers=JSON), 413)
    assert error["type"] == "payload_too_large"

    def chunks() -> Any:
        for _ in range(5):
            yield b" " * 1024 * 1024

    assert refusal(http.post(COMPLETIONS, content=chunks(), headers=JSON), 413)["code"] == 413


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=utf-16"},
        JSON | {"content-encoding": "gzip"},
        JSON | {"content-encoding": "br"},
    ],
)
def test_only_uncompressed_json_in_utf_8_is_accepted(http: httpx.Client, headers: dict[str, str]) -> None:
    error = refusal(http.post(COMPLETIONS, content=b'{"prompt":"a"}', headers=headers), 415)
    assert error["type"] == "unsupported_media_type"


def test_a_charset_of_utf_8_is_accepted(http: httpx.Client) -> None:
    headers = {"content-type": "Application/JSON; charset=UTF-8"}
    assert http.post(COMPLETIONS, content=b'{"prompt":"a"}', headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", -2),
        ("max_tokens", 2**63),
        ("max_tokens", 1.5),
        ("max_tokens", "5"),
        ("max_tokens", True),
        ("max_tokens", 10**400),
        ("temperature", -1),
        ("temperature", 1e308),
        ("top_p", 2),
        ("top_k", -5),
        ("presence_penalty", 3),
        ("n", 10**9),
        ("n", 0),
        ("best_of", 10**9),
        ("logprobs", 10**6),
        ("stop", ["x"] * 10_000),
        ("stop", [""]),
        ("prompt", None),
        ("prompt", []),
        ("prompt", {}),
        ("prompt", [-1]),
        ("prompt", [10**6]),
        ("prompt", [1, 10**400]),
        ("prompt", [True]),
        ("prompt", "x" * 5000),
        ("stream", "yes"),
        ("stream_options", 7),
        ("tools", [{"name": "f"}]),
        ("seed", -2),
        ("seed", "7e3"),
        ("seed", str(2**64)),
        ("logit_bias", {"a": "b"}),
    ],
)
def test_an_invalid_field_is_named(http: httpx.Client, field: str, value: Any) -> None:
    error = refusal(http.post(COMPLETIONS, content=json.dumps({"prompt": "a", field: value}), headers=JSON), 400)
    assert error["param"] is not None
    assert error["param"].startswith(field)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("messages", None),
        ("messages", []),
        ("messages", "hi"),
        ("messages", [{"role": "wizard", "content": "hi"}]),
        ("messages", [{"role": "user", "content": 7}]),
        (
            "messages",
            [{"role": "user", "content": [{"type": "image_url", "image_url": "file:///etc/passwd"}]}],
        ),
        ("messages", [{"role": "user", "content": "x"}] * 100_000),
        ("tool_choice", "required"),
        ("response_format", {"type": "nonsense"}),
        ("prompt_mode", "nonsense"),
    ],
)
def test_an_invalid_field_of_a_chat_is_named(http: httpx.Client, field: str, value: Any) -> None:
    content = json.dumps({"messages": MESSAGES, field: value})
    error = refusal(http.post(CHAT, content=content, headers=JSON), 400)
    assert (error["param"] or "").startswith(field)


def test_a_missing_prompt_is_reported_as_documented(http: httpx.Client) -> None:
    error = refusal(http.post(COMPLETIONS, json={"model": "m"}), 400)
    assert (error["message"], error["type"]) == ("prompt is required", "invalid_request_error")


@pytest.mark.parametrize(
    ("field", "counted"),
    [("chat_template", "chat_template"), ("trace", "other")],
)
def test_an_unknown_field_is_ignored_and_counted(http: httpx.Client, field: str, counted: str) -> None:
    def count() -> float:
        found = re.search(rf'cactus_http_ignored_fields_total{{field="{counted}"}} (.*)', http.get("/metrics").text)
        return float(found[1]) if found else 0

    before = count()
    assert http.post(COMPLETIONS, json={"prompt": "a", field: "x"}).status_code == 200
    assert count() == before + 1


def test_a_model_name_is_echoed_unless_it_is_too_long(http: httpx.Client) -> None:
    for name in ("gpt-3.5-turbo", "../../etc/passwd"):
        assert http.post(COMPLETIONS, json={"prompt": "a", "model": name}).json()["model"] == name
    error = refusal(http.post(COMPLETIONS, json={"prompt": "a", "model": "m" * 1_000_000}), 404)
    assert error["type"] == "model_not_found"
    assert len(error["message"]) < 200


@pytest.mark.parametrize("text", ["\0", "\ue000", "🌵" * 5, "a\u0301", "\x7f"])
def test_any_unicode_text_is_returned_unchanged(service: FakeWorkerService, http: httpx.Client, text: str) -> None:
    answer = http.post(CHAT, json={"messages": [{"role": "user", "content": text}], "max_tokens": 3}).json()
    assert answer["choices"][0]["message"]["content"] == "".join(STORY)
    ids = http.post("/tokenize", json={"content": text}).json()["tokens"]
    assert http.post("/detokenize", json={"tokens": ids}).json()["content"] == text


@pytest.mark.parametrize(
    ("request_lines", "status"),
    [
        (b"TRACE /v1/completions HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET //v1/../metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /v1/%2e%2e/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET http://localhost/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /v1/models HTTP/1.1\r\nHost: a/?x=\r\n\r\n", 400),
        (b"GET /v1/models HTTP/1.1\r\nHost: evil/#\r\n\r\n", 400),
        (b"GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /v1/models HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 403),
        (b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 64 * 1024 + b"\r\n\r\n", 431),
        (b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10_000 + b"\r\n", 431),
        (b"GET /" + b"y" * 64 * 1024 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
        (
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
            400,
        ),
        (b"rubbish\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    ],
)
def test_bytes_that_are_not_http_reach_no_route(
    service: FakeWorkerService, http: httpx.Client, request_lines: bytes, status: int
) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request_lines)
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:80]
    assert http.get("/health").status_code == 200
