"""What the router knows of one worker, and of what it gave it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from cactus_actors.protocol.messages import WorkerStatus
from cactus_actors.protocol.worker_messages import Hello, Report, ReportsTaken
from cactus_actors.router.state.job import Job

MIN_UNACKNOWLEDGED, UNACKNOWLEDGED_S = 4, 2.0
"""Reports in a row, and the seconds since the one before them, after which a worker counts as silent that
has heard nothing of what it was sent."""


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


@dataclass(slots=True, eq=False)
class WorkerRecord:
    """One connected worker; `num_sent` and the report's `num_accepted` both count since its Hello.

    What was taken back since its last report is vacated: it frees that before it reads what is sent next.
    `number` tells who connected first. Of its `num_reports` it was told that `num_reports_told` were taken.
    The last `num_unacknowledged_reports` show nothing of what was sent to it; the one before came at `acknowledged_at`.
    Only the ledger changes the rest.
    """

    identity: bytes
    hello: Hello
    last_seen: float
    report: Report
    number: int = 0
    excused_s: float = 0.0
    num_sent: int = 0
    is_draining: bool = False
    is_reserved: bool = False
    num_suspects: int = 0
    assignments: dict[int, Assignment] = field(default_factory=dict)
    unaccepted_blocks: deque[int] = field(default_factory=deque)
    num_unaccepted_blocks: int = 0
    preempted_slots: int = 0
    preempted_blocks: int = 0
    num_reports: int = 0
    num_reports_told: int = 0
    num_unacknowledged_reports: int = 0
    acknowledged_at: float = 0.0

    def silent_s(self, now: float) -> float:
        """How long nothing was heard of it, less what it is excused for."""
        return now - self.last_seen - self.excused_s

    @property
    def worker_id(self) -> str:
        return self.hello.worker_id

    @property
    def is_local(self) -> bool:
        return self.hello.kind == "local"

    @property
    def is_open(self) -> bool:
        """Whether it takes jobs that do not run alone."""
        return self.is_local and not (self.is_draining or self.is_reserved or self.num_suspects)

    @property
    def free_slots(self) -> int:
        """Reported free slots less what is on its way, and never more than what is not assigned."""
        on_its_way = max(0, self.num_sent - self.report.num_accepted)
        num_reported = self.report.free_slots + self.preempted_slots - on_its_way
        return min(num_reported, self.hello.num_slots - len(self.assignments))

    @property
    def num_not_running(self) -> int:
        """Assignments that wait for something: on their way, or for a slot or blocks at the worker."""
        return len(self.assignments) - self.report.num_running

    @property
    def free_blocks(self) -> int:
        return self.report.free_blocks + self.preempted_blocks - self.num_unaccepted_blocks

    def num_blocks_of(self, job: Job) -> int:
        """Cache blocks for what a job must compute and its next token."""
        block_size = self.hello.block_size
        return job.num_tokens_to_compute // block_size + 1 if block_size > 0 else 0

    def taken(self, max_ahead: int) -> ReportsTaken | None:
        """What it is to be told now of its reports, where it sends at most so many ahead; None if nothing."""
        max_ahead = min(max_ahead, self.hello.max_reports_ahead)
        if max_ahead <= 0 or 2 * (self.num_reports - self.num_reports_told) < max_ahead:
            return None
        self.num_reports_told = self.num_reports
        return ReportsTaken(self.num_reports, max_ahead)

    def has_heard_router(self, report: Report, now: float) -> bool:
        """Whether what the router says arrives there, as far as a report tells that comes after the last one.

        A worker that goes on reporting and has heard nothing of what is on its way for long is cut off in
        one direction. A few reports may have been on their way, too.
        """
        last = self.report
        num_taken = self.num_reports_told if report.num_taken is None else report.num_taken
        has_heard_all = report.num_accepted >= self.num_sent and num_taken >= self.num_reports_told
        if has_heard_all or report.num_accepted > last.num_accepted or num_taken > (last.num_taken or 0):
            self.num_unacknowledged_reports, self.acknowledged_at = 0, now
        else:
            self.num_unacknowledged_reports += 1
        return self.num_unacknowledged_reports < MIN_UNACKNOWLEDGED or now - self.acknowledged_at < UNACKNOWLEDGED_S

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
            last_seen_s=max(0.0, now - self.last_seen),
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
        )


@dataclass(frozen=True, slots=True)
class WorkerRefusal:
    """Why a worker was refused last, and when."""

    reason: str
    at: float
