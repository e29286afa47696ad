"""Random events in a cascade of three models and a cloud: each job ends once, with the answer of one model."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from cactus_actors.config_models import CascadeSettings, CascadeTier
from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.protocol.messages import Accepted, Cancel, Delta, Finished, Scale, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Draining, Finish, Goodbye
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.walk import check_that_nobody_gives_way, walk
from tests.support.router.worker_messages import SURE, UNSURE, Worker, make_delta

NUM_WALKS, NUM_EVENTS = 6, 250
MAX_TOKENS = 12
ALPHABETS = {"small": "abcdefghij", "middle": "ABCDEFGHIJ", "large": "0123456789"}
FAILED = Finish("error", error=ModelFailure("no").info())
EVENTS = {
    "submit": 10,
    "generate": 40,
    "answer_from_the_cloud": 10,
    "wait": 8,
    "connect": 6,
    "lose": 3,
    "cancel": 2,
    "skip": 1,
    "fail_to_load": 4,
    "scale": 2,
}


def text_of(model: str, position: int, count: int) -> str:
    """The output of a model: the letter encodes model and position."""
    return "".join(ALPHABETS[model][place % 10] for place in range(position, position + count))


class CascadeWalk:
    """Clients, operators, workers of three models, a cloud and the supervisor act at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        tiers = [CascadeTier(model=name, threshold=self.random.choice([0.5, 0.5, 0.0])) for name in ALPHABETS]
        if self.rarely(3):
            tiers.append(CascadeTier(model="cloud"))
        models = (
            ServedModel(name="small"),
            ServedModel(name="middle", unload_after_s=5.0),
            ServedModel(name="large", unload_after_s=5.0, begins_unloaded=True),
        )
        cascade = CascadeSettings(tiers=tiers)
        self.router = RouterHarness(models=models, cascade=cascade, commit_tokens=2, max_handoff_wait_s=20.0)
        self.num_submitted = self.num_workers = self.num_heard = 0
        self.accepted: dict[int, str] = {}
        self.streams: dict[int, str] = {}

    def rarely(self, times: int) -> bool:
        return self.random.randrange(times) == 0

    def busy(self, kind: str) -> list[tuple[Worker, Any]]:
        workers = [worker for worker in self.router.workers.values() if worker.hello.kind == kind]
        return [(worker, dispatch) for worker in workers for dispatch in worker.dispatches.values()]

    def act(self) -> None:
        [name] = self.random.choices(list(EVENTS), list(EVENTS.values()))
        getattr(self, name)()

    def submit(self) -> None:
        if self.router.core.num_queued > 8:
            return
        self.num_submitted += 1
        number = self.num_submitted
        if self.rarely(2):
            self.streams[number] = ""
            self.router.subscribe(number)
        options = Options(
            seed=3,
            max_tokens=MAX_TOKENS,
            allow_cloud=not self.rarely(5),
            priority=self.random.randrange(2),
            user=self.random.choice("abc"),
            timeout_ms=5000 if self.rarely(5) else None,
        )
        model = self.random.choice(list(ALPHABETS)) if self.rarely(5) else "cascade"
        message = Submit(job_id=job_id(number), prompt="question", model=model, options=options)
        if any(isinstance(reply, Accepted) for reply in self.router.client(message)):
            self.accepted[number] = model

    def connect(self, model: str | None = None) -> None:
        if model is None and len(self.router.workers) > 5:
            return
        model = model or self.random.choice([*ALPHABETS, "cloud"])
        kind, served_as = ("cloud", "") if model == "cloud" else ("local", model)
        self.num_workers += 1
        num_slots = self.random.randint(1, 3)
        self.router.connect(f"w{self.num_workers}", kind=kind, served_as=served_as, num_slots=num_slots)

    def lose(self) -> None:
        if not self.router.workers:
            return
        worker = self.random.choice(list(self.router.workers.values()))
        match self.random.choice(["lost", "goodbye", "draining", "hello"]):
            case "lost":
                self.router.lose(worker)
            case "goodbye":
                self.router.say(worker, Goodbye())
            case "draining":
                self.router.say(worker, Draining())
            case _:
                hello = worker.hello
                self.router.connect(hello.worker_id, kind=hello.kind, served_as=hello.served_as)

    def fail_to_load(self) -> None:
        self.router.fail_to_load(self.random.choice(list(ALPHABETS)), "the file is truncated")

    def scale(self) -> None:
        num_workers = 0 if self.rarely(3) else 1
        model = self.random.choice(list(ALPHABETS))
        self.router.client(Scale(num_workers=num_workers, model=model, request_id="r"), b"operator")

    def generate(self) -> None:
        if not (busy := self.busy("local")):
            return
        worker, dispatch = self.random.choice(busy)
        position = len(dispatch.emitted_ids)
        count = min(self.random.randint(0, 4), MAX_TOKENS - position)
        finish = Finish("length") if position + count >= MAX_TOKENS else None
        if self.rarely(4):
            finish = FAILED if self.rarely(3) else Finish("stop")
        text = text_of(worker.hello.served_as, position, count)
        entropy = self.random.choice([SURE, UNSURE])
        self.router.generate(int(dispatch.job_id, 16), text, entropy=entropy, finish=finish)

    def skip(self) -> None:
        """A worker whose positions are wrong."""
        if busy := self.busy("local"):
            worker, dispatch = self.random.choice(busy)
            self.router.report(worker, make_delta(dispatch.dispatch_id, len(dispatch.emitted_ids) + 2, "??"))

    def answer_from_the_cloud(self) -> None:
        if not (busy := self.busy("cloud")):
            return
        worker, dispatch = self.random.choice(busy)
        number, position = int(dispatch.job_id, 16), len(dispatch.emitted_ids)
        outcome = self.random.choice(["chunk", "end", "fail"] if position else ["chunk", "end", "fail", "refuse"])
        if outcome in ("fail", "refuse"):
            error = ModelFailure("the cloud: no").info()
            finish = Finish("error", error=error, is_refused=outcome == "refuse")
            self.router.report(worker, make_delta(dispatch.dispatch_id, position, "", token_ids=[], finish=finish))
        else:
            ending = Finish("stop", provider="p") if outcome == "end" else None
            self.router.generate(number, "$", kind="cloud", finish=ending)

    def cancel(self) -> None:
        if self.num_submitted:
            number = self.random.randint(1, self.num_submitted)
            self.router.client(Cancel(job_id=job_id(number)), b"other")

    def wait(self) -> None:
        self.router.pass_time(61.0 if self.rarely(8) else 1.0)

    def end(self) -> None:
        """Let every job end."""
        for model in ALPHABETS:
            self.router.client(Scale(num_workers=1, model=model, request_id="r"), b"operator")
            self.connect(model)
        while self.router.core.num_unfinished:
            num_unfinished = self.router.core.num_unfinished
            self.router.tick()
            for worker, dispatch in (*self.busy("local"), *self.busy("cloud")):
                if dispatch.dispatch_id not in worker.dispatches:
                    continue  # it ended with another one
                number, position = int(dispatch.job_id, 16), len(dispatch.emitted_ids)
                if worker.hello.kind == "cloud":
                    self.router.generate(number, "$", kind="cloud", finish=Finish("stop", provider="p"))
                else:
                    text = text_of(worker.hello.served_as, position, MAX_TOKENS - position)
                    self.router.generate(number, text, finish=Finish("length"))
            assert self.router.core.num_unfinished < num_unfinished, "the others wait for nothing"

    def check(self) -> None:
        self.check_counts()
        self.check_streams()
        walk(self.router.core, self.router.now)
        self.router.tick()
        walk(self.router.core, self.router.now)
        check_that_nobody_gives_way(self.router.core)

    def check_counts(self) -> None:
        """Each job runs at most once here and once at the cloud, and ends once."""
        status = self.router.core.status(self.router.now, with_totals=True)
        assert status.totals is not None
        counts = status.jobs
        ended = counts.finished + counts.failed + counts.cancelled
        assert counts.accepted == len(self.accepted) == counts.queued + counts.running + ended
        finished = [reply for _, reply in self.router.replies if isinstance(reply, Finished)]
        assert len({reply.job_id for reply in finished}) == len(finished) == ended
        over = sum(status.totals.attempts.values()) + sum(status.totals.cloud_attempts.values())
        assert status.held.dispatches == sum(self.router.num_dispatches.values()) - over
        for kind in ("local", "cloud"):
            running = [dispatch.job_id for _, dispatch in self.busy(kind)]
            assert len(running) == len(set(running))

    def check_streams(self) -> None:
        """A stream only grows, and is the text of the result."""
        for message in self.router.published[self.num_heard :]:
            if isinstance(message, Delta):
                number = int(message.job_id, 16)
                assert message.index == len(self.streams[number])
                self.streams[number] += message.text
        self.num_heard = len(self.router.published)
        for number, text in self.streams.items():
            for finished in self.router.finished(number):
                assert finished.result.text == text

    def outcomes(self) -> Counter[str]:
        """Check each answer against the last model of its path; returns what happened, and how often."""
        happened: Counter[str] = Counter()
        for number, model in self.accepted.items():
            result = self.router.result(number)
            asked = [model]
            if model == "cascade":
                assert isinstance(result.handoff.path, list)
                asked = [tier.model for tier in result.handoff.path]
                happened[f"{len(asked)} models"] += 1
                happened["returned"] += asked[-1] in asked[:-1]
                happened["failed"] += any(tier.error for tier in result.handoff.path)
                happened["cloud"] += result.cloud_handoff
            if "$" not in result.text:
                assert result.text == text_of(asked[-1], 0, len(result.text))
            assert set(result.text) <= {"$"} or "$" not in result.text
        return happened


@pytest.mark.parametrize("seed", range(NUM_WALKS))
def test_random_events(seed: int) -> None:
    cascade = CascadeWalk(seed)
    for model in ("small", "middle", "cloud"):
        cascade.connect(model)
    for _ in range(NUM_EVENTS):
        cascade.act()
        cascade.check()
    cascade.end()
    cascade.check()
    happened = cascade.outcomes()
    assert happened["2 models"] + happened["3 models"] + happened["4 models"], happened
    assert happened["failed"], happened
