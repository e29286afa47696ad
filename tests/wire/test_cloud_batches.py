"""Batches of the handoff actor, with the test as its router and a cloud with batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cactus_actors.config import CloudBudget
from cactus_actors.handoff.batches.batch_requests import LOOK_INTERVAL_S
from cactus_actors.protocol.cloud_batches import BatchQuestion
from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.messages import AskCloudBatch, CloudBatch
from cactus_actors.protocol.worker_messages import AskBatch, BatchReply
from tests.support.http.batch_cloud import BatchCloud, Body, answered, batch_cloud, completion
from tests.support.router.handoff_stage import Stage, make_dispatch, open_stage

MARK = "0" * 31 + "1"
QUESTION = CloudQuestion(
    messages=[{"role": "user", "content": "yes"}], max_tokens=3, temperature=0.0, top_p=1.0, seed=5
)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Stage]:
    monkeypatch.setenv("CACTUS_HOME", str(tmp_path))
    monkeypatch.delenv("CACTUS_CLOUD_KEY", raising=False)
    monkeypatch.delenv("CACTUS_DISABLE_CLOUD_HANDOFF", raising=False)
    async with open_stage() as stage:
        yield stage


class Asker:
    """A tenant's questions about one batch, passed on by the router."""

    def __init__(self, stage: Stage, tenant: str = "", **ask: Any) -> None:
        self._stage = stage
        self._tenant = tenant
        self._ask = AskCloudBatch(**{"mark": MARK, "created": 1.0, **ask})
        self._number = 0

    async def send(self, **changes: Any) -> None:
        self._number += 1
        ask = msgspec.structs.replace(self._ask, **changes)
        await self._stage.router.send(AskBatch(self._number, self._tenant, ask))

    async def until(self, state: str, **changes: Any) -> CloudBatch:
        """Ask until the batch is in this state; the reply."""
        while True:
            await self.send(**changes)
            reply = await self._stage.router.expect(BatchReply, lambda reply: reply.number == self._number)
            if reply.batch.state == state:
                return reply.batch
            assert reply.batch.state in ("unknown", "creating", "running"), reply.batch


def questions(count: int, tokens: int = 10) -> list[BatchQuestion]:
    return [BatchQuestion(place, QUESTION, tokens, 0) for place in range(count)]


async def started(stage: Stage, cloud: BatchCloud, **settings: Any) -> None:
    stage.start(**{"base_url": cloud.base_url, "model": "big", **settings})
    await stage.router.welcome()


async def test_a_batch_is_created_once_however_often_it_is_asked_for(stage: Stage) -> None:
    with batch_cloud() as cloud:
        await started(stage, cloud)
        asker = Asker(stage)
        for _ in range(5):
            await asker.send(questions=questions(3))
        first = await asker.until("running", questions=questions(3))
        assert (first.batch_id, first.num_questions, first.model) == ("batch-0", 3, "big")
        cloud.may_end.set()
        ended = await asker.until("ended", answers_from=1)
        assert ([answer.place for answer in ended.answers], ended.num_answers) == ([1, 2], 3)
        assert len(cloud.batches) == 1


async def test_a_batch_is_its_tenants_alone(stage: Stage) -> None:
    with batch_cloud() as cloud:
        await started(stage, cloud)
        cloud.may_end.set()
        batch = await Asker(stage, "alice").until("running", questions=questions(1))
        for ask in ({}, {"batch_id": batch.batch_id}):
            await Asker(stage, "bob", **ask).until("absent", answers_from=0)
        assert "alice" not in f"{cloud.batches}"
        other_mark = Asker(stage, "alice", mark="0" * 31 + "2", batch_id=batch.batch_id)
        await other_mark.until("absent")


@pytest.mark.parametrize("batch_id", ["../files", "a/b", "é", "x" * 300])
async def test_an_id_that_no_cloud_gives_is_sent_nowhere(stage: Stage, batch_id: str) -> None:
    with batch_cloud() as cloud:
        await started(stage, cloud)
        refused = await Asker(stage, batch_id=batch_id).until("refused")
        assert (refused.is_temporary, cloud.requests) == (False, [])


