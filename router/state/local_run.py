"""The local run of a job: its dispatches, and the answer that local workers generated so far."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.results import FinishReason
from cactus_actors.router.state.token_log import TokenLog

SUSPECT_AFTER = 2


class JobEnding(msgspec.Struct, frozen=True, gc=False):
    """The end of a job, or of one source of its tokens; the reason `error` comes with an `error`."""

    reason: FinishReason
    stop_match: str | int | None = None
    error: ErrorInfo | None = None


class Attempts(msgspec.Struct, eq=False, gc=False):
    """The dispatches of a job: the current one (`dispatch_id` is None without one), and how the others ended.

    `num_started` counts them, as `attempts` of the result; `started_at` is the time of the first one. `worker` is the
    last worker that was given the job, or the cloud worker that completed it. A job that is a retry lost its worker;
    it began among `num_together`, itself included.
    """

    num_started: int = 0
    dispatch_id: int | None = None
    started_at: float | None = None
    worker: str = ""
    lost_workers: list[str] = []
    is_retry: bool = False
    num_together: int = 0

    @property
    def is_suspect(self) -> bool:
        """True if SUSPECT_AFTER different workers were lost while they ran the job: it may have crashed them."""
        return len(set(self.lost_workers)) >= SUSPECT_AFTER


class LocalAnswer(msgspec.Struct, eq=False, gc=False):
    """The tokens of the local answer, and its state.

    Since the last token, `num_broken_links` dispatches ended with the connection of their worker. `ending` is kept
    while an answer of the cloud is awaited. `mirostat_mu` is the sampler's state after the last token, from which
    another worker continues. `prompt_value` is the value of the gate on the prompt, if the job has one.
    """

    log: TokenLog
    num_broken_links: int = 0
    ending: JobEnding | None = None
    cached_tokens: int = 0
    mirostat_mu: float | None = None
    embedding: list[float] | None = None
    embedding_length: float | None = None
    prompt_value: float | None = None
    prompt_states: dict[int, bytes] = {}
