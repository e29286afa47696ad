"""A job about a picture outlives its router."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.goldens.sample_pictures import sample_picture
from tests.support.models.served_pictures import write_served_model
from tests.support.processes.restartable_service import RestartableService
from tests.support.router.scripted_router import until

OPTIONS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 12, "ignore_eos": True}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RestartableService]:
    model = write_served_model(tmp_path / "model", "smolvlm")
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    service = RestartableService(state, "--model", str(model), "--weights", "float32")
    service.start()
    yield service
    service.stop()


def test_a_job_that_the_router_accepted_before_a_kill_has_the_same_answer(
    service: RestartableService, tmp_path: Path
) -> None:
    content = io.BytesIO()
    sample_picture(40, 30, seed=0).save(content, "PNG")
    messages = [{"role": "user", "content": "What is it?", "images": [content.getvalue()]}]
    with service.client() as client:
        expected = client.complete(messages=messages, **OPTIONS)
        worker, router = service.pid_of("WorkerActor"), service.pid_of("RouterActor")
        os.kill(worker, signal.SIGSTOP)
        try:
            job_id = client.submit(messages=messages, **OPTIONS)
            os.kill(router, signal.SIGKILL)
            until(lambda: router not in service.pids())
        finally:
            os.kill(worker, signal.SIGCONT)
        result = client.result(job_id, timeout=60)
    assert result.token_ids == expected.token_ids
    assert result.usage.prompt_tokens == expected.usage.prompt_tokens
