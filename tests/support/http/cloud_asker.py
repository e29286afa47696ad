"""A cloud client that records the forwarded answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.answer_reader import AnswerPiece, CloudAnswer
from cactus_actors.handoff.circuit_breaker import CircuitBreaker
from cactus_actors.handoff.cloud_client import REST_WAIT_S, CloudClient
from cactus_actors.handoff.cloud_failures import CloudFailure
from cactus_actors.handoff.cloud_key import CloudKey
from cactus_actors.handoff.metering import Meter
from cactus_actors.handoff.request_budget import RequestBudget
from cactus_actors.handoff.spending import Spending
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import CloudRequest

SECRET = "sk-planted-0123456789"
SECRET_KEY = CloudKey(SECRET)
PATIENT = HandoffSettings(
    connect_timeout_s=60.0, read_timeout_s=60.0, total_timeout_s=120.0, retry_backoff_s=0.01, breaker_open_s=60.0
)
"""A test shortens one timeout, and waits for that one only."""


class Asker:
    """Sends jobs to a fake cloud, and records the forwarded answers."""

    def __init__(self, base_url: str, *, rest_wait_s: float = REST_WAIT_S, **changes: Any) -> None:
        settings = msgspec.structs.replace(PATIENT, base_url=base_url, **changes)
        self.breaker = CircuitBreaker(max_failures=settings.breaker_failures, open_s=settings.breaker_open_s)
        self.budget = RequestBudget(max_concurrent=settings.max_concurrent, max_requests=settings.max_requests)
        self.cloud = CloudClient(settings, self.breaker, self.budget, rest_wait_s)
        self.chunks: list[str] = []

    async def ask(
        self,
        job_s: float | None = None,
        forward: Callable[[AnswerPiece], None] | None = None,
        key: CloudKey | None = SECRET_KEY,
    ) -> CloudAnswer:
        return await self.cloud.answer(
            CloudRequest(prompt="What is the capital of France?"),
            SamplingParams(max_tokens=8),
            key=key,
            job_ends_at=None if job_s is None else time.monotonic() + job_s,
            forward=forward or (lambda piece: self.chunks.append(piece.text)),
            meter=Meter(Spending((), time.time, None), "", 7),
        )

    async def fail(self, **arguments: Any) -> CloudFailure:
        with pytest.raises(CloudFailure) as caught:
            await self.ask(**arguments)
        return caught.value

    @property
    def breaker_state(self) -> str:
        return self.breaker.state(time.monotonic())


MakeAsker = Callable[..., Asker]
