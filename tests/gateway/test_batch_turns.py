"""Batches of several tenants at the same time: a blocked batch delays no other tenant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.client import AsyncClient
from cactus_actors.gateway.files.batch_queue import BatchQueue
from cactus_actors.gateway.files.batch_record import BatchRecord
from cactus_actors.gateway.files.file_store import FileStore
from cactus_actors.gateway.files.line_slots import LineSlots
from cactus_actors.protocol.errors import CactusError, Overloaded, Unavailable
from cactus_actors.protocol.messages import Rejected, Submit
from tests.support.router.scripted_router import ScriptedRouter

COMPLETIONS = "/v1/completions"
FULL = Overloaded("the queue is full", retry_after=0.01)


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter() as router:
        yield router


def refuse(router: ScriptedRouter, account: str, error: CactusError) -> None:
    """Refuse every job of `account`."""

    def on_submit(identity: bytes, submit: Submit) -> None:
        if submit.account == account:
            router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))
        else:
            let_in(identity, submit)

    let_in, router.on_submit = router.on_submit, on_submit  # type: ignore[method-assign]


class Tenants:
    """Batches of tenants, managed as the gateway does."""

    def __init__(self, directory: Path, client: AsyncClient, in_flight: int, **options: Any) -> None:
        self.files = FileStore(directory / "files")
        self.batches = BatchQueue(
            directory / "batches", self.files, client, in_flight=in_flight, unix_offset=0.0, **options
        )

    async def create(self, tenant: str, num_lines: int = 1, **body: Any) -> BatchRecord:
        lines = [
            {"custom_id": f"{n}", "method": "POST", "url": COMPLETIONS, "body": {"prompt": f"{n}", **body}}
            for n in range(num_lines)
        ]

        async def chunks() -> AsyncIterator[bytes]:
            yield "".join(json.dumps(line) + "\n" for line in lines).encode()

        kept = self.files.keep(await self.files.receive(chunks(), tenant), "in.jsonl", "batch", tenant)
        return self.batches.create(COMPLETIONS, kept.file_id, tenant, None)

    def errors_of(self, record: BatchRecord) -> list[Any]:
        assert record.error_file_id is not None
        content = self.files.path(record.error_file_id).read_text()
        return [json.loads(line)["error"] for line in content.splitlines()]


@asynccontextmanager
async def tenants(
    directory: Path, router: ScriptedRouter, in_flight: int = 2, **options: Any
) -> AsyncIterator[Tenants]:
    async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=30.0) as client:
        kept = Tenants(directory, client, in_flight, **options)
        working = asyncio.create_task(kept.batches.run())
        try:
            yield kept
        finally:
            working.cancel()
            await asyncio.wait([working])


async def comes(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def refused(router: ScriptedRouter, account: str) -> bool:
    return any(submit.account == account for submit in router.received_of(Submit))  # type: ignore[union-attr]


@pytest.mark.parametrize("in_flight", [1, 2])
async def test_a_blocked_batch_delays_its_own_tenant_only(
    tmp_path: Path, router: ScriptedRouter, in_flight: int
) -> None:
    refuse(router, "ann", FULL)
    async with tenants(tmp_path, router, in_flight) as kept:
        blocked, behind_it = await kept.create("ann", 5), await kept.create("ann")
        await comes(lambda: refused(router, "ann"))
        others = [await kept.create("bob", 5), await kept.create("bob"), await kept.create("eve")]
        await comes(lambda: all(other.has_ended for other in others))
        assert [(other.status, other.num_completed) for other in others] == [
            ("completed", 5),
            ("completed", 1),
            ("completed", 1),
        ]
        assert (blocked.status, behind_it.status) == ("in_progress", "validating")


async def test_a_line_that_misses_its_deadline_under_load_ends_alone(tmp_path: Path, router: ScriptedRouter) -> None:
    refuse(router, "ann", FULL)
    async with tenants(tmp_path, router) as kept:
        batch = await kept.create("ann", 3, timeout_ms=30)
        await comes(lambda: batch.has_ended)
        assert (batch.status, batch.num_lines, batch.num_failed) == ("completed", 3, 3)
        errors = kept.errors_of(batch)
        assert [(error["code"], error["param"]) for error in errors] == [("timeout_error", "timeout_ms")] * 3


async def test_a_waiting_batch_is_cancelled_at_once(tmp_path: Path, router: ScriptedRouter) -> None:
    refuse(router, "ann", FULL)
    async with tenants(tmp_path, router) as kept:
        blocked, waiting, last = [await kept.create("ann") for _ in range(3)]
        await comes(lambda: refused(router, "ann"))
        kept.batches.cancel(waiting.batch_id, "ann")
        await comes(lambda: waiting.has_ended)
        assert [one.status for one in (blocked, waiting, last)] == ["in_progress", "cancelled", "validating"]
        kept.batches.cancel(blocked.batch_id, "ann")
        await comes(lambda: blocked.has_ended)
        await comes(lambda: last.status == "in_progress")
        assert blocked.status == "cancelled"
    again = BatchQueue(tmp_path / "batches", kept.files, None, in_flight=1, unix_offset=0.0)  # type: ignore[arg-type]
    statuses = {record.batch_id: record.status for record in again.all_of("ann")}
    assert statuses == {
        blocked.batch_id: "cancelled",
        waiting.batch_id: "cancelled",
        last.batch_id: "in_progress",
    }


async def test_a_batch_that_is_retried_later_delays_no_other(
    tmp_path: Path, router: ScriptedRouter, caplog: pytest.LogCaptureFixture
) -> None:
    refuse(router, "ann", Unavailable("no worker"))
    async with tenants(tmp_path, router, limits=BatchLimits(service_lost_s=-1.0), retry_s=3600.0) as kept:
        blocked = await kept.create("ann")
        await comes(lambda: f"batch {blocked.batch_id} is retried" in caplog.text)
        other = await kept.create("bob")
        await comes(lambda: other.has_ended)
        assert (blocked.status, other.status) == ("in_progress", "completed")
        kept.batches.cancel(blocked.batch_id, "ann")
        await comes(lambda: blocked.has_ended)
        assert blocked.status == "cancelled"


async def test_batches_of_all_tenants_continue_after_a_restart(tmp_path: Path, router: ScriptedRouter) -> None:
    def let_some_in(identity: bytes, submit: Submit) -> None:
        taken = [job for job in router.jobs_run.values() if job.submit.account == submit.account]
        if len(taken) < 5 or submit.job_id in router.jobs_run:
            let_in(identity, submit)
        else:
            router.reply(identity, Rejected(error=FULL.info(), job_id=submit.job_id))

    let_in, router.on_submit = router.on_submit, let_some_in  # type: ignore[method-assign]
    async with tenants(tmp_path, router) as kept:
        begun = [await kept.create(tenant, 40) for tenant in ("ann", "bob", "eve")]
        cancelled = await kept.create("eve")
        cancelled.enter("cancelling")  # and the gateway ends before it starts that one
        kept.batches._save(cancelled)
        await comes(lambda: all(record.num_completed == 5 for record in begun))
    assert {record.status for record in begun} == {"in_progress"}
    router.on_submit = let_in  # type: ignore[method-assign]
    async with tenants(tmp_path, router) as kept:
        again = [kept.batches.get(record.batch_id, record.tenant) for record in begun]
        await comes(lambda: all(record.has_ended for record in again))
        assert [(record.status, record.num_completed) for record in again] == [("completed", 40)] * 3
        assert kept.batches.get(cancelled.batch_id, "eve").status == "cancelled"
        for record in again:
            assert record.output_file_id is not None
            written = kept.files.path(record.output_file_id).read_text().splitlines()
            ids = [json.loads(line)["custom_id"] for line in written]
            assert sorted(ids) == sorted(f"{n}" for n in range(40))


async def test_batches_share_the_jobs_in_flight(tmp_path: Path, router: ScriptedRouter) -> None:
    in_flight, most = 4, 0

    def count(identity: bytes, submit: Submit) -> None:
        nonlocal most
        let_in(identity, submit)
        most = max(most, sum(job.finished is None for job in router.jobs_run.values()))

    let_in, router.on_submit = router.on_submit, count  # type: ignore[method-assign]
    async with tenants(tmp_path, router, in_flight) as kept:
        records = [await kept.create(tenant, 30) for tenant in ("ann", "bob", "eve")]
        await comes(lambda: all(record.has_ended for record in records))
    assert {(record.status, record.num_completed) for record in records} == {("completed", 30)}
    # Each of the others starts one line while all slots are taken.
    assert 2 < most <= in_flight + 2


async def test_slots_go_to_batches_below_an_even_share() -> None:
    slots, order = LineSlots(4), ""

    async def begin(share: Any, name: str) -> None:
        nonlocal order
        await share.__aenter__()
        order += name

    async def settle() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    with slots.share() as one:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(6):
                tasks.create_task(begin(one, "a"))
            await settle()
            assert order == "aaaa"  # alone it has all slots
            with slots.share() as other:
                for _ in range(3):
                    tasks.create_task(begin(other, "b"))
                await settle()
                assert order == "aaaab"  # a first line waits for nobody
                await one.__aexit__()
                await settle()
                assert order == "aaaab"
                await one.__aexit__()
                await settle()
                assert order == "aaaabb"  # and the third one waits: two slots are an even share
                for _ in range(2):
                    await one.__aexit__()
                for _ in range(2):
                    await other.__aexit__()
                await settle()
                assert sorted(order) == sorted("aaaabbbaa")
