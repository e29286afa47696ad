"""Who can use the page: keys, keyboards, phones, dark rooms, screen readers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests.support.browser.visit import Visit
from tests.support.services.real_service import KEY, RealService

PARTS = ["chat", "service", "batch", "calibrate"]
SCREENS = {
    "desk": {"viewport": {"width": 1280, "height": 800}},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True},
    "dark": {"color_scheme": "dark"},
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("part", PARTS)
def test_axe_finds_nothing(visits: Callable[..., Visit], part: str, screen: str) -> None:
    visit = visits(**SCREENS[screen])
    visit.open(part)
    if part == "service":
        visit.tab.locator(".chart").first.wait_for()
    assert visit.violations() == []
    assert visit.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_in_a_conversation(visits: Callable[..., Visit], screen: str) -> None:
    visit = visits(**SCREENS[screen])
    visit.open()
    visit.tab.get_by_role("button", name="Settings").click()
    visit.tab.get_by_label("Seed").fill("3")
    if screen == "phone":
        visit.tab.get_by_role("button", name="Close").click()
    answer = visit.ask("Tell me a story about a cat.")
    answer.locator("[data-token]").first.click()
    visit.tab.locator(".token-card table").wait_for()
    assert visit.violations() == []
    assert visit.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_keyboard_is_enough(visit: Visit) -> None:
    tab = visit.tab
    expect(visit.message).to_be_focused()
    tab.keyboard.type("What is the capital of France?")
    tab.keyboard.press("Enter")
    visit.answered()
    expect(visit.message).to_be_focused()
    for _ in range(12):
        tab.keyboard.press("Shift+Tab")
        if tab.evaluate("document.activeElement.classList.contains('tokens')"):
            break
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    assert tab.locator(".tokens .at").count() == 1
    tab.keyboard.press("Enter")
    card = tab.locator(".token-card")
    assert card.locator("tr").count() in (5, 6)
    assert tab.evaluate("document.activeElement.closest('.token-card') !== null")
    tab.keyboard.press("Escape")
    expect(card).to_have_count(0)
    assert tab.evaluate("document.activeElement.classList.contains('tokens')")
    tab.keyboard.press("Home")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")  # the first alternative
    expect(tab.locator(".versions")).to_contain_text("2 of 2")
    visit.answered()


def test_what_arrives_later_does_not_take_the_focus(visits: Callable[..., Visit]) -> None:
    visit = visits()
    held: list[Route] = []
    visit.tab.route("**/v1/models", lambda route: held.append(route))
    visit.open()
    visit.tab.get_by_role("button", name="Settings").click()
    visit.tab.get_by_label("System prompt").press_sequentially("Be ")
    visit.tab.wait_for_timeout(100)
    for route in held:
        route.continue_()
    expect(visit.tab.get_by_label("Model")).to_contain_text("cactus-sprout")
    expect(visit.tab.get_by_label("System prompt")).to_be_focused()
    visit.tab.keyboard.type("brief.")
    expect(visit.tab.get_by_label("System prompt")).to_have_value("Be brief.")


def test_the_first_stop_leads_to_the_content(visit: Visit) -> None:
    for _ in range(30):
        visit.tab.keyboard.press("Shift+Tab")
        if visit.tab.evaluate("document.activeElement.textContent") == "Skip to the content":
            break
    assert visit.tab.locator(".skip").bounding_box()["x"] == 0  # type: ignore[index]
    visit.tab.keyboard.press("Enter")
    expect(visit.tab.locator("main")).to_be_focused()


def test_a_phone_shows_one_thing_at_a_time(visits: Callable[..., Visit]) -> None:
    visit = visits(**SCREENS["phone"])
    visit.open()
    listed = visit.tab.get_by_role("navigation", name="Conversations")
    expect(listed).to_be_hidden()
    visit.tab.get_by_role("button", name="Conversations").click()
    expect(listed).to_be_visible()
    visit.tab.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    expect(visit.tab.get_by_role("button", name="Conversations")).to_be_focused()
    visit.tab.keyboard.press("Enter")
    visit.tab.get_by_role("button", name="New conversation").first.click()
    expect(listed).to_be_hidden()


def test_the_key_is_asked_for_and_forgotten(visits: Callable[..., Visit], guarded_url: str) -> None:
    visit = visits(guarded_url)
    visit.open()
    dialog = visit.tab.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert visit.violations() == []
    assert "cactus-sprout" not in visit.tab.content()
    dialog.get_by_label("Key").fill("sk-of-somebody-else-01234")
    dialog.get_by_role("button", name="Use it").click()
    expect(dialog).to_contain_text("refused")
    dialog.get_by_label("Key").fill(KEY)
    dialog.get_by_label("Key").press("Enter")
    expect(dialog).to_be_hidden()
    expect(visit.tab.get_by_label("Model")).to_contain_text("cactus-sprout")
    assert "Paris" in visit.ask("What is the capital of France?").inner_text()
    kept = visit.tab.evaluate("[JSON.stringify(localStorage), document.cookie, sessionStorage.length]")
    assert kept == ["{}", "", 1]
    assert visit.context.cookies() == []
    assert KEY not in " ".join(visit.requested)
    visit.tab.reload()
    expect(visit.tab.get_by_label("Model")).to_contain_text("cactus-sprout")
    visit.tab.get_by_role("button", name="API key").click()
    dialog.get_by_role("button", name="Forget it").click()
    visit.tab.wait_for_function("sessionStorage.length === 0")
    expect(dialog).to_be_visible()


def test_no_page_can_frame_it(visits: Callable[..., Visit], service: RealService) -> None:
    visit = visits()
    visit.open()
    framed = visit.tab.evaluate(
        """async () => {
          const frame = document.createElement('iframe');
          frame.src = '/';
          document.body.append(frame);
          await new Promise((resolve) => { frame.onload = resolve; setTimeout(resolve, 3000); });
          try { return frame.contentDocument?.querySelector('#tabs') !== null && !!frame.contentDocument; }
          catch { return false; }
        }"""
    )
    assert framed is False
    visit.complaints.clear()  # the browser says why
