"""The router's records of jobs and workers, built as the router builds them."""

from __future__ import annotations

from cactus_actors.api.params import resolve_options
from cactus_actors.protocol.messages import Accepted
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import CloudRequest
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.local_run import LocalAnswer
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.queue_load import QueueLoad
from cactus_actors.router.state.reservation import Reservation
from cactus_actors.router.state.submission import Submission
from cactus_actors.router.state.token_log import TokenLog
from cactus_actors.router.state.worker import Assignment, WorkerRecord
from tests.support.router.worker_messages import make_hello


def make_job(number: int = 1, *, user: str = "", work: float = 1.0) -> Job:
    """A job of that work without generated tokens."""
    job_id = f"{number:032x}"
    params, policy = resolve_options(Options(seed=1), context_left=64)
    return Job(
        job_id,
        Submission(b"", "m", "", 0.0),
        Reservation(user, 1, QueueLoad(), work),
        PreparedRequest([1], params, policy, CloudRequest(prompt=""), "model"),
        Accepted(job_id=job_id, epoch=1, prompt_tokens=1, seed=1),
        number,
        LocalAnswer(TokenLog()),
        {},
    )


def make_worker(worker_id: str, number: int = 0, num_slots: int = 100) -> WorkerRecord:
    """A worker that has sent its Hello only."""
    return WorkerRecord(worker_id.encode(), make_hello(worker_id, num_slots=num_slots), number, 0.0)


def make_assignment(number: int, work: float = 1.0) -> Assignment:
    """A dispatch of such a job to some worker."""
    return Assignment(number, make_job(number, work=work), make_worker("w1"))