@pytest.mark.parametrize(
    ("status", "reason", "is_temporary"),
    [
        (401, "cloud_auth: the cloud refused the key (401)", False),
        (404, "cloud_rejected: the cloud has no batch endpoint (404)", False),
        (429, "cloud_overloaded: the cloud answered 429: busy", True),
        (302, "cloud_rejected: the cloud answered 302; redirects are not followed", False),
    ],
)
async def test_refusals_of_the_cloud_have_their_reasons(
    stage: Stage, status: int, reason: str, is_temporary: bool
) -> None:
    with batch_cloud(refuses="GET /batches", refusal=(status, {"error": {"message": "busy"}})) as cloud:
        await started(stage, cloud)
        refused = await Asker(stage).until("refused", questions=questions(1))
        assert (refused.reason, refused.is_temporary) == (reason, is_temporary)
        assert cloud.files == {}


async def test_a_busy_cloud_is_not_asked_before_its_time(stage: Stage) -> None:
    with batch_cloud(refuses="GET /batches", retry_after="3600") as cloud:
        await started(stage, cloud)
        asker = Asker(stage)
        await asker.until("refused")
        for _ in range(3):
            await asyncio.sleep(LOOK_INTERVAL_S)
            assert (await asker.until("refused")).is_temporary
        assert len(cloud.requests) == 1


async def test_what_a_running_batch_will_cost_is_no_longer_there_for_others(stage: Stage, tmp_path: Path) -> None:
    budgets = [CloudBudget(max_tokens=100), CloudBudget(per_tenant=True, max_tokens=60)]
    with batch_cloud() as cloud:
        await started(stage, cloud, budgets=budgets, spending_file=str(tmp_path / "state" / "spending.json"))
        alice, bob = Asker(stage, "alice"), Asker(stage, "bob", mark="0" * 31 + "2")
        assert (await alice.until("running", questions=questions(9))).num_questions == 6
        assert (await bob.until("running", questions=questions(9))).num_questions == 4
        await stage.router.send(make_dispatch(1, tenant="carol"))
        finish = (await stage.router.finished(1)).finish
        assert finish is not None
        assert finish.error is not None
        assert finish.error.message == "cloud_budget_spent: budget spent"
        over = await Asker(stage, "carol", mark="0" * 31 + "3").until("over_budget", questions=questions(1))
        assert over.reason == "budget spent"
        cloud.may_end.set()
        for _ in range(2):
            await alice.until("ended", answers_from=0)
        await bob.until("ended", answers_from=0)
        spent = await stage.router.until(lambda report: any(row.tokens for row in report.spent or []))
        [total] = [row for row in spent.spent or [] if row.tenant is None]
        assert (total.requests, total.tokens) == (10, 10 * 14)


async def test_answers_whose_counts_cannot_be_cost_what_was_expected(stage: Stage, tmp_path: Path) -> None:
    def answer(custom_id: str, body: Body) -> Body:
        counts = {"2": {"prompt_tokens": 2**64 - 1}, "3": {"prompt_tokens": -(10**9), "completion_tokens": 1}}
        answer = completion(body)
        answer["usage"] = counts.get(custom_id, answer["usage"])
        return answered(custom_id, answer)

    budgets = [CloudBudget(max_tokens=100)]
    with batch_cloud(answer=answer) as cloud:
        cloud.may_end.set()
        await started(stage, cloud, budgets=budgets, spending_file=str(tmp_path / "state" / "spending.json"))
        asker = Asker(stage)
        await asker.until("ended", questions=questions(4))
        ended = await asker.until("ended", answers_from=0)
        while not ended.answers:
            ended = await asker.until("ended", answers_from=0)
        assert [answer.usage is None for answer in ended.answers] == [False, False, True, True]
        spent = await stage.router.until(lambda report: any(row.tokens for row in report.spent or []))
        assert [(row.requests, row.tokens) for row in spent.spent or []] == [(4, 2 * 14 + 2 * 10)]
