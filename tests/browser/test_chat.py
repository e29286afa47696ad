"""Conversations: streaming, stopping, editing, probabilities, hand-offs, tools, and what stays in the browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
from playwright.sync_api import expect

from tests.support.browser.visit import Visit
from tests.support.services.real_service import RealService
from tests.support.text.client_questions import ENDLESS, WEATHER

CAPITAL = "What is the capital of France?"
STORY = "Tell me a story about a cat."
PARIS = "The capital of France is Paris."
STOP_AT_FIRST_WORD = """() => new MutationObserver((_, observer) => {
  if (!document.querySelector('.turn.assistant .markdown')?.textContent) return;
  observer.disconnect();
  [...document.querySelectorAll('button')].find((one) => one.textContent === 'Stop').click();
}).observe(document.querySelector('.turns'), { childList: true, subtree: true })"""


def setting(visit: Visit, name: str, value: str) -> None:
    if not visit.tab.locator("#chat-settings").is_visible():
        visit.tab.get_by_role("button", name="Settings").click()
    visit.tab.get_by_label(name, exact=True).fill(value)


def test_an_answer_streams_and_says_who_gave_it(visit: Visit) -> None:
    setting(visit, "Temperature", "0")
    answer = visit.ask(CAPITAL)
    assert answer.locator(".markdown").inner_text() == PARIS
    assert "cactus-sprout" in answer.locator(".facts").inner_text()
    expect(visit.tab.get_by_role("heading", level=1)).to_have_text(CAPITAL)
    said = visit.tab.locator("#said p").all_inner_texts()
    assert " ".join(text.strip() for text in said) == PARIS


def test_an_answer_is_stopped(service: RealService, visit: Visit) -> None:
    setting(visit, "Max tokens", "900")
    visit.tab.evaluate(STOP_AT_FIRST_WORD)
    with httpx.stream("POST", f"{service.url}/v1/completions", json=ENDLESS, timeout=60):  # it takes its time then
        visit.message.fill(STORY)
        visit.message.press("Enter")
        answer = visit.answered()
    assert "Stopped." in answer.inner_text()
    assert answer.locator(".markdown").inner_text()
    service.becomes_idle()
    setting(visit, "Temperature", "0")
    assert visit.ask(CAPITAL).locator(".markdown").inner_text()  # the next one is not disturbed


def test_a_question_is_edited_and_both_versions_stay(visit: Visit) -> None:
    setting(visit, "Temperature", "0")
    visit.ask("What is 17 + 25?")
    visit.tab.get_by_role("button", name="Edit").click()
    visit.tab.get_by_role("textbox", name="Your message").fill(CAPITAL)
    visit.tab.get_by_role("button", name="Ask again").click()
    assert visit.answered().locator(".markdown").inner_text() == PARIS
    assert visit.answers.count() == 1
    visit.tab.get_by_role("button", name="Earlier version").click()
    expect(visit.tab.locator(".turn.user .bubble")).to_have_text("What is 17 + 25?")
    expect(visit.answers.locator(".markdown")).to_contain_text("42")


def test_a_retry_is_another_version(visit: Visit) -> None:
    visit.ask(STORY)
    visit.tab.get_by_role("button", name="Retry").click()
    expect(visit.tab.locator(".versions")).to_contain_text("2 of 2")
    visit.answered()
    assert visit.answers.count() == 1


def test_a_token_shows_its_probability_and_its_alternatives(visit: Visit) -> None:
    setting(visit, "Seed", "3")
    setting(visit, "Max tokens", "40")
    answer = visit.ask(STORY)
    tokens = answer.locator("[data-token]")
    assert "".join(tokens.all_inner_texts()) == answer.locator(".markdown").inner_text()
    unsure = answer.locator(".p0, .p1, .p2").first
    unsure.hover()
    card = visit.tab.locator(".token-card")
    assert re.search(r"\d %", card.inner_text())
    assert card.get_by_role("button").count() == 0
    unsure.click()
    rows = card.locator("tr")
    assert rows.count() in (5, 6)  # the chosen one is shown in any case
    assert card.locator("tr.chosen .piece").inner_text().strip() == unsure.inner_text().strip()
    before = answer.locator(".markdown").inner_text()
    kept = before[: before.index(unsure.inner_text())]
    other = card.get_by_role("button").first
    piece = other.locator("xpath=ancestor::tr").locator(".piece").inner_text()
    other.click()
    expect(visit.tab.locator(".versions")).to_contain_text("2 of 2")
    assert visit.answered().locator(".markdown").inner_text().startswith(kept + piece.rstrip("⏎"))
    assert visit.tab.locator(".token-card").count() == 0


def test_a_handed_off_answer_names_its_author_and_the_reason(visit: Visit) -> None:
    setting(visit, "Hand off below", "1")
    answer = visit.ask("Who was the first person on Mars?")
    note = answer.locator("[data-handoff=cloud]").inner_text()
    assert note.startswith("Handed off: big-model")
    assert "in place of cactus-sprout" in note
    assert re.search(r"\w+ 0\.\d+ is below 1\.000", note)
    assert answer.locator(".markdown").inner_text() == "The cloud knows: Canberra."
    assert answer.locator("strong").first.inner_text() == "cloud"
    assert answer.get_by_role("button", name="Colour it").count() == 0


def test_an_answer_is_coloured_afterwards_with_the_same_words(visit: Visit) -> None:
    setting(visit, "Hand off below", "0.0001")
    first = visit.ask(STORY)
    assert first.locator("[data-token]").count() == 0
    text = first.locator(".markdown").inner_text()
    first.get_by_role("button", name="Colour it").click()
    expect(visit.tab.locator(".versions")).to_contain_text("2 of 2")
    again = visit.answered()
    assert again.locator(".markdown").inner_text() == text
    assert again.locator("[data-token]").count() > 10


def test_a_call_is_shown_and_its_result_is_typed_in(visit: Visit) -> None:
    setting(visit, "Tools", "[{")
    visit.message.focus()
    assert "not JSON" in visit.tab.locator(".chat-settings [role=alert]").inner_text()
    visit.message.fill("hi")
    visit.message.press("Enter")
    assert "not JSON" in visit.tab.locator(".composer [role=alert]").inner_text()
    setting(visit, "Tools", json.dumps([WEATHER["function"]]))
    setting(visit, "Temperature", "0")
    answer = visit.ask("What is the weather in Paris in celsius?")
    call = answer.locator(".call")
    assert call.locator("strong").inner_text() == "get_weather"
    assert "Paris" in json.loads(call.locator("pre").inner_text())["city"]
    answer.get_by_label("Result of get_weather").fill('{"temperature": 21}')
    answer.get_by_role("button", name="Send results").click()
    assert visit.answered().locator(".markdown").inner_text()
    assert '{"temperature": 21}' in visit.tab.locator(".turn.tool").inner_text()


def test_a_refusal_is_shown_as_one(visit: Visit) -> None:
    setting(visit, "Max tokens", "99999999999")
    answer = visit.ask("Hello")
    assert "max_tokens" in answer.get_by_role("alert").inner_text()


def test_a_picture_for_a_text_model_is_refused_by_name(visit: Visit) -> None:
    files = [{"name": "dot.gif", "mimeType": "image/gif", "buffer": b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"}]
    visit.tab.get_by_label("Pictures", exact=True).set_input_files(files)  # type: ignore[arg-type]
    visit.tab.get_by_role("button", name="Remove picture 1").wait_for()
    answer = visit.ask("What is this?")
    assert "picture" in answer.get_by_role("alert").inner_text() or "image" in answer.get_by_role("alert").inner_text()
    visit.tab.get_by_label("Pictures", exact=True).set_input_files(
        [{"name": "a.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>"}]
    )
    expect(visit.tab.locator(".composer [role=alert]")).to_contain_text("is not a picture in PNG")


def test_conversations_stay_in_the_browser_and_leave_as_files(visit: Visit, tmp_path: Path) -> None:
    setting(visit, "System prompt", "Be brief.")
    setting(visit, "Temperature", "0")
    visit.ask(CAPITAL)
    visit.tab.reload()
    visit.tab.get_by_role("navigation", name="Conversations").get_by_role("button", name=CAPITAL, exact=True).click()
    expect(visit.answers.locator(".markdown")).to_have_text(PARIS)
    for kind, check in (("md", f"## You\n\n{CAPITAL}\n\n## Answer (cactus-sprout)\n\n{PARIS}"), ("json", PARIS)):
        with visit.tab.expect_download() as download:
            visit.tab.get_by_label("Export").select_option(kind)
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        assert saved.name == f"What-is-the-capital-of-France.{kind}"
        assert check in saved.read_text()
    assert json.loads(saved.read_text())["settings"]["system"] == "Be brief."
    visit.tab.on("dialog", lambda dialog: dialog.accept())
    visit.tab.get_by_role("button", name=f"Delete {CAPITAL}").click()
    expect(visit.answers).to_have_count(0)
    visit.tab.reload()
    visit.open()
    expect(visit.tab.get_by_role("button", name=CAPITAL, exact=True)).to_have_count(1)  # that of the welcome
