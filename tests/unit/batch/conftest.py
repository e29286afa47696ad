"""A prompt file, and runs of it with a scripted router."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.batch import BatchProgress, BatchRequest, run_batch
from cactus_actors.client import AsyncClient
from tests.support.router.scripted_router import ScriptedRouter


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    lines = [{"custom_id": f"job-{number}", "prompt": f"prompt {number}"} for number in range(20)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def run(router: ScriptedRouter, source: Path, tmp_path: Path) -> Callable[..., BatchProgress]:
    def run(timeout: float = 30.0, **changes: Any) -> BatchProgress:
        arguments = {"source": source, "output": tmp_path / "out.jsonl", **changes}

        async def run_it() -> BatchProgress:
            async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=timeout) as client:
                return await run_batch(BatchRequest(**arguments), client)

        return asyncio.run(run_it())

    return run
