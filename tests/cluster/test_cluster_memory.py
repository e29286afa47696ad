"""A router that somebody fills with memory: it ends alone, comes back, and its jobs go on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.messages import Status
from tests.chaos.raw_peer import MORE, RawPeer, frame
from tests.chaos.vitals import MIB
from tests.cluster.conftest import running_service
from tests.cluster.test_cluster_service import pid_of_router
from tests.scripted_router import until

BACK_WITHIN_S = 10.0
"""5 s are promised of a machine that is the service's own, where it takes 1.5 s. It took 3.6 s where
eight other processes wanted its two cores, which is too close to 5 for a test."""


@pytest.mark.chaos
def test_a_router_that_reaches_its_limit_is_back_within_seconds_and_workers_go_on(
    place: dict[str, Any], tmp_path: Path
) -> None:
    config = ServeConfig(
        workers=1,
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=tmp_path,
        http="",
        max_router_bytes=200 * MIB,
        **place,
    )
    with running_service(config) as running:
        client, jobs = running.client, running.endpoints.jobs
        options = {"max_tokens": 600, "ignore_eos": True, "seed": 3}
        expected = client.complete("Tell me a story", **options)
        before, router = client.status(), pid_of_router(jobs)
        job_ids = [client.submit("Tell me a story", **options) for _ in range(16)]
        bomb = RawPeer(jobs, "DEALER")
        for _ in range(40):
            if not Path(f"/proc/{router}/fd/0").exists():
                break
            bomb.send(frame(b"", MORE) * 500_000)
        else:
            raise AssertionError("the router takes more than its limit")
        died_at = time.monotonic()
        bomb.close()
        while client.status().epoch == before.epoch:
            time.sleep(0.02)
        back_s = time.monotonic() - died_at
        print(f"back after {back_s:.1f} s")
        assert back_s < BACK_WITHIN_S
        assert all(client.result(job_id).token_ids == expected.token_ids for job_id in job_ids)
        until(lambda: pids(client.status()) == pids(before))


def pids(status: Status) -> set[int]:
    return {worker.pid for worker in status.workers}
