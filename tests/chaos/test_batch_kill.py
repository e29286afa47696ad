"""`cactus batch` or its service killed at any moment: every line is answered once, with the same answers."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.client import Client
from cactus_actors.protocol.messages import Cancel, Submit
from cactus_actors.protocol.service_status import JobCounts
from tests.support.processes.forked_commands import ForkedCommands
from tests.support.processes.separate_actors import Processes
from tests.support.router.scripted_router import ScriptedRouter, until

NUM_LINES = 9
NUM_KILLS = 50
NUM_STORIES = 150


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCommands]:
    with ForkedCommands(tmp_path_factory.mktemp("commands")) as commands:
        yield commands


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter(num_tokens=3, step_s=0.001) as router:
        yield router


@pytest.fixture
def arguments(router: ScriptedRouter, tmp_path: Path) -> list[str]:
    lines = [json.dumps(f"prompt {number}") for number in range(NUM_LINES)]
    lines[4] = "malformed"
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines))
    return [
        "batch",
        str(tmp_path / "prompts.jsonl"),
        "-o",
        str(tmp_path / "out.jsonl"),
        *("--resume", "--max-in-flight", "3"),
        *("--endpoint", router.endpoint, "--stream-endpoint", router.stream_endpoint),
    ]


def line_ids(path: Path) -> list[str]:
    return [json.loads(line)["custom_id"] for line in path.read_text().splitlines()]


def whole_lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def prompts_done(path: Path) -> set[str]:
    """The prompts of the complete lines in a partial output."""
    ids = [json.loads(line)["custom_id"] for line in whole_lines(path)]
    return {f"prompt {int(name.removeprefix('line-')) - 1}" for name in ids}


def check_each_line_once(directory: Path) -> None:
    assert sorted(path.name for path in directory.iterdir()) == [
        "out.errors.jsonl",
        "out.jsonl",
        "out.jsonl.journal",
        "prompts.jsonl",
    ]
    expected = {f"line-{number + 1}" for number in range(NUM_LINES)}
    assert line_ids(directory / "out.errors.jsonl") == ["line-5"]
    succeeded = line_ids(directory / "out.jsonl")
    assert sorted(succeeded) == sorted(expected - {"line-5"})


def resume(commands: ForkedCommands, arguments: list[str]) -> None:
    assert commands.run(*arguments) == 1, commands.output  # one line is malformed


@pytest.mark.chaos
def test_a_run_killed_at_any_change_of_a_file_resumes(
    commands: ForkedCommands, arguments: list[str], router: ScriptedRouter, tmp_path: Path
) -> None:
    """One run that dies at its 1st, 2nd, 3rd... change of a file, and is resumed each time."""
    for limit in range(1, 100):
        for path in tmp_path.glob("out*"):
            path.unlink()
        killed = commands.run(*arguments, dies_at=limit)
        if killed == 1:
            break
        assert killed == -signal.SIGKILL, commands.output
        final_exists = (tmp_path / "out.jsonl").exists()
        assert not final_exists or len(line_ids(tmp_path / "out.jsonl")) == NUM_LINES - 1
        done = prompts_done(tmp_path / "out.jsonl.partial")
        router.received.clear()
        resume(commands, arguments)
        check_each_line_once(tmp_path)
        # lines that were written are not computed again
        submitted = {
            message.messages[0].content
            for message in router.received
            if isinstance(message, Submit) and message.messages
        }
        assert not submitted & done
    else:
        pytest.fail("the run never came to its end")
    assert limit > NUM_LINES


@pytest.mark.parametrize("limit", range(1, 6))
def test_an_overwrite_killed_at_its_beginning_never_presents_old_results_as_new(
    commands: ForkedCommands, arguments: list[str], tmp_path: Path, limit: int
) -> None:
    resume(commands, arguments)
    finished = (tmp_path / "out.jsonl").read_bytes()
    source = tmp_path / "prompts.jsonl"
    source.write_text(source.read_text().replace("prompt", "changed"))
    again = [argument for argument in arguments if argument != "--resume"]
    assert commands.run(*again, "--overwrite", dies_at=limit) == -signal.SIGKILL
    assert (tmp_path / "out.jsonl").read_bytes() == finished
    if commands.run(*arguments) == 66:
        assert (tmp_path / "out.jsonl").read_bytes() == finished
    else:
        check_each_line_once(tmp_path)
        assert b"prompt " not in (tmp_path / "out.jsonl").read_bytes()


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_run_cancels_its_jobs_and_prints_how_to_resume(
    commands: ForkedCommands,
    arguments: list[str],
    router: ScriptedRouter,
    tmp_path: Path,
    number: signal.Signals,
    exit_code: int,
) -> None:
    router.step_s = 30.0
    command = commands.start(*arguments)
    until(lambda: len(router.submitted()) == 3)
    command.send_signal(number)
    assert command.wait() == exit_code
    *_, last = commands.output.splitlines()
    assert last == "interrupted; 0 of 9 lines are done; the same command with --resume continues"
    until(lambda: len(router.received_of(Cancel)) == 3)  # the router reads them in a thread of its own
    submitted = {submit.job_id for submit in router.received_of(Submit)}  # type: ignore[union-attr]
    assert submitted == {cancel.job_id for cancel in router.received_of(Cancel)}  # type: ignore[union-attr]
    router.step_s = 0.001
    resume(commands, arguments)
    check_each_line_once(tmp_path)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    processes = Processes(tmp_path_factory.mktemp("service"))
    try:
        yield processes
    finally:
        processes.stop()


@pytest.fixture(scope="module")
def stories(commands: ForkedCommands, service: Processes, tmp_path_factory: pytest.TempPathFactory) -> Stories:
    return Stories(commands, service, tmp_path_factory.mktemp("stories"))


class Stories:
    """A prompt file for a real service, and its results in an undisturbed run."""

    def __init__(self, commands: ForkedCommands, service: Processes, directory: Path) -> None:
        self.service = service
        self.directory = directory
        source = directory / "stories.jsonl"
        prompts = [f"Tell me a story about {number} foxes." for number in range(NUM_STORIES)]
        source.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
        self.arguments = (
            *("batch", str(source), "--resume", "--max-in-flight", "4"),
            *("--max-tokens", "24", "--temperature", "0.8", "--seed", "11"),
            *("--endpoint", service.jobs, "--stream-endpoint", service.stream),
        )
        assert commands.run(*self.arguments, "-o", str(self.output("undisturbed"))) == 0, commands.output
        self.answers = self.read("undisturbed")

    def output(self, name: str) -> Path:
        return self.directory / f"{name}.jsonl"

    def read(self, name: str) -> dict[str, Any]:
        """The answers by custom_id, without the fields that identify the run."""
        answers = {}
        for line in map(json.loads, self.output(name).read_text().splitlines()):
            assert line["custom_id"] not in answers
            answers[line["custom_id"]] = line["response"]["body"]["choices"]
        assert not self.output(f"{name}.errors").exists()
        return answers

    def counts(self) -> JobCounts:
        with Client(self.service.jobs, self.service.stream) as client:
            return client.status().jobs


@pytest.mark.chaos
def test_fifty_random_kills_change_no_answer_and_repeat_no_line(commands: ForkedCommands, stories: Stories) -> None:
    """Every second kill comes as a command begins, the others after some answers."""
    chance = random.Random(50)
    before = stories.counts()
    num_kills = num_runs = 0
    num_done_at_kills = set()
    while num_kills < NUM_KILLS:
        num_runs += 1
        output = stories.output(f"killed-{num_runs}")
        partial = output.with_name(f"{output.name}.partial")
        written: list[str] = []
        while True:
            command = commands.start(*stories.arguments, "-o", str(output))
            if num_kills == NUM_KILLS:
                assert command.wait() == 0, commands.output
                break
            if num_kills % 2:
                wanted = len(written) + chance.randint(1, 4)
                until(lambda: output.exists() or len(whole_lines(partial)) >= wanted, 60)  # noqa: B023
            time.sleep(chance.uniform(0.0, 0.1))
            if command.kill_and_wait() == 0:
                break
            num_kills += 1
            # lines that were written are not written again
            lines = whole_lines(partial if partial.exists() else output)
            assert lines[: len(written)] == written
            written = lines
            num_done_at_kills.add(len(written))
        assert stories.read(f"killed-{num_runs}") == stories.answers
    assert len(num_done_at_kills) > NUM_KILLS // 4
    after = stories.counts()
    assert after.accepted - before.accepted == num_runs * NUM_STORIES
    assert after.finished - before.finished == num_runs * NUM_STORIES


@pytest.mark.chaos
def test_a_run_survives_kills_of_the_service(commands: ForkedCommands, stories: Stories) -> None:
    output = stories.output("survivor")
    partial = output.with_name(f"{output.name}.partial")
    command = commands.start(*stories.arguments, "-o", str(output))

    def until_done(share: float) -> None:
        until(lambda: len(whole_lines(partial)) >= share * NUM_STORIES, deadline_s=60)

    until_done(0.2)
    stories.service.kill_router()
    until_done(0.4)
    stories.service.workers.append(stories.service.start_worker("another"))
    stories.service.workers[0].kill()
    until_done(0.6)
    stories.service.kill_router()
    assert command.wait() == 0, commands.output
    assert stories.read("survivor") == stories.answers
