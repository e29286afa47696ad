"""Audits of the handoff actor, over real ZeroMQ sockets, with the test as its router and a fake cloud."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cactus_actors.config import CloudBudget
from cactus_actors.handoff.audits.audit_files import AuditFiles, AuditLabel
from cactus_actors.protocol.results import ToolCall
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.totals import AuditTotals
from cactus_actors.protocol.worker_messages import Audit, CloudRequest, Report, SecondAnswer, Welcome
from tests.support.http.fake_cloud import EVENTS, Answering, Connection, FakeCloud, fake_cloud, fast, stalls, status
from tests.support.router.handoff_stage import PATIENCE_S, Stage, make_dispatch, open_stage

KEY = "sk-planted-in-the-answer"


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Stage]:
    monkeypatch.setenv("CACTUS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CACTUS_CLOUD_KEY", KEY)
    monkeypatch.delenv("CACTUS_DISABLE_CLOUD_HANDOFF", raising=False)
    async with open_stage() as stage:
        yield stage


@pytest.fixture
def files(tmp_path: Path) -> AuditFiles:
    return AuditFiles(tmp_path / "audits")


async def start(stage: Stage, cloud: FakeCloud, tmp_path: Path, **settings: Any) -> None:
    stage.start(cloud, audit_share=0.01, audit_dir=str(tmp_path / "audits"), **settings)
    stage.router.reports.clear()
    await stage.router.welcome()


async def restart(stage: Stage, cloud: FakeCloud, tmp_path: Path, **settings: Any) -> None:
    actor, run = stage.runs.pop()
    actor.stop()
    await asyncio.wait_for(run, PATIENCE_S)
    await start(stage, cloud, tmp_path, **settings)


def make_audit(text: str = "Paris", **changes: Any) -> Audit:
    audit = Audit(
        request=CloudRequest(prompt="What is the capital of France?"),
        params=SamplingParams(max_tokens=8),
        text=text,
        calls=[],
        signal=0.75,
        threshold=0.5,
        num_prompt_tokens=7,
    )
    return msgspec.structs.replace(audit, **changes)


async def audits_told(stage: Stage, number: int) -> AuditTotals:
    """The totals when so many audits have ended."""

    def told(report: Report) -> bool:
        return report.audits is not None and sum(report.audits.outcomes.values()) + report.audits.unjudged >= number

    for report in reversed(stage.router.reports):
        if told(report):
            break
    else:
        report = await stage.router.expect(Report, told)
    assert report.audits is not None
    return report.audits


def says(text: str) -> Answering:
    async def answer(connection: Connection) -> None:
        await connection.send(EVENTS)
        await connection.chunk(text, "stop")
        await connection.event("[DONE]")

    return answer


async def test_equal_answers_are_right_and_others_wait_for_a_person(
    stage: Stage, tmp_path: Path, files: AuditFiles
) -> None:
    async with fake_cloud(fast, fast, says('{"a": 1}'), says(f"the key is {KEY}")) as cloud:
        await start(stage, cloud, tmp_path)
        for text in ("paris.", "London", '{"a": 2}', "Rome"):
            await stage.router.send(make_audit(text, group="capitals" if text == "London" else ""))
        told = await audits_told(stage, 4)
        assert told.outcomes == {"right": 1, "wrong": 1, "failed": 0, "skipped": 0}
        assert (told.unjudged, told.monitored, told.monitored_wrong) == (2, 2, 1)
        assert stage.router.deltas == {}  # nothing of it is an answer
        assert [request.body["messages"][-1]["content"] for request in cloud.requests] == [
            "What is the capital of France?"
        ] * 4
    first, second = files.unjudged()
    assert (first.id, first.question, first.answer, first.cloud_answer, first.model) == (
        2, "What is the capital of France?", "London", "Paris", "big",
    )  # fmt: skip
    assert (second.id, second.cloud_answer) == (4, "the key is ***")
    assert (first.group, second.group) == ("capitals", "")
    for path in (tmp_path / "audits").iterdir():
        assert KEY.encode() not in path.read_bytes()


async def test_tool_calls_of_the_cloud_are_read_as_the_local_ones(stage: Stage, tmp_path: Path) -> None:
    function = {"name": "timer", "arguments": '{"minutes": 5}'}
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": function}]}}]}

    async def calls(connection: Connection) -> None:
        await connection.send(EVENTS)
        await connection.event(json.dumps(chunk))
        await connection.chunk("", "tool_calls")
        await connection.event("[DONE]")

    tools = [{"type": "function", "function": {"name": "timer", "parameters": {"type": "object"}}}]
    request = CloudRequest(prompt="5 minutes", tools=tools, tool_markup="hermes")
    async with fake_cloud(calls) as cloud:
        await start(stage, cloud, tmp_path)
        for minutes in (5, 6):
            calls_made = [ToolCall("timer", {"minutes": minutes})]
            audit = make_audit("", calls=calls_made, request=request, tool_markup="hermes", tools=tools)
            await stage.router.send(audit)
        told = await audits_told(stage, 2)
        assert (told.outcomes["right"], told.outcomes["wrong"]) == (1, 1)


async def test_a_budget_of_their_own_stops_audits_and_no_handoff(stage: Stage, tmp_path: Path) -> None:
    budgets = {"audit_budgets": [CloudBudget(max_requests=2)], "budgets": [CloudBudget(max_requests=1)]}
    async with fake_cloud(fast) as cloud:
        await start(stage, cloud, tmp_path, max_requests=1, **budgets)
        for _ in range(5):
            await stage.router.send(make_audit())
        told = await audits_told(stage, 5)
        assert (told.outcomes["right"], told.outcomes["skipped"]) == (2, 3)
        assert [(row.requests, row.tokens) for row in told.spent] == [(2, 14)]
        await stage.router.send(make_dispatch(1))
        finish = (await stage.router.finished(1)).finish
        assert finish is not None
        assert finish.error is None
        await restart(stage, cloud, tmp_path, max_requests=1, **budgets)
        await stage.router.send(make_audit())
        assert (await audits_told(stage, 6)).outcomes["skipped"] == 4
        assert len(cloud.requests) == 3


async def test_a_failed_audit_is_not_repeated_and_opens_no_breaker_of_handoffs(stage: Stage, tmp_path: Path) -> None:
    async with fake_cloud(status(500), status(500), fast) as cloud:
        await start(stage, cloud, tmp_path, max_retries=2, breaker_failures=2)
        for _ in range(4):
            await stage.router.send(make_audit())
        told = await audits_told(stage, 4)
        assert (told.outcomes["failed"], told.outcomes["skipped"]) == (2, 2)
        assert len(cloud.requests) == 2
        assert stage.router.reports[-1].unavailable is None
        await stage.router.send(make_dispatch(1))
        finish = (await stage.router.finished(1)).finish
        assert finish is not None
        assert finish.error is None


async def test_audits_go_on_after_an_outage_without_a_handoff(stage: Stage, tmp_path: Path) -> None:
    async with fake_cloud(status(500), fast) as cloud:
        await start(stage, cloud, tmp_path, max_retries=0, breaker_failures=1, breaker_open_s=0.2)
        await stage.router.send(make_dispatch(1))
        await stage.router.finished(1)
        await stage.router.send(make_audit())
        assert (await audits_told(stage, 1)).outcomes["right"] == 1


async def test_a_handoff_takes_the_slot_of_an_audit(stage: Stage, tmp_path: Path) -> None:
    async with fake_cloud(stalls, fast) as cloud:
        await start(stage, cloud, tmp_path, max_concurrent=1)
        await stage.router.send(make_audit())
        while not cloud.requests:
            await stage.router.receive()
        await stage.router.send(make_dispatch(1))
        finish = (await stage.router.finished(1)).finish
        assert finish is not None
        assert finish.error is None
        await asyncio.wait_for(cloud.gone.wait(), PATIENCE_S)
        assert (await audits_told(stage, 1)).outcomes["skipped"] == 1


async def test_without_access_nothing_is_asked(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACTUS_DISABLE_CLOUD_HANDOFF", "1")
    async with fake_cloud(fast) as cloud:
        await start(stage, cloud, tmp_path)
        await stage.router.send(make_audit())
        assert (await audits_told(stage, 1)).outcomes["skipped"] == 1
        assert cloud.requests == []


async def disagree(stage: Stage, number: int, step: int = 0) -> AuditTotals:
    """Send 10 audits, of which the cloud contradicts each, and wait until `number` audits in all have ended."""
    for index in range(10):
        await stage.router.send(make_audit('{"a": 2}', step=step, signal=0.5 + 0.1 * step + index / 100))
    return await audits_told(stage, number)


def without_spending(told: AuditTotals) -> AuditTotals:
    """The totals without what only the present actor spent."""
    return msgspec.structs.replace(told, spent=[])


async def test_a_cloud_that_disagrees_shows_a_drift_that_a_restart_keeps(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with fake_cloud(says('{"a": 1}')) as cloud:
        await start(stage, cloud, tmp_path)
        told = await disagree(stage, 10)
        assert (told.has_drifted, told.monitored, told.monitored_wrong) == (True, 10, 10)
        assert (told.step, told.min_threshold, told.drifts) == (0, 0.0, 1)
        [warning] = [record for record in caplog.records if "audits show" in record.message]
        assert warning.levelname == "WARNING"
        await restart(stage, cloud, tmp_path)
        assert await audits_told(stage, 10) == without_spending(told)
        # the same record, with a stricter reaction
        await restart(stage, cloud, tmp_path, on_drift="tighten")
        tightened = await audits_told(stage, 10)
        assert (tightened.step, tightened.has_drifted, tightened.min_threshold) == (1, False, 0.52)


async def test_each_drift_tightens_the_threshold_by_a_step(stage: Stage, tmp_path: Path) -> None:
    async with fake_cloud(says('{"a": 1}')) as cloud:
        await start(stage, cloud, tmp_path, on_drift="tighten")
        first = await disagree(stage, 10)
        assert (first.step, first.has_drifted, first.drifts, first.monitored) == (1, False, 1, 0)
        assert first.min_threshold == 0.52
        num_skipped = first.outcomes["skipped"]  # these stayed at the earlier threshold, and say nothing about this one
        assert num_skipped == 10 - first.outcomes["wrong"] > 0
        second = await disagree(stage, 20, step=1)
        assert (second.step, second.min_threshold, second.outcomes["skipped"]) == (2, 0.62, 2 * num_skipped)
        await restart(stage, cloud, tmp_path, on_drift="tighten")
        assert await audits_told(stage, 20) == without_spending(second)


async def test_labels_reach_the_monitor(stage: Stage, tmp_path: Path, files: AuditFiles) -> None:
    async with fake_cloud(fast) as cloud:
        await start(stage, cloud, tmp_path)
        for text in ("London", "Rome", "Madrid", "Paris"):
            await stage.router.send(make_audit(text))
        await audits_told(stage, 4)
        files.add_label(AuditLabel(1, "wrong"))
        files.add_label(AuditLabel(2, "right"))
        files.add_label(AuditLabel(77, "right"))
        report = await stage.router.expect(
            Report, lambda report: report.audits is not None and report.audits.unjudged < 3
        )
        assert report.audits is not None
        assert (report.audits.unjudged, report.audits.monitored, report.audits.monitored_wrong) == (1, 3, 1)
        assert [answer.id for answer in files.unjudged()] == [3]
        assert files.labels() == []
        await restart(stage, cloud, tmp_path)
        assert (await audits_told(stage, 4)).outcomes == {"right": 2, "wrong": 1, "failed": 0, "skipped": 0}


async def test_each_model_of_a_cascade_has_a_record_of_its_own(
    stage: Stage, tmp_path: Path, files: AuditFiles, caplog: pytest.LogCaptureFixture
) -> None:
    given: dict[str, Any] = {"audit_tiers": ["sprout", "qwen"], "audit_budgets": [CloudBudget(max_requests=11)]}

    def told_of_tiers(report: Report) -> bool:
        tiers = {} if report.audits is None else report.audits.tiers
        return sum(sum(one.outcomes.values()) + one.unjudged for one in tiers.values()) >= 13

    async with fake_cloud(*[says('{"a": 1}')] * 10, fast) as cloud:
        await start(stage, cloud, tmp_path, **given)
        for tier in [*["sprout"] * 10, "gone", *["qwen"] * 3]:
            await stage.router.send(make_audit('{"a": 2}', tier=tier))
        told = (await stage.router.expect(Report, told_of_tiers)).audits
        assert told is not None
        assert (told.tiers["sprout"].has_drifted, told.tiers["qwen"].has_drifted, told.has_drifted) == (
            True,
            False,
            False,
        )
        assert (told.tiers["qwen"].unjudged, told.tiers["qwen"].outcomes["skipped"]) == (1, 2)  # one budget for all
        assert sum(told.outcomes.values()) == 0
        assert "audits of sprout show" in caplog.text
        assert [(one.name, one.answer) for one in files.unjudged()] == [("qwen:1", '{"a": 2}')]
        stage.router.reports.clear()
        await restart(stage, cloud, tmp_path, **given)
        assert stage.router.reports[0].audits == told
        files.add_label(AuditLabel(1, "right"))  # of no tier
        files.add_label(AuditLabel(1, "wrong", tier="qwen"))
        report = await stage.router.expect(
            Report, lambda report: report.audits is not None and not report.audits.tiers["qwen"].unjudged
        )
        assert report.audits is not None
        assert report.audits.tiers["qwen"].outcomes["wrong"] == 1
        assert files.unjudged() == []


async def test_answers_of_a_last_model_are_compared_without_the_cloud(
    stage: Stage, tmp_path: Path, files: AuditFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACTUS_DISABLE_CLOUD_HANDOFF", "1")
    given: dict[str, Any] = {"audit_tiers": ["sprout"], "audit_model": "qwen"}
    async with fake_cloud(fast) as cloud:
        await start(stage, cloud, tmp_path, **given)
        for text in ("paris", "London", "Paris"):
            await stage.router.send(make_audit(text, tier="sprout", second=SecondAnswer("Paris", [], "qwen")))
        report = await stage.router.expect(
            Report, lambda report: report.audits is not None and report.audits.tiers["sprout"].outcomes["right"] == 2
        )
        assert report.audits is not None
        assert (report.audits.tiers["sprout"].unjudged, cloud.requests) == (1, [])
        [answer] = files.unjudged()
        assert (answer.name, answer.cloud_answer, answer.model) == ("sprout:2", "Paris", "qwen")
        await restart(stage, cloud, tmp_path, **given, model="another cloud")
        assert files.unjudged() == [answer]
        await restart(stage, cloud, tmp_path, **{**given, "audit_model": "larger"})
        assert files.unjudged() == []


async def test_answers_of_other_settings_wait_no_more(stage: Stage, tmp_path: Path, files: AuditFiles) -> None:
    async with fake_cloud(fast) as cloud:
        await start(stage, cloud, tmp_path)
        await stage.router.send(make_audit("London"))
        assert (await audits_told(stage, 1)).unjudged == 1
        await restart(stage, cloud, tmp_path)
        assert [answer.id for answer in files.unjudged()] == [1]
        await restart(stage, cloud, tmp_path, audit_max_error=0.1)
        assert files.unjudged() == []
        await stage.router.send(make_audit("Rome"))
        assert (await audits_told(stage, 1)).unjudged == 1
        assert [answer.id for answer in files.unjudged()] == [2]


async def test_a_router_that_restarts_is_told_the_threshold_again(stage: Stage, tmp_path: Path) -> None:
    async with fake_cloud(says('{"a": 1}')) as cloud:
        await start(stage, cloud, tmp_path, on_drift="tighten")
        told = await disagree(stage, 10)
        stage.router.reports.clear()
        await stage.router.send(Welcome(2))
        await stage.router.welcome(epoch=2)
        assert stage.router.reports[0].audits == told


async def test_a_damaged_record_ends_audits_and_no_handoff(
    stage: Stage, tmp_path: Path, files: AuditFiles, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "audits").mkdir(mode=0o700)
    path = tmp_path / "audits" / "state.json"
    path.touch(0o600)
    path.write_text("{")
    async with fake_cloud(fast) as cloud:
        await start(stage, cloud, tmp_path)
        await stage.router.send(make_audit())
        await stage.router.send(make_dispatch(1))
        await stage.router.finished(1)
        assert len(cloud.requests) == 1
        assert stage.router.reports[-1].audits is None
        assert "restore or remove it" in caplog.text
        assert path.read_text() == "{"
