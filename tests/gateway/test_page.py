"""The page for people: what its files are sent with, and what it shows without a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.page.assets import assets
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

KEY = "ann-0123456789abcdef"
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
MODULE = "/page/main.js"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    """A service that asks for a key."""
    gateway = {"key_digests": [digest_of(KEY)]}
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway=gateway) as service:
        yield service


def test_every_file_is_public_and_says_what_a_browser_may_do(http: httpx.Client) -> None:
    for path, asset in assets().items():
        response = http.get(path, headers=BROWSER)
        assert (response.status_code, response.content) == (200, asset.body), path
        assert response.headers["content-type"].removesuffix("; charset=utf-8") == asset.media_type
        assert "set-cookie" not in response.headers
        assert response.headers["x-content-type-options"] == "nosniff"
        policy = dict(rule.split(" ", 1) for rule in response.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["form-action"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["require-trusted-types-for"] == "'script'"


def test_a_browser_that_has_a_file_gets_it_no_second_time(http: httpx.Client) -> None:
    for path in ("/", MODULE):
        first = http.get(path, headers=BROWSER)
        assert first.headers["cache-control"] == "no-cache"
        for known in (first.headers["etag"], f'"other", W/{first.headers["etag"]}', "*"):
            again = http.get(path, headers=BROWSER | {"if-none-match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
            assert "content-security-policy" in again.headers
        assert http.get(path, headers=BROWSER | {"if-none-match": '"other"'}).content == first.content


def test_without_a_key_the_page_says_nothing_of_the_service(http: httpx.Client) -> None:
    page = http.get("/", headers=BROWSER)
    assert page.headers["content-type"].startswith("text/html")
    assert "cactus-sprout" not in page.text
    assert http.get("/").status_code == http.get("/v1/models").status_code == 401
    assert http.get("/", headers=BROWSER | {"authorization": "Bearer wrong"}).text == page.text
    described = http.get("/", headers={"authorization": f"Bearer {KEY}"})
    assert described.json()["model"] == "cactus-sprout"


def test_only_files_of_the_page_are_served(http: httpx.Client) -> None:
    key = {"authorization": f"Bearer {KEY}"}
    for path in ("/page/nothing.js", "/page/index.html", "/page/%2e%2e/assets.py", "/page/../assets.py", "/page/chat"):
        assert http.get(path).status_code == 401, path
        assert http.get(path, headers=key).status_code == 404, path
    assert http.post(MODULE, json={}, headers=key).status_code == 405
    assert [http.request(method, MODULE).status_code for method in ("POST", "OPTIONS", "HEAD")] == [401, 401, 200]


def test_another_page_may_neither_send_nor_frame(http: httpx.Client) -> None:
    foreign = {"origin": "http://evil.example", "authorization": f"Bearer {KEY}"}
    refused = http.post("/v1/chat/completions", json={"messages": []}, headers=foreign)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
    framed = http.get("/", headers=BROWSER | {"sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"})
    assert framed.headers["x-frame-options"] == "DENY"


def test_the_page_is_switched_off(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"page": "off"}) as service, service.http() as http:
        page = http.get("/", headers=BROWSER)
        assert "/v1/chat/completions" in page.text
        assert MODULE not in page.text
        assert http.get(MODULE).status_code == 404
        assert http.get("/").json()["name"] == "cactus-actors"
