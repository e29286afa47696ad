"""`cactus batch --report`: a page that is complete, needs no network, and says what the results say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.testing

from cactus_actors.batch.batch_errors import OutputRefused
from cactus_actors.batch.report.bin_counts import MILLISECONDS, SHARES, BinCounts
from cactus_actors.protocol.messages import Finished
from cactus_actors.protocol.results import Handoff, Timings
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter

Cactus = Callable[..., typer.testing.Result]
VOID = {"meta", "line", "rect", "br"}
ADDRESS = re.compile(r"(?:src|href|action)\s*=|url\(|@import|https?:", re.IGNORECASE)


class Page(HTMLParser):
    """The elements of a page, and the rows of its tables by their captions."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.ids: list[str | None] = []
        self.labels: list[str | None] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.labels += [value for name, value in attrs if name == "aria-labelledby"]
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.names.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "caption":
            self.tables[data] = self._rows
        elif self.open and self.open[-1] in ("td", "th"):
            self._rows[-1][-1] += data


def test_the_page_shows_what_the_results_say(cactus: Cactus, router: ScriptedRouter, tmp_path: Path) -> None:
    prompts = [f"prompt {number}" for number in range(4)]
    lines = [json.dumps({"prompt": prompt}) for prompt in prompts]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, '{"promt": "<script>alert(1)</script>"}', "not json"]))
    end = router.end

    def ended(job: ScriptedJob, finished: Finished) -> None:
        number = int(job.submit.prompt[-1])
        result: Any = msgspec.structs.replace(
            finished.result,
            confidence=0.25 * number,
            timings=Timings(time_to_first_token_ms=3.0, total_time_ms=30.0 * (number + 1)),
            handoff=Handoff(status="completed" if number == 3 else "none"),
            cloud_handoff=number == 3,
        )
        end(job, msgspec.structs.replace(finished, result=result))

    router.end = ended  # type: ignore[method-assign]
    command = ("batch", "in.jsonl", "-o", "out.jsonl", "--report", "report.html")
    first = cactus(*command)
    assert first.exit_code == 1
    assert "report: report.html" in first.stdout
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert not ADDRESS.search(text)
    assert not {"script", "link", "img", "iframe"} & {*page.names}
    assert page.names.count("svg") == page.names.count("section") - 1  # one has the reasons alone
    assert {*page.labels} <= {*page.ids}
    assert len({*page.ids}) == len(page.ids)
    summary = {row[0]: row[1] for row in page.tables["Summary"]}
    assert summary["lines"] == "6"
    assert summary["failed"] == "2 (33.3 %)"
    assert summary["handed off"] == "1 (25.0 %)"
    reasons = page.tables["Failed lines by reason"][1:]
    assert {(row[1], row[3]) for row in reasons} == {("1", "5"), ("1", "6")}
    assert [row[:2] for row in page.tables["Handing off"][1:]] == [
        ["answered here", "3"],
        ["answered by the cloud", "1"],
    ]
    times = page.tables["Time of a line"][1:]
    assert [(row[0], row[1], row[3]) for row in times] == [
        ("20 to 50", "1", "25.0 %"),
        ("50 to 100", "2", "75.0 %"),
        ("100 to 200", "1", "100.0 %"),
    ]
    confidence = {row[0]: row[1] for row in page.tables["Confidence"][1:]}
    assert sum(map(int, confidence.values())) == 4
    assert confidence["0.25 to 0.30"] == confidence["0.75 to 0.80"] == "1"


def test_messages_are_counted_like_completions(cactus: Cactus, router: ScriptedRouter, tmp_path: Path) -> None:
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/messages", "body": body}
    chat = {"messages": body["messages"], "max_tokens": 9}
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(chat)}\n")
    assert cactus("batch", "in.jsonl", "-o", "out.jsonl", "--report", "report.html").exit_code == 0
    page = Page((tmp_path / "report.html").read_text())
    assert {row[0]: row[1] for row in page.tables["Ends of answers"][1:]} == {"length": "2"}
    lengths = page.tables["Length of answers"][1:]
    assert [row[1] for row in lengths] == ["2"]


def test_a_report_is_made_again_without_a_service(
    cactus: Cactus, router: ScriptedRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.jsonl").write_text('{"prompt": "a"}\n')
    command = ("batch", "in.jsonl", "-o", "out.jsonl", "--report", "report.html")
    assert cactus(*command).exit_code == 0
    made = (tmp_path / "report.html").read_bytes()
    (tmp_path / "report.html").unlink()
    router.received.clear()
    monkeypatch.setenv("CACTUS_ENDPOINT", "tcp://127.0.0.1:9")
    again = cactus(*command, "--resume", "--json")
    assert json.loads(again.stdout)["report"] == "report.html"
    assert (tmp_path / "report.html").read_bytes() == made
    assert not router.received


def test_a_report_that_would_replace_another_file_is_refused_before_the_run(
    cactus: Cactus, router: ScriptedRouter, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text('{"prompt": "a"}\n')
    for place, message in (
        ("out.jsonl", "is a file of the run"),
        ("in.jsonl", "is a file of the run"),
        (".", "is a directory"),
        ("none/report.html", "there is no directory none"),
    ):
        with pytest.raises(OutputRefused, match=message):
            cactus("batch", "in.jsonl", "-o", "out.jsonl", "--report", place)
    assert not router.received


def test_bins_hold_their_lower_edge_and_can_be_added_up() -> None:
    shares, times = BinCounts(SHARES), BinCounts(MILLISECONDS)
    for value in (1.0, 0.95, 0.05, None):
        shares.add(value)
    assert shares.bins()[0] == (0.05, 0.1, 1)
    assert shares.bins()[-1] == (0.95, None, 2)
    for value in (0.5, 1.0, 1e9):
        times.add(value)
    assert times.bins()[:2] == [(0.0, 1.0, 1), (1.0, 2.0, 1)]
    assert times.bins()[-1] == (5e6, None, 1)
    sum_of_both = BinCounts(SHARES)
    sum_of_both.merge(shares)
    sum_of_both.merge(BinCounts(SHARES))
    sum_of_both.merge(shares)
    assert sum(sum_of_both.counts) == 6
    assert sum(shares.counts) == 3
