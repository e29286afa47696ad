"""The service on the page: live charts, workers, failures, and what operators may do."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import expect

from cactus_actors.gateway.http.api_keys import digest_of
from tests.support.browser.visit import Visit
from tests.support.services.real_service import KEY, RealService

OPERATOR = "sk-of-an-operator-0123456789abc"


@pytest.fixture(scope="session")
def operated_url(service: RealService) -> str:
    """A gateway with the key of a client and that of an operator."""
    digests = [digest_of(KEY), digest_of(OPERATOR)]
    return service.start_gateway(key_digests=digests, operator_digests=[digest_of(OPERATOR)])


def with_key(visit: Visit, key: str) -> Visit:
    visit.open("service")
    dialog = visit.tab.get_by_role("dialog")
    dialog.get_by_label("Key").fill(key)
    dialog.get_by_label("Key").press("Enter")
    visit.tab.locator(".chart").first.wait_for()
    return visit


def test_charts_and_workers_are_live(service: RealService, visit: Visit) -> None:
    visit.tab.get_by_role("link", name="Service").click()
    expect(visit.tab.get_by_role("heading", level=1)).to_have_text("Service")
    visit.tab.locator(".chart").first.wait_for()
    assert visit.tab.locator(".chart").count() == 7
    expect(visit.tab.locator("tbody").first).to_contain_text("w0")
    facts = visit.tab.locator("h1 + p")
    before = facts.inner_text()
    assert "cactus-sprout" in before
    httpx.post(f"{service.url}/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hi"}]}, timeout=60)
    expect(facts).not_to_have_text(before)
    for drawn in visit.tab.locator(".chart svg").all():
        assert len(drawn.get_attribute("aria-label") or "") > 20


def test_a_failure_is_listed_with_what_was_said(service: RealService, visit: Visit) -> None:
    said = httpx.post(f"{service.url}/v1/chat/completions", json={"messages": 5}, timeout=60).json()["error"]["message"]
    visit.tab.get_by_role("link", name="Service").click()
    errors = visit.tab.get_by_role("region", name="Last errors")
    expect(errors).to_contain_text(said)
    expect(errors).to_contain_text("/v1/chat/completions")


def test_a_client_has_no_actions(visits: Callable[..., Visit], operated_url: str) -> None:
    tab = with_key(visits(operated_url), KEY).tab
    expect(tab.get_by_role("heading", name="Workers", exact=True)).to_be_visible()
    assert tab.get_by_role("heading", name="Operations").count() == 0
    assert tab.get_by_role("heading", name="Whose jobs wait").count() == 0
    assert tab.get_by_role("button", name="Drain node").count() == 0


def test_an_operator_scales_and_sees_the_decision(
    visits: Callable[..., Visit], operated_url: str, service: RealService
) -> None:
    visit = with_key(visits(operated_url), OPERATOR)
    tab = visit.tab
    tab.get_by_label("Desired workers").fill("5")
    tab.get_by_label("Desired workers").press("Enter")
    expect(tab.locator("[role=status].note")).to_have_text("5 workers are desired now.")
    assert service.client.status().desired_workers == 5
    expect(tab.get_by_role("region", name="Scaling decisions")).to_contain_text("set by an operator")
    tab.get_by_label("Desired workers").fill("1")
    tab.get_by_role("button", name="Scale").click()
    expect(tab.locator("[role=status].note")).to_have_text("1 workers are desired now.")
    tab.on("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Drain node").first.click()
    tab.get_by_role("button", name="Restart all workers").click()
    expect(tab.locator("[role=status].note")).to_contain_text("being replaced")
    assert visit.violations() == []
