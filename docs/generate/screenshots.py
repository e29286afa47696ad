"""Draw the pictures of the page for the README and docs/guide/page.md: a real service, its work, and Chromium.

`make screenshots` installs what this needs. The service answers in threads of this process.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page

from cactus_actors.calibration import Calibration, Example, ThresholdTarget, run_examples
from cactus_actors.calibration.answers_file import head_of, write_answers
from cactus_actors.calibration.bound_report import BoundReport
from cactus_actors.calibration.bound_scores import Bound
from cactus_actors.client import AsyncClient
from tests.support.browser.chromium import chromium
from tests.support.browser.visit import Visit
from tests.support.http.serving import Request, http_serving
from tests.support.services.real_service import RealService, real_service
from training.handwritten.test_set import HandwrittenQuestion, load_test_set

IMAGES = Path(__file__).parents[1] / "guide" / "images"
NUM_COLOURS = 96
STORY = "Tell me a story about a cat."
LONGER = "Tell me a short story about a cat that found a lamp in the forest."
"""Long enough for the prefix cache."""
BUSY_S = 50.0
BOUND = Bound(max_error=0.1, confidence=0.95)
DESK: dict[str, Any] = {"viewport": {"width": 1180, "height": 760}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 760}, "color_scheme": "dark"}
CLOUD_ANSWER = "Nobody has walked on Mars yet; **Neil Armstrong** was the first person on the Moon, in 1969."


def main() -> None:
    """Write all pictures."""
    with (
        tempfile.TemporaryDirectory() as directory,
        http_serving(_answer_as_cloud) as cloud,
        real_service(Path(directory) / "state", num_workers=2) as service,
    ):
        service.hand_off_to(f"{cloud}/v1", "large-model")
        service.client.scale(2)
        answers = Path(directory) / "answers.jsonl"
        with chromium() as browser:
            _draw_chat(browser, service)
            _draw_phone(browser, service)
            _draw_service(browser, service)
            # The browser's driver has a loop in this thread.
            with ThreadPoolExecutor() as pool:
                pool.submit(lambda: asyncio.run(_calibrate(service, answers))).result()
            _draw_calibration(browser, service, answers)


def _draw_chat(browser: Browser, service: RealService) -> None:
    with _visit(browser, service, **DESK) as visit:
        tab = visit.tab
        tab.get_by_role("button", name="Settings").click()
        tab.get_by_label("Hand off below").fill("0.9")
        visit.ask("Who was the first person on Mars?")
        tab.get_by_label("Hand off below").fill("")
        tab.get_by_label("Seed").fill("3")
        tab.get_by_role("button", name="Settings").click()
        visit.ask(STORY).locator(".p0, .p1").first.click()
        _save(tab, "page-chat")


def _draw_phone(browser: Browser, service: RealService) -> None:
    with _visit(browser, service, **PHONE) as visit:
        visit.ask(STORY)
        _save(visit.tab, "page-phone")


def _draw_service(browser: Browser, service: RealService) -> None:
    is_over = threading.Event()
    busy = [threading.Thread(target=_ask_on, args=(service.url, number, is_over)) for number in range(3)]
    for thread in busy:
        thread.start()
    with _visit(browser, service, "service", **DESK) as visit:
        visit.tab.locator(".chart").first.wait_for()
        is_over.wait(BUSY_S)
        _save(visit.tab, "page-service")
    is_over.set()
    for thread in busy:
        thread.join()


def _draw_calibration(browser: Browser, service: RealService, answers: Path) -> None:
    with _visit(browser, service, "calibrate", **DESK) as visit:
        visit.tab.get_by_label("Drop a file of answers").set_input_files(answers)
        visit.tab.locator(".curve").scroll_into_view_if_needed()
        visit.tab.locator(".drop-area").evaluate("area => area.nextElementSibling.nextElementSibling.scrollIntoView()")
        _save(visit.tab, "page-calibrate")


@contextmanager
def _visit(browser: Browser, service: RealService, part: str = "", **options: Any) -> Iterator[Visit]:
    visit = Visit(browser, service.url, **options)
    visit.open(part)
    yield visit
    visit.context.close()


def _save(tab: Page, name: str) -> None:
    """Write what is shown, in few colours."""
    tab.mouse.move(0, 0)
    shown = Image.open(io.BytesIO(tab.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    shown.quantize(NUM_COLOURS, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", optimize=True)


def _ask_on(url: str, number: int, is_over: threading.Event) -> None:
    """Ask one question after the other."""
    for question in load_test_set()[number::3]:
        if is_over.is_set():
            return
        threshold = {"cloud_handoff_threshold": 0.5} if number == 0 else {}
        messages = [{"role": "user", "content": LONGER if number == 1 else question.question}]
        body = {"messages": messages, "user": f"user {number}"} | threshold
        httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)


async def _calibrate(service: RealService, path: Path) -> None:
    """What `cactus calibrate --max-error 0.1 --answers PATH` does."""
    asked = [one for one in load_test_set() if not one.tools and not one.messages and one.kind != "stories"]
    examples = [_example(question) for question in asked]
    async with AsyncClient(*service.endpoints) as client:
        outcomes = await run_examples(client, examples, {"temperature": 0}, max_in_flight=32)
    target = ThresholdTarget(0.95)
    report = BoundReport.of(outcomes, BOUND)
    write_answers(path, head_of(Calibration.of(outcomes, target), outcomes, target, report), outcomes, BOUND)


def _example(question: HandwrittenQuestion) -> Example:
    """A question as a line of a calibration; no answer to one that has none is right."""
    wanted = "|".join(re.escape(answer) for answer in question.answers) or "(?!)"
    return Example(question=question.question, regex=rf"(?i)\b(?:{wanted})\b")


def _answer_as_cloud(request: Request) -> None:
    request.rfile.read(int(request.headers["content-length"]))
    request.send_response(200)
    request.send_header("content-type", "text/event-stream")
    request.end_headers()
    for choice in (
        {"index": 0, "delta": {"content": CLOUD_ANSWER}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ):
        request.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
    request.wfile.write(b"data: [DONE]\n\n")


if __name__ == "__main__":
    main()
