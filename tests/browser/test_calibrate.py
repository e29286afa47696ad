"""Calibrations on the page: the curve, the threshold on it, and the answers on either side."""

from __future__ import annotations

import msgspec
import pytest
from playwright.sync_api import expect

from cactus_actors.calibration.answers_file import AnswersHead, JudgedAnswer, SignalThreshold
from tests.support.browser.visit import Visit

NUM_ANSWERS, NUM_RIGHT = 40, 30


def answers_file(**target: float) -> bytes:
    """Answers 0 to 39: those from 10 on are right; the signal grows with the number, and group b has the odd ones."""
    head = AnswersHead(
        model="cactus-sprout",
        thresholds=[
            SignalThreshold(signal="answer_prob", threshold=0.15),
            SignalThreshold(signal="answer_prob", threshold=0.35, group="b"),
        ],
        **target,
    )
    rows = [
        JudgedAnswer(
            question=f"Question {number}?",
            answer=f"<b>Answer</b> {number}",
            expected=f"Right {number}",
            is_right=number >= NUM_ANSWERS - NUM_RIGHT,
            scores={"answer_prob": number / NUM_ANSWERS, "entropy": 1 - number / NUM_ANSWERS},
            group="ab"[number % 2],
        )
        for number in range(NUM_ANSWERS)
    ]
    return b"\n".join(msgspec.json.encode(line) for line in (head, *rows))


def give(visit: Visit, content: bytes) -> None:
    visit.tab.get_by_role("link", name="Calibrate").click()
    files = [{"name": "answers.jsonl", "mimeType": "application/jsonl", "buffer": content}]
    visit.tab.get_by_label("Drop a file of answers").set_input_files(files)  # type: ignore[arg-type]


def test_the_threshold_that_was_found_is_on_the_curve(visit: Visit) -> None:
    give(visit, answers_file(max_error=0.15, confidence=0.95))
    summary = visit.tab.locator("[role=status].note")
    expect(summary).to_contain_text("answer_prob ≥ 0.150000 (the threshold that was found)")
    expect(summary).to_contain_text("34 of 40 answers stay, 4 of them wrong (12 %). 6 are handed off, 0 of them right.")
    assert visit.tab.locator(".curve .granted").count() == visit.tab.locator(".curve .allowed").count() == 1
    assert "At most 15 % of those that stay are wrong" in visit.tab.locator(".card").first.inner_text()
    stay, leave = visit.tab.locator(".judged").all()
    assert "Question 6?" in stay.locator("li").first.inner_text()
    assert "Question 5?" in leave.locator("li").first.inner_text()
    assert "<b>Answer</b> 5" in leave.locator("li").first.inner_text()
    assert "Right would have been: Right 5" in leave.locator("li").first.inner_text()
    assert visit.violations() == []


def test_a_click_and_the_arrow_keys_choose_another_threshold(visit: Visit) -> None:
    give(visit, answers_file(precision=0.9))
    summary = visit.tab.locator("[role=status].note")
    slider = visit.tab.get_by_role("slider", name="Threshold")
    slider.focus()
    visit.tab.keyboard.press("ArrowLeft")
    expect(summary).to_contain_text("33 of 40 answers stay, 3 of them wrong")
    visit.tab.keyboard.press("End")
    expect(summary).to_contain_text("40 of 40 answers stay, 10 of them wrong (25 %)")
    visit.tab.keyboard.press("Home")
    expect(summary).to_contain_text("0 of 40 answers stay")
    box = visit.tab.locator(".curve").bounding_box()
    assert box is not None
    visit.tab.locator(".curve").click(position={"x": box["width"] * (52 + 0.5 * 574) / 640, "y": box["height"] / 2})
    expect(summary).to_contain_text("20 of 40 answers stay, 0 of them wrong")
    visit.tab.get_by_label("Show wrong answers only").check()
    expect(visit.tab.locator(".judged li")).to_have_count(10)


def test_signals_and_groups_have_curves_of_their_own(visit: Visit) -> None:
    give(visit, answers_file(cloud_share=0.5))
    summary = visit.tab.locator("[role=status].note")
    visit.tab.get_by_label("Group").select_option("b")
    expect(summary).to_contain_text("13 of 20 answers stay, 0 of them wrong")
    visit.tab.get_by_label("Signal").select_option("entropy")
    expect(summary).to_contain_text("20 of 20 answers stay, 5 of them wrong")
    assert visit.tab.locator(".curve .granted").count() == 0


@pytest.mark.parametrize("content", [b"", b"{}", b"not JSON", b'{"type": "answer"}'])
def test_another_file_is_refused(visit: Visit, content: bytes) -> None:
    give(visit, content)
    expect(visit.tab.locator("[role=alert]:visible")).to_contain_text("answers.jsonl: ")
