"""Jobs of tests for a cascade."""

from __future__ import annotations

from typing import Any

from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from tests.support.router.core_harness import RouterHarness, job_id


def ask(router: RouterHarness, number: int = 1, model: str = "cascade", **options: Any) -> None:
    """Submit a question to a cascade, or to one model, and subscribe to its stream."""
    submit = Submit(job_id=job_id(number), prompt="question", model=model, options=Options(seed=3, **options))
    router.client(submit)
    router.subscribe(number)
