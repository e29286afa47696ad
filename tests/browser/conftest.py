"""One real service for all tests, and a browser that each of them visits it with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("playwright", reason="the extra `browser` is not installed: `make browser`")

from playwright.sync_api import Browser

from cactus_actors.gateway.http.api_keys import digest_of
from tests.support.browser.chromium import CHROMIUM, chromium
from tests.support.browser.visit import Visit
from tests.support.http.serving import Request, http_serving
from tests.support.services.real_service import KEY, RealService, real_service

CLOUD_WORDS = ("The **cloud** knows: ", "Canberra.")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.exit(f"there is no {CHROMIUM}: apt-get install chromium, or set CHROMIUM", returncode=1)
    with chromium() as browser:
        yield browser


def answer_as_cloud(request: Request) -> None:
    request.rfile.read(int(request.headers["content-length"]))
    request.send_response(200)
    request.send_header("content-type", "text/event-stream")
    request.end_headers()
    for word in CLOUD_WORDS:
        choice = {"index": 0, "delta": {"content": word}, "finish_reason": "stop" if word == CLOUD_WORDS[-1] else None}
        request.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        request.wfile.flush()
    request.wfile.write(b"data: [DONE]\n\n")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealService]:
    with http_serving(answer_as_cloud) as url, real_service(tmp_path_factory.mktemp("state")) as service:
        service.hand_off_to(f"{url}/v1", "big-model")
        yield service


@pytest.fixture(scope="session")
def guarded_url(service: RealService) -> str:
    """A gateway that requires KEY."""
    return service.start_gateway(key_digests=[digest_of(KEY)])


@pytest.fixture
def visits(browser: Browser, service: RealService) -> Iterator[Callable[..., Visit]]:
    """Opens tabs; at the end, none has asked another server for anything, and none has complained."""
    opened: list[Visit] = []

    def visit(url: str = service.url, **options: Any) -> Visit:
        opened.append(Visit(browser, url, **options))
        return opened[-1]

    yield visit
    for one in opened:
        one.context.close()
    assert [(one.foreign, one.complaints) for one in opened] == [([], [])] * len(opened)


@pytest.fixture
def visit(visits: Callable[..., Visit]) -> Visit:
    """The page, open."""
    found = visits()
    found.open()
    return found
