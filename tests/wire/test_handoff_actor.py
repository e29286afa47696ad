"""The handoff actor over real ZeroMQ sockets, with the test as its router and a fake cloud."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.config import CloudBudget, HandoffSettings
from cactus_actors.handoff.actor import HandoffActor
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.results import Usage
from cactus_actors.protocol.worker_messages import Abort, Drain, Draining, Goodbye, Hello, Report, Welcome
from tests.support.http.fake_cloud import EVENTS, Connection, fake_cloud, fast, in_two_parts, resets, stalls, status
from tests.support.router.handoff_stage import PATIENCE_S, Router, Stage, make_dispatch, open_stage


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> AsyncIterator[Stage]:
    monkeypatch.setenv("CACTUS_HOME", str(tmp_path))
    monkeypatch.delenv("CACTUS_CLOUD_KEY", raising=False)
    monkeypatch.delenv("CACTUS_DISABLE_CLOUD_HANDOFF", raising=False)
    async with open_stage() as stage:
        yield stage


async def test_a_dispatch_becomes_deltas_and_a_finish(stage: Stage) -> None:
    async with fake_cloud(fast) as cloud:
        actor = stage.start(cloud)
        router = stage.router
        hello = await router.welcome()
        assert (hello.worker_id, hello.kind, hello.model, hello.num_slots, hello.num_blocks) == (
            "cloud", "cloud", "big", 2, 0,
        )  # fmt: skip
        assert (router.reports[-1].free_slots, router.reports[-1].unavailable) == (2, None)

        await router.send(make_dispatch(7))
        await router.finished(7)
        deltas = router.deltas[7]
        assert "".join(delta.text for delta in deltas) == "Paris"
        assert [id for delta in deltas for id in delta.token_ids] == [0, 0]
        position = 0
        for delta in deltas:
            assert delta.position == position
            assert delta.entropies == delta.logprobs == []
            position += len(delta.token_ids)
        finish = deltas[-1].finish
        assert finish is not None
        assert (finish.reason, finish.provider) == ("stop", "127.0.0.1/big")
        assert finish.usage == Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=1)

        last = await router.until(lambda report: report.free_slots == 2)
        assert (last.num_accepted, last.num_running, last.tokens_generated) == (1, 0, 2)
        health = actor.health()
        assert (health.connected, health.num_answered, health.num_failed) == (True, 1, {})


async def test_chunks_are_reported_as_they_arrive(stage: Stage) -> None:
    go_on = asyncio.Event()
    async with fake_cloud(in_two_parts(go_on)) as cloud:
        stage.start(cloud)
        await stage.router.welcome()
        await stage.router.send(make_dispatch(1))
        await stage.router.expect(Report, lambda report: bool(report.deltas))
        assert [delta.text for delta in stage.router.deltas[1]] == ["Par"]
        go_on.set()
        await stage.router.finished(1)
        assert "".join(delta.text for delta in stage.router.deltas[1]) == "Paris"


async def test_a_failure_is_a_finish_with_the_error(stage: Stage) -> None:
    async with fake_cloud(status(500, "out of order")) as cloud:
        stage.start(cloud)
        await stage.router.welcome()
        await stage.router.send(make_dispatch(1))
        finish = (await stage.router.finished(1)).finish
        assert finish is not None
        assert finish.error is not None
        assert (finish.reason, finish.error.type, finish.error.status) == ("error", "handoff_error", 502)
        assert finish.error.message == "cloud_server_error: the cloud answered 500: out of order"


@pytest.mark.parametrize("changes", [{"request": None}, {"emitted_ids": [0, 0]}], ids=["no text", "already begun"])
async def test_unsupported_jobs_are_refused_without_a_request_to_the_cloud(
    stage: Stage, changes: dict[str, Any]
) -> None:
    async with fake_cloud(fast) as cloud:
        stage.start(cloud)
        await stage.router.welcome()
        await stage.router.send(make_dispatch(1, **changes))
        delta = await stage.router.finished(1)
        assert delta.finish is not None
        assert delta.finish.error is not None
        assert delta.position == len(changes.get("emitted_ids", []))
        assert cloud.requests == []


async def test_an_aborted_dispatch_is_cancelled_and_not_reported_again(stage: Stage) -> None:
    async with fake_cloud(stalls, fast) as cloud:
        stage.start(cloud)
        router = stage.router
        await router.welcome()
        await router.send(make_dispatch(1))
        await router.expect(Report, lambda report: bool(report.deltas))
        await router.send(Abort(1))
        await asyncio.wait_for(cloud.gone.wait(), PATIENCE_S)
        await router.send(make_dispatch(2))
        await router.finished(2)
        await router.until(lambda report: report.free_slots == 2)
        assert [delta.text for delta in router.deltas[1]] == ["Par"]
        assert router.reports[-1].num_accepted == 2


async def test_more_jobs_than_slots_wait_their_turn(stage: Stage) -> None:
    async with fake_cloud(stalls, stalls, fast) as cloud:
        stage.start(cloud)
        router = stage.router
        await router.welcome()
        for dispatch_id in (1, 2, 3):
            await router.send(make_dispatch(dispatch_id))
        await router.expect(Report, lambda report: report.num_accepted == 3)
        while not (router.deltas.get(1) and router.deltas.get(2)):
            await router.receive()
        assert router.reports[-1].free_slots == 0
        assert len(cloud.requests) == 2
        await router.send(Abort(1))
        await router.finished(3)
        assert "".join(delta.text for delta in router.deltas[3]) == "Paris"


async def test_an_unrequested_welcome_drops_all_dispatches(stage: Stage) -> None:
    async with fake_cloud(stalls, fast) as cloud:
        stage.start(cloud)
        router = stage.router
        await router.welcome(epoch=1)
        await router.send(make_dispatch(1))
        await router.expect(Report, lambda report: bool(report.deltas))
        await router.send(Welcome(2))
        await router.expect(Hello)
        await asyncio.wait_for(cloud.gone.wait(), PATIENCE_S)
        await router.send(Welcome(2))
        first = await router.expect(Report)
        assert (first.num_accepted, first.num_running, first.free_slots, first.deltas) == (0, 0, 2, [])
        await router.send(make_dispatch(1))
        await router.finished(1)
        assert router.reports[-1].num_accepted == 1


async def test_a_restarted_router_gets_a_hello_and_no_old_deltas(stage: Stage) -> None:
    async with fake_cloud(stalls, fast) as cloud:
        stage.start(cloud)
        await stage.router.welcome(epoch=1)
        await stage.router.send(make_dispatch(1))
        await stage.router.expect(Report, lambda report: bool(report.deltas))
        stage.router.close()
        stage.router = router = Router(stage.router.endpoint)
        stranger = await router.receive()
        assert isinstance(stranger, Report)
        assert stranger.deltas == []
        await router.send(Welcome(2))
        await router.welcome(epoch=2)
        await asyncio.wait_for(cloud.gone.wait(), PATIENCE_S)
        await router.send(make_dispatch(1))
        await router.finished(1)
        assert "".join(delta.text for delta in router.deltas[1]) == "Paris"


async def test_an_unanswered_hello_is_repeated(stage: Stage) -> None:
    async with fake_cloud(fast) as cloud:
        stage.start(cloud)
        await stage.router.expect(Hello)
        assert isinstance(await stage.router.receive(), Hello)  # and no Report in between


async def test_an_idle_actor_reports_every_second(stage: Stage) -> None:
    async with fake_cloud(fast) as cloud:
        stage.start(cloud)
        await stage.router.welcome()
        start = time.monotonic()
        await stage.router.expect(Report)
        await stage.router.expect(Report)
        assert 1.0 < time.monotonic() - start < 60.0


async def test_a_missing_key_is_reported_and_a_stored_key_is_found_without_a_restart(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.start()
    router = stage.router
    await router.welcome()
    assert (router.reports[-1].unavailable, router.reports[-1].free_slots) == ("no key", 0)
    await router.send(make_dispatch(1))
    finish = (await router.finished(1)).finish
    assert finish is not None
    assert finish.error is not None
    assert finish.error.message == "cloud_unavailable: no key"
    monkeypatch.setenv("CACTUS_CLOUD_KEY", "sk-planted")
    await router.expect(Report, lambda report: report.unavailable is None and report.free_slots == 2)
    monkeypatch.setenv("CACTUS_DISABLE_CLOUD_HANDOFF", "1")
    await router.expect(Report, lambda report: report.unavailable == "disabled")


async def test_a_spent_budget_and_an_open_breaker_are_reported_at_once(stage: Stage) -> None:
    async with fake_cloud(status(500)) as cloud:
        stage.start(cloud, max_requests=2, breaker_failures=1, breaker_open_s=0.5)
        router = stage.router
        await router.welcome()
        await router.send(make_dispatch(1))
        await router.expect(Report, lambda report: report.unavailable == "breaker open")
        half_open = await router.expect(Report, lambda report: report.unavailable is None)
        assert half_open.free_slots == 1
        await router.send(make_dispatch(2))
        await router.expect(Report, lambda report: report.unavailable == "budget spent")
        await router.finished(2)
        await router.send(make_dispatch(3))
        finish = (await router.finished(3)).finish
        assert finish is not None
        assert finish.error is not None
        assert finish.error.message == "cloud_budget_spent: budget spent"
        assert len(cloud.requests) == 2


async def test_the_budget_counts_http_requests_of_all_jobs(stage: Stage) -> None:
    async with fake_cloud(status(500)) as cloud:
        stage.start(cloud, max_requests=3, max_concurrent=8, max_retries=2, breaker_failures=100)
        router = stage.router
        await router.welcome()
        for dispatch_id in range(1, 7):
            await router.send(make_dispatch(dispatch_id))
        for dispatch_id in range(1, 7):
            assert (await router.finished(dispatch_id)).finish is not None
        assert len(cloud.requests) == 3


async def test_the_spending_of_a_tenant_survives_a_restart_of_the_actor(stage: Stage, tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "prompt_price": 1000.0,
        "completion_price": 10_000.0,
        "currency": "EUR",
        "budgets": [CloudBudget(period="month", per_tenant=True, max_cost=0.05)],
        "spending_file": str(tmp_path / "spending.json"),
    }
    async with fake_cloud(fast) as cloud:
        actor = stage.start(cloud, **changes)
        router = stage.router
        await router.welcome()
        for dispatch_id in (1, 2):  # the first one's 5 and 2 tokens cost 0.025, half of the budget
            await router.send(make_dispatch(dispatch_id, tenant="ann"))
            finish = (await router.finished(dispatch_id)).finish
            assert finish is not None
            assert (finish.cost, finish.currency) == (pytest.approx(0.025), "EUR")
        actor.stop()
        await asyncio.wait_for(stage.runs.pop()[1], PATIENCE_S)
        stage.start(cloud, **changes)
        router.deltas.clear()
        await router.welcome()
        await router.send(make_dispatch(3, tenant="ann"))
        await router.send(make_dispatch(4, tenant="bob"))
        refused, answered = (await router.finished(3)).finish, (await router.finished(4)).finish
        assert refused is not None
        assert refused.error is not None
        assert refused.is_refused
        assert refused.error.message == "cloud_budget_spent: the tenant's budget spent for this month"
        assert answered is not None
        assert answered.error is None
        assert len(cloud.requests) == 3


async def test_the_received_part_of_a_broken_answer_counts_as_spending(stage: Stage) -> None:
    changes: dict[str, Any] = {"prompt_price": 1e6, "completion_price": 1e6}
    async with fake_cloud(resets) as cloud:
        stage.start(cloud, **changes)
        await stage.router.welcome()
        await stage.router.send(make_dispatch(1, num_prompt_tokens=40))
        finish = (await stage.router.finished(1)).finish
        assert finish is not None
        assert finish.error is not None
        assert (finish.usage, finish.is_estimated) == (Usage(prompt_tokens=40, completion_tokens=1), True)
        assert finish.cost == pytest.approx(41.0)


@pytest.mark.parametrize("count", [2**64 - 1, -(10**9)])
async def test_counts_that_cannot_be_are_estimated(stage: Stage, tmp_path: Path, count: int) -> None:
    async def counting(connection: Connection) -> None:
        await connection.send(EVENTS)
        await connection.chunk("Par")
        await connection.chunk("is", "stop")
        usage = {"prompt_tokens": count, "completion_tokens": 2}
        await connection.event(json.dumps({"choices": [], "usage": usage}))
        await connection.event("[DONE]")

    changes: dict[str, Any] = {"prompt_price": 1e6, "completion_price": 1e6, "budgets": [CloudBudget(max_tokens=84)]}
    async with fake_cloud(counting) as cloud:
        stage.start(cloud, spending_file=str(tmp_path / "state" / "spending.json"), **changes)
        await stage.router.welcome()
        for number in (1, 2):
            await stage.router.send(make_dispatch(number, num_prompt_tokens=40))
            finish = (await stage.router.finished(number)).finish
            assert finish is not None
            assert finish.error is None
            assert (finish.usage, finish.is_estimated) == (Usage(prompt_tokens=40, completion_tokens=2), True)
            assert finish.cost == pytest.approx(42.0)
        await stage.router.until(lambda report: report.unavailable == "budget spent")


async def test_a_cancelled_answer_counts_as_spending(stage: Stage) -> None:
    async with fake_cloud(stalls) as cloud:
        stage.start(cloud, budgets=[CloudBudget(max_tokens=40)])
        router = stage.router
        await router.welcome()
        await router.send(make_dispatch(1, num_prompt_tokens=40))
        await router.expect(Report, lambda report: bool(report.deltas))
        await router.send(Abort(1))
        await router.until(lambda report: report.unavailable == "budget spent")


@pytest.mark.parametrize("asked_by", ["router", "actor"])
async def test_a_drain_finishes_running_jobs_and_disconnects(stage: Stage, asked_by: str) -> None:
    go_on = asyncio.Event()
    async with fake_cloud(in_two_parts(go_on)) as cloud:
        actor = stage.start(cloud)
        router = stage.router
        await router.welcome()
        await router.send(make_dispatch(1))
        await router.expect(Report, lambda report: bool(report.deltas))
        if asked_by == "router":
            await router.send(Drain())
        else:
            actor.drain()
        await router.expect(Draining)
        go_on.set()
        assert (await router.finished(1)).finish is not None
        assert router.reports[-1].free_slots == 0
        await router.expect(Goodbye)
        assert await stage.ended() == "drained"


async def test_a_stop_ends_at_once_and_closes_its_connections(stage: Stage) -> None:
    async with fake_cloud(stalls) as cloud:
        actor = stage.start(cloud)
        router = stage.router
        await router.welcome()
        await router.send(make_dispatch(1))
        await router.expect(Report, lambda report: bool(report.deltas))
        start = time.monotonic()
        actor.stop()
        await router.expect(Goodbye)
        assert await stage.ended() == "stopped"
        await asyncio.wait_for(cloud.gone.wait(), PATIENCE_S)
        assert time.monotonic() - start < 60.0


def test_a_stop_before_the_run_is_remembered() -> None:
    actor = HandoffActor(HandoffSettings())
    actor.stop()
    assert actor.run("tcp://127.0.0.1:9") == "stopped"


def test_ray_does_not_treat_it_as_an_asynchronous_actor() -> None:
    assert inspect.getmembers(HandoffActor, inspect.iscoroutinefunction) == []


def test_settings_without_a_valid_endpoint_are_refused_before_the_start() -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        HandoffActor(HandoffSettings(base_url="not a url"))
    assert caught.value.param == "handoff.base_url"
