"""A job about a picture outlives its router."""

from __future__ import annotations

import io
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
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
    root = tmp_path / "pictures"
    root.mkdir()
    service = RestartableService(state, "--model", str(model), "--weights", "float32", "--image-root", str(root))
    service.start()
    yield service
    service.stop()


def png(seed: int) -> bytes:
    content = io.BytesIO()
    sample_picture(40, 30, seed).save(content, "PNG")
    return content.getvalue()


def asking(*images: bytes | str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "What is it?", "images": list(images)}]


def test_jobs_that_the_router_accepted_before_a_kill_have_the_same_answers(
    service: RestartableService, tmp_path: Path
) -> None:
    """One picture comes inside its request; the other one's file has changed when the next router starts."""
    file = tmp_path / "pictures/a.png"
    file.write_bytes(png(1))
    with service.client() as client:
        requests = [asking(png(0)), asking("a.png")]
        expected = [client.complete(messages=messages, **OPTIONS) for messages in requests]
        assert expected[0].token_ids != expected[1].token_ids
        worker, router = service.pid_of("WorkerActor"), service.pid_of("RouterActor")
        os.kill(worker, signal.SIGSTOP)
        try:
            job_ids = [client.submit(messages=messages, **OPTIONS) for messages in requests]
            file.write_bytes(png(0))
            os.kill(router, signal.SIGKILL)
            until(lambda: router not in service.pids())
        finally:
            os.kill(worker, signal.SIGCONT)
        results = [client.result(job_id, timeout=60) for job_id in job_ids]
        assert stored(tmp_path) == {png(0), png(1)}
        assert client.status().held.picture_bytes == len(png(0)) + len(png(1))
        turns = [*asking(png(0)), {"role": "assistant", "content": results[0].text}, *asking("a.png")]
        client.complete(messages=turns, **OPTIONS)
        assert stored(tmp_path) == {png(0), png(1)}, "later turns about a picture store it no more"
    assert [result.token_ids for result in results] == [result.token_ids for result in expected]
    assert [result.usage.prompt_tokens for result in results] == [result.usage.prompt_tokens for result in expected]


def stored(directory: Path) -> set[bytes]:
    """The pictures in the journal; fails if one is there twice."""
    [path] = (directory / "state").rglob("jobs.sqlite")
    with closing(sqlite3.connect(path)) as database:
        contents = [content for (content,) in database.execute("SELECT content FROM pictures")]
    assert len(contents) == len(set(contents))
    return set(contents)
