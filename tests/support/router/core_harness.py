"""A RouterCore with a hand-driven clock, and builders for what it hears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.confidence import Probe
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Delta, Finished, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.wire import decode_submit
from cactus_actors.protocol.worker_messages import (
    Abort,
    Dispatch,
    Finish,
    Goodbye,
    Hello,
    Report,
    SequenceDelta,
    SequenceExtras,
)
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import (
    Effect,
    LoadResult,
    LogWarning,
    PrepareRequest,
    Publish,
    ReportJob,
    SendClient,
    SendWorker,
    WriteJournal,
)
from cactus_actors.router.journal.job_journal import end_of
from cactus_actors.router.journal.record_encoding import decoded_accepted, encoded
from cactus_actors.router.preparation.documents import Find, no_documents, prepare_with_documents
from cactus_actors.router.router_state import LOAD_LIMITS, RouterOptions
from cactus_actors.router.state.caller import ANONYMOUS, Caller
from cactus_actors.router.state.deferred_messages import DeferralLimits
from cactus_actors.router.state.ended_jobs import MAX_ENDED_JOBS
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    EndedRecord,
    Recovered,
    StoredResult,
    WriteAccepted,
    WriteEnded,
)
from cactus_actors.router.state.service_facts import ServiceFacts
from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.text.model_reasoning import ModelReasoning

CLIENT = b"client"
SURE, UNSURE = 0.1, 0.9  # normalised entropies


class LetterTokenizer:
    """One token a character; `<s>` is a start token."""

    vocab_size = 128
    bos_id: int | None = 1

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]:
        return [1] * add_special + [min(ord(letter), 127) for letter in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(token_id) for token_id in ids if token_id > 1)

    def token_bytes(self, token_id: int) -> bytes:
        return b"" if token_id <= 1 else bytes([token_id])

    def token_of(self, token_id: int) -> str | None:
        return "<s>" if token_id == 1 else chr(token_id)

    def id_of(self, token: str) -> int | None:
        return 1 if token == "<s>" else None

    def is_special(self, token_id: int) -> bool:
        return token_id <= 1


class LetterModel:
    """The text side of a model without files; `tools` and `reasoning` stand in front of its prompts."""

    name = "letters"
    fingerprint = ""
    max_context = 4096
    has_chat_template = True
    tool_markup: str | None = "hermes"
    tool_tokens: tuple[tuple[int, str], ...] = ()
    fill_tokens: tuple[int, int, int] | None = (2, 3, 4)
    reasoning: ModelReasoning | None = None

    def __init__(self) -> None:
        self.tokenizer = LetterTokenizer()

    def chat_prompt(
        self,
        messages: Sequence[Any],
        tools: Sequence[Any] | None = None,
        *,
        answer_begins: str = "",
        answer_reasoning: str = "",
        thinking: bool | None = None,
        needs_switch: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> ChatPrompt:
        names = [f"[{tool['function']['name']}]" for tool in tools or ()]
        turns = "|".join(message.get("content") or "" for message in messages)
        text = "".join([*names, "[reason]" * bool(thinking), turns, ">" * bool(answer_begins), answer_begins])
        return ChatPrompt(self.tokenizer.encode(text, add_special=True), "answer" if answer_begins else "undecided")


def job_id(number: int) -> str:
    return f"{number:032x}"


def make_hello(
    worker_id: str = "w1",
    *,
    kind: str = "local",
    num_slots: int = 2,
    num_blocks: int = 64,
    model: str = "letters",
    **more: Any,
) -> Hello:
    return Hello(
        worker_id=worker_id,
        kind=kind,  # type: ignore[arg-type]
        model=model,
        num_slots=num_slots,
        num_blocks=num_blocks if kind == "local" else 0,
        block_size=16 if kind == "local" else 0,
        max_context=4096,
        node="here",
        pid=1,
        **more,
    )


def make_delta(
    dispatch_id: int,
    position: int,
    text: str,
    *,
    entropy: float | None = SURE,
    finish: Finish | None = None,
    token_ids: list[int] | None = None,
    cuts: tuple[int, ...] = (),
    extras: SequenceExtras | None = None,
) -> SequenceDelta:
    """One token a character, unless `token_ids` are given."""
    token_ids = [ord(letter) for letter in text] if token_ids is None else token_ids
    measured = [] if entropy is None else [entropy] * len(token_ids)
    return SequenceDelta(
        dispatch_id=dispatch_id,
        position=position,
        token_ids=token_ids,
        text=text,
        entropies=measured,
        logprobs=[-value for value in measured],
        finish=finish,
        cuts=list(cuts),
        extras=extras,
    )


@dataclass
class Worker:
    """What the other end of the worker socket knows."""

    identity: bytes
    hello: Hello
    dispatches: dict[int, Dispatch] = field(default_factory=dict)
    aborted: list[int] = field(default_factory=list)
    num_accepted: int = 0
    cached: dict[int, None] = field(default_factory=dict)

    def report(self, *deltas: SequenceDelta, unavailable: str | None = None) -> Report:
        stored = list(dict.fromkeys(block for delta in deltas for block in self.newly_cached(delta)))
        self.cached.update(dict.fromkeys(stored))
        for delta in deltas:
            if delta.finish is not None:
                self.dispatches.pop(delta.dispatch_id, None)
        free = max(0, self.hello.num_slots - len(self.dispatches))
        return Report(
            num_accepted=self.num_accepted,
            free_slots=free,
            free_blocks=self.hello.num_blocks,
            num_running=min(len(self.dispatches), self.hello.num_slots),
            deltas=list(deltas),
            unavailable=unavailable,
            stored=stored,
        )

    def newly_cached(self, delta: SequenceDelta) -> list[int]:
        """The full blocks that are computed when these tokens are known."""
        dispatch = self.dispatches.get(delta.dispatch_id)
        if dispatch is None or not dispatch.params.cache_prompt:
            return []
        known = [*dispatch.prompt_ids, *dispatch.emitted_ids[: delta.position], *delta.token_ids]
        hashes = block_hashes(known[:-1], dispatch.cache_salt)
        return [block for block in hashes if block not in self.cached]


@dataclass
class Disk:
    """A journal that writes when it is told to; entries that wait are lost with the router."""

    waiting: list[Any] = field(default_factory=list)
    accepted: dict[str, AcceptedRecord] = field(default_factory=dict)
    ended: dict[str, EndedRecord] = field(default_factory=dict)

    def write(self) -> list[str]:
        """Write what waits; the ids of the jobs that were accepted by it."""
        entries, self.waiting = self.waiting, []
        for entry in entries:
            match entry:
                case WriteAccepted(job_id, record):
                    self.accepted[job_id] = decoded_accepted(encoded(record))
                case WriteEnded(job_id, record) if job_id not in self.accepted:
                    pass  # there is no such row
                case WriteEnded(job_id, record):
                    self.ended[job_id] = record
                case _:
                    self.accepted.pop(entry.job_id, None)
                    self.ended.pop(entry.job_id, None)
        return [entry.job_id for entry in entries if isinstance(entry, WriteAccepted)]

    def refuse(self) -> list[str]:
        entries, self.waiting = self.waiting, []
        return [entry.job_id for entry in entries if isinstance(entry, WriteAccepted)]

    def recovered(self) -> list[Recovered]:
        """What a new router finds, once this one is dead."""
        self.waiting.clear()
        return [
            end_of(record, self.ended[job_id]) if job_id in self.ended else record
            for job_id, record in self.accepted.items()
        ]

    def read(self, job_id: str) -> StoredResult | None:
        ended = self.ended.get(job_id)
        return None if ended is None else StoredResult(self.accepted[job_id].accepted, ended)


class RouterHarness:
    """Feeds a core and sorts its effects: what each worker holds, what clients got, what was published."""

    def __init__(
        self,
        *,
        disk: Disk | None = None,
        unix_offset: float = 1_000_000.0,
        probe: Probe | None = None,
        find: Find = no_documents,
        fingerprint: str = "",
        load_limits: DeferralLimits = LOAD_LIMITS,
        max_ended_jobs: int = MAX_ENDED_JOBS,
        **settings: Any,
    ) -> None:
        self.now = 100.0
        self.disk = disk
        self.model = LetterModel()
        self._find = find
        self.core = RouterCore(
            RouterSettings(**settings),
            ServiceFacts(epoch=7, started_at=self.now, fingerprint=fingerprint),
            RouterOptions(
                unix_offset=None if disk is None else unix_offset,
                tokens=self.model.tokenizer,
                probe=probe,
                load_limits=load_limits,
                max_ended_jobs=max_ended_jobs,
            ),
        )
        self.workers: dict[bytes, Worker] = {}
        self.replies: list[tuple[bytes, Any]] = []
        self.published: list[Any] = []
        self.recalled: list[str] = []
        self.reports: list[JobReport] = []
        self.warnings: list[str] = []
        self.num_dispatches = {"local": 0, "cloud": 0}
        self._num_workers = 0
        if disk is not None:
            self._take(self.core.recover(disk.recovered(), self.now))

    # what happens outside

    def connect(self, worker_id: str = "w1", **hello: Any) -> Worker:
        self._num_workers += 1
        worker = Worker(f"identity-{self._num_workers}".encode(), make_hello(worker_id, **hello))
        self.workers = {
            identity: other for identity, other in self.workers.items() if other.hello.worker_id != worker_id
        }
        self.workers[worker.identity] = worker
        self._take(self.core.on_worker(worker.identity, worker.hello, self.now))
        return worker

    def client(self, message: Any, identity: bytes = CLIENT, caller: Caller = ANONYMOUS) -> list[Any]:
        """Send a client's message; returns the replies that it caused to that client."""
        before = len(self.replies)
        self._take(self.core.on_client(identity, message, "m", self.now, caller))
        return [reply for receiver, reply in self.replies[before:] if receiver == identity]

    def submit(self, number: int, prompt: Any = "hello", identity: bytes = CLIENT, **options: Any) -> Any:
        options.setdefault("seed", 3)
        [first, *_] = self.client(Submit(job_id=job_id(number), prompt=prompt, options=Options(**options)), identity)
        return first

    def report(self, worker: Worker, *deltas: SequenceDelta, unavailable: str | None = None) -> None:
        self.say(worker, worker.report(*deltas, unavailable=unavailable))

    def say(self, worker: Worker, message: Any) -> None:
        if isinstance(message, Goodbye):
            del self.workers[worker.identity]
        self._take(self.core.on_worker(worker.identity, message, self.now))

    def generate(
        self,
        number: int,
        text: str,
        *,
        entropy: float | None = SURE,
        finish: Finish | None = None,
        kind: str = "local",
        extras: SequenceExtras | None = None,
    ) -> None:
        """The worker that runs this job reports `text`, continuing where the dispatch's tokens end."""
        worker, dispatch = self.running(number, kind)
        position = len(dispatch.emitted_ids)
        token_ids = [0] if kind == "cloud" and text else None
        delta = make_delta(
            dispatch.dispatch_id,
            position,
            text,
            entropy=entropy,
            finish=finish,
            token_ids=token_ids,
            extras=extras,
        )
        if dispatch.dispatch_id in worker.dispatches:
            emitted = dispatch.emitted_ids + delta.token_ids
            worker.dispatches[dispatch.dispatch_id] = msgspec.structs.replace(dispatch, emitted_ids=emitted)
        self.report(worker, delta)

    def subscribe(self, number: int) -> None:
        is_taken, effects = self.core.on_subscribed(job_id(number), self.now)
        assert is_taken
        self._take(effects)

    def pass_time(self, seconds: float) -> None:
        """Let time pass in ticks, with every worker alive and idle."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 0.5)
            for worker in list(self.workers.values()):
                self.report(worker)
            self.tick()

    def tick(self) -> None:
        self._take(self.core.on_tick(self.now))

    def pass_silence(self, seconds: float) -> None:
        """Let time pass while no worker says anything."""
        self.now += seconds
        self.tick()

    def lose(self, worker: Worker) -> None:
        """A worker's process dies, and the supervisor says so."""
        del self.workers[worker.identity]
        self._take(self.core.on_worker_lost(worker.hello.worker_id, self.now))

    def write_to_disk(self) -> None:
        """The journal has written all that it was given."""
        assert self.disk is not None
        ended = [entry.job_id for entry in self.disk.waiting if isinstance(entry, WriteEnded)]
        self._take(self.core.on_journaled(self.disk.write(), self.now))
        self.core.on_results_written(ended)

    def fail_to_write(self, reason: str) -> None:
        assert self.disk is not None
        self._take(self.core.on_journal_failed(self.disk.refuse(), reason))

    def stop(self, *, leaves_jobs: bool = False) -> None:
        self._take(self.core.on_stop(self.now, leaves_jobs=leaves_jobs))

    # what is seen

    def running(self, number: int, kind: str = "local") -> tuple[Worker, Dispatch]:
        [found] = [
            (worker, dispatch)
            for worker in self.workers.values()
            for dispatch in worker.dispatches.values()
            if dispatch.job_id == job_id(number) and worker.hello.kind == kind
        ]
        return found

    def is_running(self, number: int, kind: str = "local") -> bool:
        return any(
            dispatch.job_id == job_id(number)
            for worker in self.workers.values()
            if worker.hello.kind == kind
            for dispatch in worker.dispatches.values()
        )

    def finished(self, number: int, identity: bytes = CLIENT) -> list[Finished]:
        return [
            reply
            for receiver, reply in self.replies
            if receiver == identity and isinstance(reply, Finished) and reply.job_id == job_id(number)
        ]

    def result(self, number: int) -> Result:
        [finished] = self.finished(number)
        return finished.result

    def deltas(self, number: int) -> list[Delta]:
        return [
            message for message in self.published if isinstance(message, Delta) and message.job_id == job_id(number)
        ]

    def streamed_text(self, number: int) -> str:
        """The published text; fails on a gap or a repeat."""
        deltas = self.deltas(number)
        expected = 0
        for delta in deltas:
            assert delta.index == expected
            expected += len(delta.token_ids)
        return "".join(delta.text for delta in deltas)

    def _take(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendClient(identity, message, _):
                    self.replies.append((identity, message))
                case Publish(_, message, _):
                    self.published.append(message)
                case SendWorker(identity, message):
                    self._deliver(identity, message)
                case PrepareRequest(job_id, content, sources):
                    outcome = self._outcome(decode_submit(content), sources)
                    self._take(self.core.on_prepared(job_id, outcome, self.now))
                case WriteJournal(entry):
                    assert self.disk is not None
                    self.disk.waiting.append(entry)
                case LoadResult(job_id):
                    self._recall(job_id)
                case ReportJob(report):
                    self.reports.append(report)
                case LogWarning(text):
                    self.warnings.append(text)

    def _recall(self, job_id: str) -> None:
        assert self.disk is not None
        self.recalled.append(job_id)
        self._take(self.core.on_result_loaded(job_id, self.disk.read(job_id), self.now))

    def _outcome(self, submit: Submit, sources: Any) -> Any:
        try:
            return prepare_with_documents(submit, sources, self.model, self._find)
        except CactusError as error:
            return error

    def _deliver(self, identity: bytes, message: Any) -> None:
        if isinstance(message, Dispatch):
            self.num_dispatches["local" if message.request is None else "cloud"] += 1
        worker = self.workers.get(identity)
        if worker is None:
            return
        if isinstance(message, Dispatch):
            assert message.dispatch_id not in worker.dispatches
            worker.dispatches[message.dispatch_id] = message
            worker.num_accepted += 1
        elif isinstance(message, Abort):
            worker.dispatches.pop(message.dispatch_id, None)
            worker.aborted.append(message.dispatch_id)
