"""The router's record of one worker and of its dispatches."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.process.node_id import place_of
from cactus_actors.protocol.service_status import WorkerStatus
from cactus_actors.protocol.worker_messages import Hello, Report
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker_link import InFlight, WorkerLink


@dataclass(slots=True, eq=False)
class Assignment:
    """A dispatch that is running, or on its way, at a worker; a suspect runs alone there."""

    dispatch_id: int
    job: Job
    worker: WorkerRecord
    is_suspect: bool = False

    @property
    def is_cloud(self) -> bool:
        return self.worker.hello.kind == "cloud"


class WorkerRecord:
    """One connected worker; `number` counts connections of workers. Only the worker table changes the record."""

    def __init__(self, identity: bytes, hello: Hello, number: int, now: float) -> None:
        self.identity = identity
        self.hello = hello
        self.worker_id = hello.worker_id
        self.is_local = hello.kind == "local"
        self.number = number
        self.report = Report(0, hello.num_slots, hello.num_blocks, 0, [])  # the last one
        self.link = WorkerLink(now)
        self.in_flight = InFlight()
        self.assignments: dict[int, Assignment] = {}
        self.num_suspects = 0
        self.is_draining = False
        self.is_reserved = False

    @property
    def place(self) -> str:
        """The node that it runs on."""
        return place_of(self.hello.node, self.hello.node_id)

    @property
    def is_open(self) -> bool:
        """True if it takes jobs that do not run alone."""
        return self.is_local and not (self.is_draining or self.is_reserved or self.num_suspects)

    @property
    def free_slots(self) -> int:
        """Reported free slots minus dispatches in flight, at most the slots without an assignment."""
        report, in_flight = self.report, self.in_flight
        num_free = report.free_slots + in_flight.num_preempted - max(0, in_flight.num_sent - report.num_accepted)
        return min(num_free, self.hello.num_slots - len(self.assignments))

    @property
    def num_not_running(self) -> int:
        """Assignments that wait for something: on their way, or for a slot or blocks at the worker."""
        return len(self.assignments) - self.report.num_running

    @property
    def free_blocks(self) -> int:
        return self.report.free_blocks + self.in_flight.num_preempted_blocks - self.in_flight.num_sent_blocks

    def num_blocks_of(self, job: Job) -> int:
        """Cache blocks for the tokens that a job must compute, and for its next token."""
        block_size = self.hello.block_size
        return job.num_tokens_to_compute // block_size + 1 if block_size > 0 else 0

    def status(self, now: float) -> WorkerStatus:
        hello, report = self.hello, self.report
        return WorkerStatus(
            worker_id=hello.worker_id,
            kind=hello.kind,
            node=hello.node,
            pid=hello.pid,
            threads=hello.threads,
            kernels=hello.kernels,
            weights=hello.weights,
            state="draining" if self.is_draining else "ready",
            num_slots=hello.num_slots,
            free_slots=max(0, self.free_slots),
            num_blocks=hello.num_blocks,
            free_blocks=max(0, self.free_blocks),
            num_running=report.num_running,
            last_seen_s=max(0.0, now - self.link.last_seen),
            tokens_generated=report.tokens_generated,
            prompt_tokens_computed=report.prompt_tokens_computed,
            cached_prompt_tokens=report.cached_prompt_tokens,
            preemptions=report.preemptions,
            step_seconds=report.step_seconds,
            kernel_seconds=report.kernel_seconds,
            draft_tokens=report.draft_tokens,
            accepted_draft_tokens=report.accepted_draft_tokens,
            queried_prompt_tokens=report.queried_prompt_tokens,
            ram_usage_mb=report.ram_usage_mb,
            unavailable=report.unavailable,
            breaker=report.breaker,
            spent=report.spent or [],
            block_bytes=hello.block_bytes,
            num_states=hello.num_states,
            state_bytes=hello.state_bytes,
            audits=report.audits,
            model=hello.served_as,
            encoded_pictures=report.encoded_pictures,
            cached_pictures=report.cached_pictures,
            node_id=hello.node_id,
        )


@dataclass(frozen=True, slots=True)
class WorkerRefusal:
    """The last refusal of a worker: its reason and its time."""

    reason: str
    at: float
