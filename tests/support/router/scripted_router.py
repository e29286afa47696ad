"""A router with real sockets and no workers: the answer to a job is a function of its prompt and seed.

Tests control it by replacing its methods, and check the messages that it received.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Self

import msgspec
import zmq

from cactus_actors.protocol.cloud_batches import BatchAnswer
from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.errors import InvalidMessage, JobNotFound
from cactus_actors.protocol.exact_integers import seed_of
from cactus_actors.protocol.messages import (
    Accepted,
    AskCloudBatch,
    Cancel,
    ClientMessage,
    CloudBatch,
    Delta,
    DrainNode,
    Fetch,
    Finished,
    JobState,
    Pending,
    Progress,
    Rejected,
    Replay,
    Restarting,
    Resume,
    Scale,
    Scaling,
    Status,
    StatusRequest,
    Submit,
)
from cactus_actors.protocol.results import Result, Usage
from cactus_actors.protocol.service_status import JobCounts
from cactus_actors.protocol.wire import RequestDecoder, encode, encode_published

WHOLE = "hello w1 w2 w3 w4"
"""The answer to the prompt `hello`, unless the router is configured otherwise."""


class ScriptedJob:
    """One job: its whole stream is known from the start, `length` tokens of it have been streamed.

    The first tokens of a stream may be reasoning.
    """

    def __init__(self, submit: Submit, num_tokens: int, num_reasoning_tokens: int = 0) -> None:
        self.submit = submit
        subject = submit.prompt if submit.messages is None else submit.messages[-1].content
        self.texts = [f"{subject}" if index == 0 else f" w{index}" for index in range(num_tokens)]
        self.reasonings = ["hm"] * num_reasoning_tokens + [""] * num_tokens
        self.texts = [""] * num_reasoning_tokens + self.texts
        num_tokens = len(self.texts)
        self.token_ids = [max(0, seed_of(submit.options.seed)) % 1000 + index for index in range(num_tokens)]
        self.length = 0
        self.waiters: list[bytes] = []
        self.finished: Finished | None = None

    def delta(self, index: int) -> Delta:
        return Delta(
            job_id=self.submit.job_id,
            index=index,
            token_ids=[self.token_ids[index]],
            text=self.texts[index],
            reasoning_content=self.reasonings[index],
        )

    def finish(self, **changes: object) -> Finished:
        result = Result(
            text="".join(self.texts[: self.length]),
            token_ids=self.token_ids[: self.length],
            finish_reason="length",
            confidence=0.9,
            usage=Usage(
                prompt_tokens=3,
                completion_tokens=self.length,
                reasoning_tokens=self.reasonings[: self.length].count("hm"),
            ),
            reasoning_content="".join(self.reasonings[: self.length]) or None,
            seed=max(0, seed_of(self.submit.options.seed)),
            model="scripted",
        )
        self.finished = Finished(
            job_id=self.submit.job_id, length=self.length, result=msgspec.structs.replace(result, **changes)
        )
        return self.finished

    @property
    def state(self) -> JobState:
        if self.finished is None:
            return "running"
        return "cancelled" if self.finished.result.finish_reason == "cancelled" else "finished"


class ScriptedRouter:
    """Runs on its own thread inside a `with` block; `step_s` is the time between two tokens.

    While `pauses_at` is a number, a job with that number of tokens gets no further one and does not end.
    """

    def __init__(self, *, num_tokens: int = 5, step_s: float = 0.002) -> None:
        self.num_tokens = num_tokens
        self.num_reasoning_tokens = 0
        self.step_s = step_s
        self.pauses_at: int | None = None
        self.epoch = 1
        self.received: list[ClientMessage] = []
        self.pictures: list[list[bytes]] = []
        """The frames of pictures of each Submit."""
        self.jobs_run: dict[str, ScriptedJob] = {}
        self.batches: dict[str, list[BatchAnswer]] = {}
        """The batches of a cloud by their marks, which have ended at once."""
        self.is_silent = threading.Event()
        self.lost_indices: set[int] = set()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._stop = threading.Event()
        self._forget = threading.Event()
        self._context = zmq.Context()
        self.jobs_socket = self._context.socket(zmq.ROUTER)
        self.stream_socket = self._context.socket(zmq.XPUB)
        for socket in (self.jobs_socket, self.stream_socket):
            socket.linger = 0
            socket.bind("tcp://127.0.0.1:*")
        self.endpoint: str = self.jobs_socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")
        self.stream_endpoint: str = self.stream_socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")
        self._thread = threading.Thread(target=self._run, name="scripted-router", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        self._context.destroy(linger=0)

    def restart(self) -> None:
        """Lose every job and begin a new epoch, like a router that was killed and started again."""
        self._forget.set()
        until(lambda: not self._forget.is_set())

    def received_of(self, kind: type) -> list[ClientMessage]:
        return [message for message in [*self.received] if isinstance(message, kind)]

    def submitted(self) -> list[Submit]:
        """The jobs by their arrival, each once: a client sends a Submit again if its answer is late."""
        return [*{message.job_id: message for message in [*self.received] if isinstance(message, Submit)}.values()]

    # methods that tests replace

    def on_submit(self, identity: bytes, submit: Submit) -> None:
        job = self.jobs_run.get(submit.job_id)
        if job is None:
            job = self.jobs_run[submit.job_id] = ScriptedJob(
                submit,
                min(self.num_tokens, submit.options.max_tokens or self.num_tokens),
                self.num_reasoning_tokens,
            )
            self.after(self.step_s, lambda: self.step(job))
        self.reply(
            identity,
            Accepted(
                job_id=submit.job_id,
                epoch=self.epoch,
                prompt_tokens=3,
                seed=max(0, seed_of(submit.options.seed)),
            ),
        )
        if job.finished is not None:
            self.reply(identity, job.finished)
        else:
            job.waiters.append(identity)

    def step(self, job: ScriptedJob) -> None:
        if job.finished is not None or self.jobs_run.get(job.submit.job_id) is not job:
            return
        if self.pauses_at is not None and job.length >= self.pauses_at:
            self.after(0.005, lambda: self.step(job))
        elif job.length < len(job.texts):
            self.stream_token(job, job.length)
            job.length += 1
            self.after(self.step_s, lambda: self.step(job))
        else:
            self.end(job, job.finish())

    def stream_token(self, job: ScriptedJob, index: int) -> None:
        if index not in self.lost_indices:
            self.publish(job.delta(index))

    def end(self, job: ScriptedJob, finished: Finished) -> None:
        self.publish(finished)
        for identity in job.waiters:
            self.reply(identity, finished)

    def on_resume(self, identity: bytes, resume: Resume) -> None:
        job = self.jobs_run.get(resume.job_id)
        if job is None:
            self.reply_not_found(identity, resume.job_id)
            return
        end = min(job.length, resume.next_index + resume.credit)
        self.reply(
            identity,
            Replay(
                job_id=resume.job_id,
                epoch=self.epoch,
                deltas=[job.delta(index) for index in range(resume.next_index, end)],
                length=job.length,
                finished=job.finished,
            ),
        )

    def on_question(self, identity: bytes, submit: Submit) -> None:
        question = CloudQuestion(
            messages=[{"role": "user", "content": submit.prompt}],
            max_tokens=self.num_tokens,
            temperature=0.0,
            top_p=1.0,
            seed=max(0, seed_of(submit.options.seed)),
        )
        self.reply(identity, Finished(job_id=submit.job_id, length=0, result=Result(cloud_question=question)))

    def on_ask_batch(self, identity: bytes, ask: AskCloudBatch) -> None:
        if ask.questions and ask.mark not in self.batches:
            self.batches[ask.mark] = [
                BatchAnswer(place=asked.place, text=asked.question.messages[0]["content"].upper())
                for asked in ask.questions
            ]
        answers = self.batches.get(ask.mark)
        batch = CloudBatch(mark=ask.mark, state="absent", request_id=ask.request_id)
        if answers is not None:
            batch = CloudBatch(
                mark=ask.mark,
                state="ended",
                batch_id=f"batch-{ask.mark}",
                num_questions=len(answers),
                answers=answers[ask.answers_from or 0 :],
                num_answers=len(answers),
                model="big",
                request_id=ask.request_id,
            )
        self.reply(identity, batch)

    def on_cancel(self, identity: bytes, cancel: Cancel) -> None:
        job = self.jobs_run.get(cancel.job_id)
        if job is None:
            self.reply_not_found(identity, cancel.job_id)
            return
        if job.finished is None:
            self.end(job, job.finish(finish_reason="cancelled"))
        self.reply(identity, Pending(job_id=cancel.job_id, state=job.state, length=job.length))

    # methods that scripts use

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + delay_s, next(self._order), action))

    def reply(self, identity: bytes, message: msgspec.Struct) -> None:
        self.jobs_socket.send_multipart([identity, *encode(message)])

    def reply_not_found(self, identity: bytes, job_id: str) -> None:
        self.reply(identity, Rejected(error=JobNotFound("no such job").info(), job_id=job_id))

    def publish(self, message: Delta | Progress | Finished) -> None:
        if not self.is_silent.is_set():
            self.stream_socket.send_multipart(encode_published(message.job_id, message))

    def _run(self) -> None:
        decoder = RequestDecoder()
        poller = zmq.Poller()
        poller.register(self.jobs_socket, zmq.POLLIN)
        poller.register(self.stream_socket, zmq.POLLIN)
        while not self._stop.is_set():
            wait_s = min(0.02, self._due[0][0] - time.monotonic()) if self._due else 0.02
            ready = dict(poller.poll(round(max(0, wait_s) * 1000)))
            if self._forget.is_set():
                self.jobs_run.clear()
                self._due.clear()
                self.epoch += 1
                self._forget.clear()
            if self.stream_socket in ready:
                self.stream_socket.recv()
            while self.jobs_socket in ready:
                try:
                    identity, *frames = self.jobs_socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                with contextlib.suppress(InvalidMessage):
                    message, pictures = decoder.decode(frames)
                    if isinstance(message, Submit):
                        self.pictures.append(list(pictures))
                    self._on_message(identity, message)
            while self._due and self._due[0][0] <= time.monotonic():
                heapq.heappop(self._due)[2]()

    def _on_message(self, identity: bytes, message: ClientMessage) -> None:
        self.received.append(message)
        if self.is_silent.is_set():
            return
        match message:
            case Submit(task="cloud_question"):
                self.on_question(identity, message)
            case Submit():
                self.on_submit(identity, message)
            case AskCloudBatch():
                self.on_ask_batch(identity, message)
            case Cancel():
                self.on_cancel(identity, message)
            case Resume():
                self.on_resume(identity, message)
            case Fetch():
                job = self.jobs_run.get(message.job_id)
                if job is None:
                    self.reply_not_found(identity, message.job_id)
                elif job.finished is not None:
                    self.reply(identity, job.finished)
                else:
                    job.waiters.append(identity)
            case StatusRequest():
                self.reply(identity, self.status(message.request_id))
            case Scale(num_workers=int(count)):
                self.reply(identity, Scaling(num_workers=count, request_id=message.request_id))
            case DrainNode():
                self.reply(identity, Restarting(num_workers=0 if message.keep else 2, request_id=message.request_id))

    def status(self, request_id: str) -> Status:
        ended = sum(job.finished is not None for job in self.jobs_run.values())
        return Status(
            request_id=request_id,
            version="scripted",
            epoch=self.epoch,
            uptime_s=1.0,
            model="scripted",
            max_context=256,
            vocab_size=1000,
            draining=False,
            desired_workers=1,
            jobs=JobCounts(accepted=len(self.jobs_run), running=len(self.jobs_run) - ended, finished=ended),
            workers=[],
        )


def until(condition: Callable[[], bool], deadline_s: float = 60.0) -> None:
    """Return as soon as `condition` holds; fail after the deadline."""
    give_up_at, pause_s = time.monotonic() + deadline_s, 0.002
    while not condition():
        assert time.monotonic() < give_up_at, "deadline passed"
        time.sleep(pause_s)
        pause_s = min(1.2 * pause_s, 0.02)
