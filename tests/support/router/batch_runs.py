"""Results of a prompt file on disk, and runs that are interrupted by the loss of their service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.batch import BatchProgress
from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import Finished
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter

FINISHED = {"out.jsonl", "out.jsonl.journal"}  # an error file exists only if a line failed


def records(path: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    by_id = {line["custom_id"]: line for line in lines}
    assert len(by_id) == len(lines), "a line was written twice"
    return by_id


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - {"prompts.jsonl"}


def interrupted(run: Callable[..., BatchProgress], router: ScriptedRouter, after: int) -> None:
    """Leave a run with `after` completed lines, as after the loss of its service."""

    def go_away(job: ScriptedJob, finished: Finished) -> None:
        nonlocal after
        if after > 0:
            after -= 1
            end(job, finished)
        else:
            for identity in job.waiters:
                error = Unavailable("the service was stopped").info()
                router.reply(identity, job.finish(success=False, error=error, finish_reason="error"))

    end, router.end = router.end, go_away  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        run(max_in_flight=2, limits=BatchLimits(service_lost_s=0.0))
    router.end = end  # type: ignore[method-assign]
    router.restart()
