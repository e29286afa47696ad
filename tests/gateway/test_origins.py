"""Web pages of other origins can change nothing unless their origin is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.http.origins import OriginPolicy
from cactus_actors.protocol.errors import ConfigurationInvalid
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

FRIEND = "https://app.example"
KEY = "ann-0123456789abcdef"
CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}


@pytest.fixture(scope="module")
def friendly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    gateway = {"allowed_origins": [FRIEND], "key_digests": [digest_of(KEY)]}
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway=gateway) as service:
        yield service


def kept_files(service: FakeWorkerService) -> list[Path]:
    return list((Path(service.settings.state_dir) / "http" / "files").iterdir())


FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "file://"},
    {"origin": ""},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_page_of_another_origin_cannot_upload(service: FakeWorkerService, headers: dict[str, str]) -> None:
    before = kept_files(service)
    with service.http() as http:
        form = {"files": {"file": ("in.jsonl", b"x" * 10_000)}, "data": {"purpose": "batch"}}
        refused = http.post("/v1/files", **form, headers=headers)  # type: ignore[arg-type]
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
        assert "allowed_origins" in refused.json()["error"]["message"]
        assert "access-control-allow-origin" not in refused.headers
    assert kept_files(service) == before


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "PATCH"])
def test_every_unsafe_method_checks_the_origin(service: FakeWorkerService, method: str) -> None:
    with service.http() as http:
        for path in ("/v1/chat/completions", "/v1/files/file-1", "/nothing", "/health"):
            assert http.request(method, path, headers=FOREIGN[0]).status_code == 403


@pytest.mark.parametrize("headers", FOREIGN)
def test_reads_are_not_refused_by_origin(service: FakeWorkerService, headers: dict[str, str]) -> None:
    with service.http() as http:
        answer = http.get("/v1/models", headers=headers)
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers  # the page cannot read it


def test_programs_and_pages_of_the_service_itself_are_accepted(service: FakeWorkerService) -> None:
    with service.http() as http:
        own = f"http://{http.base_url.netloc.decode()}"
        for headers in (
            {},
            {"origin": own},
            {"origin": own, "sec-fetch-site": "same-origin"},
            {"sec-fetch-site": "none"},
        ):
            assert http.post("/v1/chat/completions", json=CHAT, headers=headers).status_code == 200


def test_a_page_of_an_allowed_origin_sends_and_reads(friendly: FakeWorkerService) -> None:
    page = {"origin": FRIEND, "sec-fetch-site": "cross-site"}
    with friendly.http() as http:
        asked = {
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization,content-type",
        }
        preflight = http.options("/v1/chat/completions", headers=page | asked)  # browsers send no key with it
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == FRIEND
        assert preflight.headers["access-control-allow-methods"] == "POST"
        assert preflight.headers["access-control-allow-headers"] == "authorization,content-type"
        key = {"authorization": f"Bearer {KEY}"}
        answer = http.post("/v1/chat/completions", json=CHAT, headers=page | key)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, FRIEND)
        refused = http.post("/v1/chat/completions", json=CHAT, headers=page)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, FRIEND)
        other = http.options("/v1/chat/completions", headers=FOREIGN[0] | asked)
        assert other.status_code == 401
        assert "access-control-allow-origin" not in other.headers


def test_a_page_of_the_same_host_by_another_scheme_is_foreign(service: FakeWorkerService) -> None:
    with service.http() as http:
        other = {"origin": f"https://{http.base_url.netloc.decode()}"}
        assert http.post("/v1/chat/completions", json=CHAT, headers=other).status_code == 403


def test_behind_a_proxy_both_schemes_are_accepted(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"behind_proxy": True}) as service, service.http() as http:
        for scheme in ("http", "https"):
            own = {"origin": f"{scheme}://{http.base_url.netloc.decode()}"}
            assert http.post("/v1/chat/completions", json=CHAT, headers=own).status_code == 200


def test_an_origin_may_contain_the_default_port() -> None:
    policy = OriginPolicy()
    for origin, host in (
        (b"https://cactus.example", b"cactus.example:443"),
        (b"https://cactus.example:443", b"cactus.example"),
        (b"http://[::1]:8080", b"[::1]:8080"),
        (b"HTTP://Localhost:8080", b"localhost:8080"),
    ):
        policy.check("POST", [(b"origin", origin), (b"host", host)])


@pytest.mark.parametrize("origin", ["app.example", "*", "https://", "https://app.example/", "https://app.example?a"])
def test_an_invalid_allowed_origin_is_refused(origin: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="allowed_origins"):
        OriginPolicy([origin])
