"""The second pass over a prompt file: a router, the handoff actor and a cloud with batches, over real sockets."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from cactus_actors.batch import BatchProgress, BatchRequest, SecondPassReport, run_batch, run_second_pass
from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.cli.main import app
from cactus_actors.client import AsyncClient
from cactus_actors.config import CloudBudget, HandoffSettings
from cactus_actors.handoff.actor import HandoffActor
from cactus_actors.process.health import Endpoints
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.options import Options
from tests.support.http.batch_cloud import BatchCloud, Body, answered, batch_cloud, completion, failed
from tests.support.router.echo_worker import EchoWorker
from tests.support.router.running_router import serving
from tests.support.router.scripted_router import until

LIMITS = BatchLimits(poll_s=0.2, retry_s=0.1, service_lost_s=60.0)
SURE, UNSURE = 0.5, 0.95  # the confidence of every answer is 0.9
NUM_LINES = 12


@contextmanager
def handoff_actor(endpoints: Endpoints, cloud: BatchCloud, **settings: Any) -> Iterator[None]:
    given = HandoffSettings(base_url=cloud.base_url, model="big", confidence_signal="entropy", **settings)
    actor = HandoffActor(given)
    thread = threading.Thread(target=actor.run, args=(endpoints.workers,))
    thread.start()
    try:
        until(lambda: actor.health().connected)
        yield
    finally:
        actor.stop()
        thread.join(60)


@pytest.fixture(scope="module")
def endpoints() -> Iterator[Endpoints]:
    """A running service, without a cloud."""
    with serving(confidence_signal="entropy") as service, EchoWorker(service.endpoints.workers, step_s=0.005):
        yield service.endpoints


class Files:
    """A prompt file of which every second line is unsure, and runs of it."""

    def __init__(self, directory: Path, endpoints: Endpoints) -> None:
        self.source, self.output = directory / "prompts.jsonl", directory / "out.jsonl"
        self._endpoints = endpoints
        self.write([self.line(number) for number in range(NUM_LINES)])

    def line(self, number: int, **fields: Any) -> dict[str, Any]:
        threshold = UNSURE if number % 2 else SURE
        line = {"custom_id": f"job-{number}", "prompt": f"prompt {number}", "max_tokens": 4}
        return {**line, "cloud_handoff_threshold": threshold, **fields}

    def write(self, lines: list[dict[str, Any]]) -> None:
        self.source.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def results(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.read_text().splitlines()]

    def bodies(self) -> dict[str, Body]:
        bodies = {line["custom_id"]: line["response"]["body"] for line in self.results()}
        assert len(bodies) == len(self.results()), "a line was written twice"
        return bodies

    def request(self, **changes: Any) -> BatchRequest:
        given = {"source": self.source, "output": self.output, "limits": LIMITS, "second_pass": True}
        return BatchRequest(**{**given, **changes})

    def first_pass(self, **changes: Any) -> BatchProgress:
        return asyncio.run(self._with_client(lambda client: run_batch(self.request(**changes), client)))

    def second_pass(self, observe: Callable[..., None] | None = None, **changes: Any) -> SecondPassReport:
        request = self.request(**changes)
        return asyncio.run(self._with_client(lambda client: run_second_pass(request, client, observe)))

    async def _with_client(self, work: Callable[[AsyncClient], Any]) -> Any:
        async with AsyncClient(self._endpoints.jobs, self._endpoints.stream, timeout=60.0) as client:
            async with asyncio.timeout(120):
                return await work(client)

    def left_over(self) -> set[str]:
        kept = {"prompts.jsonl", "out.jsonl", "out.jsonl.journal"}
        return {path.name for path in self.output.parent.iterdir()} - kept


@pytest.fixture
def files(tmp_path: Path, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setenv("CACTUS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CACTUS_CLOUD_KEY", raising=False)
    monkeypatch.delenv("CACTUS_DISABLE_CLOUD_HANDOFF", raising=False)
    (tmp_path / "run").mkdir()
    return Files(tmp_path / "run", endpoints)


def test_the_lines_that_failed_a_gate_are_answered_by_one_batch(files: Files, endpoints: Endpoints) -> None:
    with batch_cloud() as cloud, handoff_actor(endpoints, cloud, prompt_price=4.0, completion_price=8.0):
        cloud.may_end.set()
        files.first_pass()
        assert cloud.requests == []
        before = files.results()
        left = [line["custom_id"] for line in before if line["response"]["body"]["handoff"]["status"] != "none"]
        assert sorted(left) == sorted(f"job-{number}" for number in range(1, NUM_LINES, 2))
        assert {line["response"]["body"]["handoff"]["reason"] for line in before if line["custom_id"] in left} == {
            "left to the second pass"
        }

        report = files.second_pass()
        assert (report.num_completed, report.num_failed, report.num_suppressed) == (6, 0, 0)
        assert report.cost == pytest.approx(6 * (10 * 4.0 + 4 * 8.0) / 2 / 1_000_000)
        assert len(cloud.batches) == 1
        assert files.left_over() == set()
    after = files.results()
    assert [line["custom_id"] for line in after] == [line["custom_id"] for line in before]
    for old, new in zip(before, after, strict=True):
        if old["custom_id"] not in left:
            assert new == old
            continue
        assert {**new, "response": None} == {**old, "response": None}
        was, body = old["response"]["body"], new["response"]["body"]
        assert list(body) == list(was)
        [choice] = body["choices"]
        assert choice["text"] == f"PROMPT {old['custom_id'].removeprefix('job-')}"
        assert choice["finish_reason"] == "stop"
        assert (body["model"], body["cloud_handoff"], body["confidence"]) == ("big", True, None)
        assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (10, 4)
        handoff = body["handoff"]
        assert (handoff["status"], handoff["reason"], handoff["batch_id"]) == ("completed", "second pass", "batch-0")
        assert (handoff["provider"], handoff["threshold"]) == ("127.0.0.1/big", UNSURE)
        assert handoff["confidence"] == pytest.approx(0.9)
        assert handoff["local_model"] == was["model"]
        assert handoff["local_usage"]["completion_tokens"] == 4
        assert handoff["local_measures"] == was["measures"]


def test_a_question_is_that_of_a_handoff(files: Files, endpoints: Endpoints) -> None:
    chat = {
        "messages": [{"role": "user", "content": "five minutes"}],
        "tools": [{"type": "function", "function": {"name": "timer", "parameters": {"type": "object"}}}],
        "temperature": 0.5,
        "seed": 7,
        "stop": ["x"],
        "max_tokens": 3,
        "custom_id": "chat",
        "cloud_handoff_threshold": UNSURE,
    }
    files.write([chat])

    def call(custom_id: str, body: Body) -> Body:
        given = completion(body)
        arguments = {"function": {"name": "timer", "arguments": '{"minutes": 5}'}, "id": "c", "type": "function"}
        given["choices"][0] |= {"message": {"content": None, "tool_calls": [arguments]}, "finish_reason": "tool_calls"}
        return answered(custom_id, given)

    with batch_cloud(answer=call) as cloud, handoff_actor(endpoints, cloud):
        cloud.may_end.set()
        files.first_pass()
        assert files.second_pass().num_completed == 1
        [question] = cloud.questions()
    assert (question["method"], question["url"]) == ("POST", "/v1/chat/completions")
    body = question["body"]
    assert "stream" not in body
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"]) == ("big", 3, 0.5, 7)
    assert (body["stop"], body["tools"]) == (["x"], chat["tools"])
    assert [message["content"] for message in body["messages"]] == ["five minutes"]
    [choice] = files.bodies()["chat"]["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "timer", "arguments": '{"minutes":5}'}


def test_lines_that_may_not_leave_the_machine_keep_their_answers(files: Files, endpoints: Endpoints) -> None:
    body = {"prompt": "prompt 7", "max_tokens": 4, "cloud_handoff_threshold": UNSURE, "return_raw_tokens": True}
    files.write(
        [
            files.line(1, allow_cloud=False),
            files.line(3, regex="p+"),
            files.line(5),
            {"custom_id": "job-7", "method": "POST", "url": "/v1/completions", "body": body},
        ]
    )
    with batch_cloud() as cloud, handoff_actor(endpoints, cloud):
        cloud.may_end.set()
        files.first_pass()
        report = files.second_pass()
        assert len(cloud.questions()) == 1
    assert (report.num_completed, report.num_suppressed) == (1, 3)
    handoffs = {name: (body["handoff"]["status"], body["handoff"]["reason"]) for name, body in files.bodies().items()}
    assert handoffs == {
        "job-1": ("suppressed", "allow_cloud is false"),
        "job-3": ("suppressed", "a cloud does not enforce regex"),
        "job-5": ("completed", "second pass"),
        "job-7": ("suppressed", "a cloud answers in tokens of another model"),
    }


def test_errors_of_lines_leave_the_local_answers_with_their_reasons(files: Files, endpoints: Endpoints) -> None:
    def some(custom_id: str, body: Body) -> Body | None:
        match body["messages"][-1]["content"]:
            case "prompt 1":
                return failed(custom_id, "too hot")
            case "prompt 3":
                return None
            case "prompt 5":
                given = completion(body)
                given["choices"][0]["finish_reason"] = "content_filter"
                return answered(custom_id, given)
        return answered(custom_id, completion(body))

    with batch_cloud(answer=some, ending="expired") as cloud, handoff_actor(endpoints, cloud):
        cloud.may_end.set()
        files.first_pass()
        before = files.bodies()
        report = files.second_pass()
        bodies = files.bodies()
        assert (report.num_completed, report.num_failed) == (3, 3)
        assert bodies["job-1"]["handoff"]["reason"] == "cloud_rejected: the cloud answered 400: too hot"
        assert bodies["job-3"]["handoff"]["reason"] == "the batch ended as expired, without this answer"
        assert bodies["job-5"]["handoff"]["reason"] == "cloud_rejected: the cloud filtered its answer"
        for name in ("job-1", "job-3", "job-5"):
            assert bodies[name]["handoff"]["status"] == "failed"
            assert bodies[name]["choices"] == before[name]["choices"]

        cloud.answer = lambda custom_id, body: answered(custom_id, completion(body))
        again = files.second_pass()
        assert (again.num_completed, again.num_failed) == (3, 0)
        assert len(cloud.questions()) == 9
    assert sum(body["cloud_handoff"] for body in files.bodies().values()) == 6


def test_a_batch_of_another_cloud_is_not_asked_again_unless_its_journal_is_removed(
    files: Files, endpoints: Endpoints
) -> None:
    journal = files.output.with_name("out.jsonl.second-pass")

    def interrupt(progress: Any) -> None:
        if any("batch_id" in line for line in journal.read_text().splitlines()):
            raise InterruptedError

    with batch_cloud() as cloud, handoff_actor(endpoints, cloud):
        files.first_pass()
        with pytest.raises(InterruptedError):
            files.second_pass(interrupt)
    with batch_cloud() as other, handoff_actor(endpoints, other):
        other.may_end.set()
        with pytest.raises(Unavailable, match=f"does not know the batch batch-0 .* remove {journal}"):
            files.second_pass()
        assert other.batches == {}
        journal.unlink()
        assert files.second_pass().num_completed == 6


def test_a_failed_batch_leaves_every_local_answer(files: Files, endpoints: Endpoints) -> None:
    with batch_cloud(ending="failed") as cloud, handoff_actor(endpoints, cloud):
        cloud.may_end.set()
        files.first_pass()
        assert files.second_pass().num_failed == 6
    reasons = {body["handoff"]["reason"] for body in files.bodies().values()} - {None}
    assert reasons == {"the batch ended as failed, without this answer: the model takes no batches"}


def test_an_interrupted_second_pass_goes_on_with_its_batches(files: Files, endpoints: Endpoints) -> None:
    class Killed(Exception):
        pass

    def killed_when_running(progress: Any) -> None:
        if cloud.num_of("GET", "/batches/batch-1"):
            raise Killed

    limits = BatchLimits(poll_s=0.2, max_questions=4)
    with batch_cloud() as cloud:
        with handoff_actor(endpoints, cloud):
            files.first_pass()
            before = files.output.read_bytes()
            with pytest.raises(Killed):
                files.second_pass(killed_when_running, limits=limits)
        assert files.output.read_bytes() == before
        cloud.may_end.set()
        with handoff_actor(endpoints, cloud):
            assert files.second_pass(limits=limits).num_completed == 6
        assert [len(cloud.files[batch["input_file_id"]].splitlines()) for batch in cloud.batches.values()] == [4, 2]
    assert files.left_over() == set()


def test_a_batch_whose_creation_was_not_heard_is_found_again(files: Files, endpoints: Endpoints) -> None:
    with batch_cloud(loses="POST /batches") as cloud, handoff_actor(endpoints, cloud):
        cloud.may_end.set()
        files.first_pass()
        assert files.second_pass().num_completed == 6
        assert len(cloud.batches) == 1


def test_a_mark_that_is_on_disk_without_a_batch_is_asked_for_again(files: Files, endpoints: Endpoints) -> None:
    with batch_cloud(refuses="POST /batches") as cloud:
        with handoff_actor(endpoints, cloud):
            files.first_pass()
            with pytest.raises(Unavailable, match="cloud_overloaded: the cloud answered 503: busy"):
                files.second_pass(limits=BatchLimits(poll_s=0.2, service_lost_s=0.0))
            journal = files.output.with_name("out.jsonl.second-pass").read_text().splitlines()
            assert len(journal) == 2
            cloud.refuses = "(?!)"
            cloud.may_end.set()
        with handoff_actor(endpoints, cloud):
            assert files.second_pass().num_completed == 6
        [batch] = cloud.batches.values()
        assert batch["metadata"]["cactus_mark"] == json.loads(journal[1])["mark"]


def test_without_a_key_the_local_answers_stay_and_the_pass_may_come_later(
    files: Files, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    with batch_cloud() as cloud, handoff_actor(endpoints, cloud, require_key=True):
        cloud.may_end.set()
        files.first_pass(second_pass=False)
        assert {body["handoff"]["reason"] for body in files.bodies().values()} == {None, "no key"}
        before = files.output.read_bytes()
        with pytest.raises(Unavailable, match="the cloud cannot be asked: no key"):
            files.second_pass()
        assert files.output.read_bytes() == before
        monkeypatch.setenv("CACTUS_CLOUD_KEY", "sk-secret")
        until(lambda: files.second_pass().num_completed == 6 if cloud.requests else _asked(files))
        assert cloud.keys == {"Bearer sk-secret"}


def _asked(files: Files) -> bool:
    try:
        return files.second_pass().num_completed == 6
    except Unavailable:  # the key is read once a second
        return False


def test_the_budget_bounds_the_questions_and_counts_each_batch_once(
    files: Files, endpoints: Endpoints, tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    limited = {"budgets": [CloudBudget(max_requests=4)], "spending_file": str(tmp_path / "state" / "spending.json")}
    with batch_cloud() as cloud, handoff_actor(endpoints, cloud, **limited):
        cloud.may_end.set()
        files.first_pass()
        report = files.second_pass()
        assert (report.num_completed, report.num_suppressed) == (4, 2)
        assert len(cloud.questions()) == 4
        reasons = {body["handoff"]["reason"] for body in files.bodies().values()}
        assert reasons == {None, "second pass", "budget spent"}
        again = files.second_pass()
        assert (again.num_completed, again.num_suppressed) == (0, 2)
        assert len(cloud.batches) == 1
    [spent] = [row for row in json.loads((tmp_path / "state" / "spending.json").read_text()) if row["payer"] == "*"]
    assert (spent["requests"], spent["tokens"]) == (4, 4 * 14)


def test_options_of_the_first_pass_hold_for_the_second(files: Files, endpoints: Endpoints) -> None:
    files.source.write_text(json.dumps({"prompt": "one", "custom_id": "a"}) + "\n")
    options = Options(max_tokens=2, cloud_handoff_threshold=UNSURE)
    with batch_cloud() as cloud, handoff_actor(endpoints, cloud):
        cloud.may_end.set()
        files.first_pass(options=options)
        assert files.second_pass(options=options).num_completed == 1
        assert cloud.questions()[0]["body"]["max_tokens"] == 2


def test_the_command_reports_both_passes(files: Files, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACTUS_ENDPOINT", endpoints.jobs)
    monkeypatch.setenv("CACTUS_STREAM_ENDPOINT", endpoints.stream)
    command = ("batch", str(files.source), "-o", str(files.output), "--second-pass")
    runner = typer.testing.CliRunner()
    with batch_cloud() as cloud, handoff_actor(endpoints, cloud):
        cloud.may_end.set()
        first = runner.invoke(app, command)
        assert first.exit_code == 0
        assert first.stdout.splitlines() == [
            f"{NUM_LINES} of {NUM_LINES} lines done ({files.output})",
            "second pass: the cloud answered 6 lines",
        ]
        assert "prompts.jsonl: second pass: 0 of 6 lines" in first.stderr
        later = runner.invoke(app, [*command, "--json"])
    assert json.loads(later.stdout)["second_pass"] == {
        "model": None,
        "completed": 0,
        "unsure": 0,
        "failed": 0,
        "suppressed": 0,
        "cost": None,
        "currency": None,
    }
