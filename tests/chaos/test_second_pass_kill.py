"""A second pass over a prompt file that is killed at every change of a file: each line is asked once."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cactus_actors.protocol.messages import Finished
from cactus_actors.protocol.results import NOT_ALLOWED, Handoff
from tests.support.processes.forked_commands import ForkedCommands
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter
from tests.support.router.two_models import TwoModels

NUM_LINES = 5
UNSURE = Handoff(status="suppressed", reason=NOT_ALLOWED, confidence=0.1, threshold=0.5)


class UnsureRouter(ScriptedRouter):
    """Is unsure of every answer but that to the first prompt."""

    def end(self, job: ScriptedJob, finished: Finished) -> None:
        if job.submit.prompt != "prompt 0":
            result = msgspec.structs.replace(finished.result, handoff=UNSURE)
            finished = job.finished = msgspec.structs.replace(finished, result=result)
        super().end(job, finished)


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with UnsureRouter(step_s=0.001) as router:
        yield router


@pytest.fixture
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCommands]:
    with ForkedCommands(tmp_path_factory.mktemp("commands")) as commands:
        yield commands


@pytest.mark.chaos
def test_a_second_pass_killed_at_any_change_of_a_file_asks_each_line_once(
    commands: ForkedCommands, router: ScriptedRouter, tmp_path: Path
) -> None:
    source, output = tmp_path / "prompts.jsonl", tmp_path / "out.jsonl"
    lines = [{"prompt": f"prompt {number}", "cloud_handoff_threshold": 0.5} for number in range(NUM_LINES)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    arguments = ["batch", str(source), "-o", str(output), "--max-in-flight", "1"]
    arguments += ["--endpoint", router.endpoint, "--stream-endpoint", router.stream_endpoint]
    assert commands.run(*arguments) == 0, commands.output
    finished = {path: path.read_bytes() for path in tmp_path.glob("out*")}
    for limit in range(1, 100):
        for path, content in finished.items():
            path.write_bytes(content)
        router.batches.clear()
        killed = commands.run(*arguments, "--second-pass", dies_at=limit)
        if killed != 0:
            assert killed == -signal.SIGKILL, commands.output
            assert commands.run(*arguments, "--second-pass") == 0, commands.output
        assert [len(answers) for answers in router.batches.values()] == [NUM_LINES - 1]
        bodies = [json.loads(line)["response"]["body"] for line in output.read_text().splitlines()]
        texts = [body["choices"][0]["text"] for body in bodies]
        assert texts[0].startswith("prompt 0")
        assert texts[1:] == [f"PROMPT {number}" for number in range(1, NUM_LINES)]
        assert set(tmp_path.iterdir()) == {source, *finished}
        if killed == 0:
            break
    assert limit > 2 * NUM_LINES


@pytest.mark.chaos
def test_a_second_pass_by_a_model_killed_at_any_change_of_a_file_has_one_job_for_each_line(
    commands: ForkedCommands, tmp_path: Path
) -> None:
    source, output = tmp_path / "prompts.jsonl", tmp_path / "out.jsonl"
    lines = [{"prompt": f"prompt {number}", "cloud_handoff_threshold": 0.5} for number in range(NUM_LINES)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with TwoModels(step_s=0.001) as router:
        arguments = ["batch", str(source), "-o", str(output), "--max-in-flight", "1"]
        arguments += ["--endpoint", router.endpoint, "--stream-endpoint", router.stream_endpoint]
        second = [*arguments, "--second-pass-model", "large"]
        assert commands.run(*arguments) == 0, commands.output
        finished = {path: path.read_bytes() for path in tmp_path.glob("out*")}
        merged: bytes | None = None
        for limit in range(1, 100):
            for path, content in finished.items():
                path.write_bytes(content)
            killed = commands.run(*second, dies_at=limit)
            if killed != 0:
                assert killed == -signal.SIGKILL, commands.output
                assert commands.run(*second) == 0, commands.output
            merged = merged or output.read_bytes()
            assert output.read_bytes() == merged
            assert set(tmp_path.iterdir()) == {source, *finished}
            if killed == 0:
                break
        assert limit > NUM_LINES
        answers = [submit.prompt for submit in router.submitted() if submit.model == "large"]
        assert answers == [f"prompt {number}" for number in range(1, NUM_LINES)]
        assert b'"PROMPT 1' in merged
