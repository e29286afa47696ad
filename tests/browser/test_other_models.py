"""Models that read pictures, and models that reason."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser.visit import Visit
from tests.support.models.shape_pictures import RED_SQUARE
from tests.support.services.real_service import RealService, real_service
from tests.support.services.thinking_service import thinking_service

GIVE = """([kind, encoded]) => {
  const bytes = Uint8Array.from(atob(encoded), (one) => one.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], 'square.png', { type: 'image/png' }));
  const travels = { bubbles: true, cancelable: true };
  const event = kind === 'paste' ? new ClipboardEvent('paste', { clipboardData: transfer, ...travels })
    : new DragEvent('drop', { dataTransfer: transfer, ...travels });
  document.querySelector('.composer textarea').dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealService]:
    with real_service(tmp_path_factory.mktemp("seeing"), model="cactus-bloom") as service:
        yield service


@pytest.mark.parametrize("kind", ["paste", "drop"])
def test_a_picture_is_pasted_or_dropped_and_asked_about(
    visits: Callable[..., Visit], seeing: RealService, kind: str
) -> None:
    visit = visits(seeing.url)
    visit.open()
    visit.tab.evaluate(GIVE, [kind, base64.b64encode(RED_SQUARE).decode()])
    visit.tab.get_by_role("button", name="Remove picture 1").wait_for()
    answer = visit.ask("What colour is the square?")
    assert "red" in answer.locator(".markdown").inner_text().lower()
    expect(visit.tab.locator(".turn.user img")).to_have_count(1)
    expect(visit.tab.locator(".composer img")).to_have_count(0)


def test_thoughts_are_folded(visits: Callable[..., Visit], tmp_path: Path) -> None:
    with thinking_service(tmp_path) as service:  # random weights: it thinks nonsense, and does not end
        visit = visits(service.url)
        visit.open()
        visit.tab.get_by_role("button", name="Settings").click()
        visit.tab.get_by_label("Max tokens").fill("60")
        answer = visit.ask("Is it?")
        thoughts = answer.locator("details.thoughts")
        expect(thoughts).to_have_js_property("open", False)
        thoughts.locator("summary").click()
        expect(thoughts.locator("p")).to_be_visible()
        assert thoughts.locator("p").inner_text().strip()
        assert visit.violations() == []
