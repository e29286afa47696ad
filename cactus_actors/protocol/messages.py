"""Every message on every socket.

Three conversations, each a pair of tagged unions:

- client -> router on the job socket (`ClientMessage`), answered there by `RouterReply`;
- router -> anyone on the stream socket (`StreamMessage`), one topic a job: the job id;
- worker <-> router on the worker socket (`WorkerMessage`, `RouterCommand`).

Messages to and from clients are self-describing maps told apart by `type`. The worker socket's are arrays
with an integer tag: fields may only be appended, with a default. A job id is 32 lowercase hexadecimal
characters, made by the client, so that it can subscribe before it submits.

`index` counts a job's stream from 0. A local token takes one index; a chunk of a cloud answer takes one too
and carries token id 0, because a cloud's token ids mean nothing here.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from cactus_actors.protocol.errors import ErrorInfo
from cactus_actors.protocol.params import Options, SamplingParams

FinishReason = Literal["stop", "length", "tool_calls", "cancelled", "error"]
JobState = Literal["queued", "running", "finished", "failed", "cancelled"]
HandoffStatus = Literal["none", "recommended", "completed", "failed", "suppressed"]
WorkerKind = Literal["local", "cloud"]
Role = Literal["system", "developer", "user", "assistant", "tool"]


class ClientStruct(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """Base of what a client sends."""


class ReplyStruct(msgspec.Struct, frozen=True, tag_field="type"):
    """Base of what a client receives."""


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One turn of a conversation; `tool_calls` are OpenAI-shaped."""

    role: Role
    content: str | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


# client -> router


class Submit(ClientStruct, frozen=True, kw_only=True, tag="submit", omit_defaults=True):
    """Ask for a completion; exactly one of `prompt` and `messages` is given.

    A prompt of integers is token ids, taken as they are. The same id and the same content again is the same
    job: the answer is Accepted, and Finished if it has ended.
    """

    job_id: str
    prompt: str | list[int | str] | None = None
    messages: list[ChatMessage] | None = None
    tools: list[dict[str, Any]] | None = None
    model: str | None = None
    options: Options = Options()


class Cancel(ClientStruct, frozen=True, kw_only=True, tag="cancel"):
    """End a job; cancelling an ended job changes nothing."""

    job_id: str


class Resume(ClientStruct, frozen=True, kw_only=True, tag="resume"):
    """Ask for at most `credit` stream items from `next_index` on; answered by Replay."""

    job_id: str
    next_index: int = 0
    credit: int = 1024


class Fetch(ClientStruct, frozen=True, kw_only=True, tag="fetch"):
    """Ask for a job's result; with `wait` the Finished is sent when there is one, else Pending at once."""

    job_id: str
    wait: bool = True


class StatusRequest(ClientStruct, frozen=True, kw_only=True, tag="status"):
    """Ask for a Status."""

    request_id: str = ""


class Scale(ClientStruct, frozen=True, kw_only=True, tag="scale"):
    """Set the wished number of local workers; answered by Scaling."""

    num_workers: int
    request_id: str = ""


ClientMessage = Submit | Cancel | Resume | Fetch | StatusRequest | Scale


# results


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts; `cached_tokens` of the prompt were found in the prefix cache."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Raw uncertainty measures over the generated tokens, from logits before any sampling rule.

    Entropies are in units of ln(vocabulary size), so within [0, 1]; log probabilities are natural.
    """

    mean_logprob: float = 0.0
    min_token_prob: float = 0.0
    entropy_mean: float = 0.0
    entropy_max: float = 0.0


class Handoff(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about the cloud, and why."""

    status: HandoffStatus = "none"
    reason: str | None = None
    confidence: float | None = None
    threshold: float = 0.0
    provider: str | None = None
    latency_ms: float | None = None


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds from the router's acceptance of the job, and rates in tokens a second."""

    queue_ms: float = 0.0
    time_to_first_token_ms: float = 0.0
    total_time_ms: float = 0.0
    prefill_tokens_per_second: float = 0.0
    decode_tokens_per_second: float = 0.0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The whole outcome of a job.

    `confidence` is 1 - mean normalised entropy, or None when nothing was generated here; `accepted` says
    whether it reaches the job's confidence_threshold. `stop_match` is the stop string or the end token that
    ended it. A failed job has `success` False, an `error`, and whatever text came before it.
    """

    text: str = ""
    token_ids: list[int] = []
    finish_reason: FinishReason = "stop"
    stop_match: str | int | None = None
    success: bool = True
    error: ErrorInfo | None = None
    confidence: float | None = None
    accepted: bool = True
    cloud_handoff: bool = False
    handoff: Handoff = Handoff()
    measures: Measures = Measures()
    usage: Usage = Usage()
    timings: Timings = Timings()
    model: str = ""
    seed: int = 0
    attempts: int = 1
    worker: str = ""


# router -> client


class Accepted(ReplyStruct, frozen=True, kw_only=True, tag="accepted"):
    """The job will end with a Finished. `epoch` names this router's run."""

    job_id: str
    epoch: int
    prompt_tokens: int
    seed: int


class Rejected(ReplyStruct, frozen=True, kw_only=True, tag="rejected"):
    """A request that changed nothing; `job_id` and `request_id` are echoed where they could be read."""

    error: ErrorInfo
    job_id: str | None = None
    request_id: str | None = None


class Delta(ReplyStruct, frozen=True, kw_only=True, tag="delta"):
    """Stream items from `index` on, one a token id; `text` may be empty while characters are held back."""

    job_id: str
    index: int
    token_ids: list[int]
    text: str


class Progress(ReplyStruct, frozen=True, kw_only=True, tag="progress"):
    """Published once a second for a running job: its stream's length, so that a lost tail is noticed."""

    job_id: str
    epoch: int
    length: int


class Finished(ReplyStruct, frozen=True, kw_only=True, tag="finished"):
    """The job ended; `length` is its stream's length. The result is whole, whatever was streamed before."""

    job_id: str
    length: int
    result: Result


class Replay(ReplyStruct, frozen=True, kw_only=True, tag="replay"):
    """Answer to Resume: the items from `next_index` on, the stream's length, and the result if it ended."""

    job_id: str
    epoch: int
    deltas: list[Delta]
    length: int
    finished: Finished | None = None


class Pending(ReplyStruct, frozen=True, kw_only=True, tag="pending"):
    """Answer to Fetch without wait, or to Cancel: the job's state now."""

    job_id: str
    state: JobState
    length: int


class Scaling(ReplyStruct, frozen=True, kw_only=True, tag="scaling"):
    """The wished number of local workers is noted."""

    num_workers: int
    request_id: str = ""


class WorkerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One worker as the router sees it; `last_seen_s` is seconds since its last message.

    `kernel_seconds` is the part of `step_seconds`, all time spent in steps, that compiled code took.
    `draft_tokens` were guessed ahead of the model, `accepted_draft_tokens` of them right. Of the tokens
    of prompts `queried_prompt_tokens` were looked up in the prefix cache, `cached_prompt_tokens` were found.
    """

    worker_id: str
    kind: WorkerKind
    node: str
    pid: int
    threads: int
    kernels: str
    weights: str
    state: Literal["ready", "draining"]
    num_slots: int
    free_slots: int
    num_blocks: int
    free_blocks: int
    num_running: int
    last_seen_s: float
    tokens_generated: int
    prompt_tokens_computed: int
    cached_prompt_tokens: int
    preemptions: int
    step_seconds: float = 0.0
    kernel_seconds: float = 0.0
    draft_tokens: int = 0
    accepted_draft_tokens: int = 0
    queried_prompt_tokens: int = 0


class JobCounts(msgspec.Struct, frozen=True, kw_only=True):
    """accepted = queued + running + finished + failed + cancelled, always."""

    accepted: int = 0
    queued: int = 0
    running: int = 0
    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    rejected: int = 0
    redispatched: int = 0
    handoffs_recommended: int = 0
    handoffs_completed: int = 0
    handoffs_failed: int = 0
    handoffs_suppressed: int = 0


class Status(ReplyStruct, frozen=True, kw_only=True, tag="status"):
    """What the service is doing now."""

    request_id: str = ""
    version: str
    epoch: int
    uptime_s: float
    model: str
    max_context: int
    vocab_size: int
    draining: bool
    desired_workers: int
    jobs: JobCounts
    workers: list[WorkerStatus]


RouterReply = Accepted | Rejected | Delta | Finished | Replay | Pending | Scaling | Status
StreamMessage = Delta | Progress | Finished


# worker -> router


class Hello(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A worker's first message, and again whenever it does not know whether the router knows it.

    `num_slots` sequences run at once over `num_blocks` cache blocks of `block_size` tokens each. A cloud
    worker has no blocks: num_blocks 0.
    """

    worker_id: str
    kind: WorkerKind
    model: str
    num_slots: int
    num_blocks: int
    block_size: int
    max_context: int
    node: str
    pid: int
    threads: int = 0
    kernels: str = ""
    weights: str = ""


class Finish(msgspec.Struct, frozen=True, array_like=True):
    """How a sequence ended; `provider` and `usage` are set by a cloud worker."""

    reason: FinishReason
    stop_match: str | int | None = None
    error: ErrorInfo | None = None
    provider: str | None = None
    usage: Usage | None = None


class SequenceDelta(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one step added to one sequence.

    `position` is the index of the first of `token_ids` among the completion tokens. `entropies` (normalised,
    see Measures) and `logprobs` hold one value a token, from the raw logits. `text` is valid UTF-8 that may
    lag behind the tokens. `cached_tokens` of the prompt came from the prefix cache. A sequence that fails
    without a new token sends an empty `token_ids` with a `finish`. Of several tokens, `cuts` says where in
    `text`, in characters, the text of each but the last ends; without cuts all text is the last token's.
    """

    dispatch_id: int
    position: int
    token_ids: list[int]
    text: str
    entropies: list[float]
    logprobs: list[float]
    cached_tokens: int = 0
    finish: Finish | None = None
    cuts: list[int] = []


class Report(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """One message a step, and once a second when idle: it is the heartbeat.

    `num_accepted` counts the dispatches taken since Hello, so that the router's credits are
    free_slots - (sent - num_accepted). Counts and seconds are totals since Hello. `unavailable` says why a
    worker takes no jobs at all just now (a cloud worker without key, with an open breaker or a spent budget).
    `draft_tokens` were guessed ahead of the model, `accepted_draft_tokens` of them right. Of the tokens
    of prompts `queried_prompt_tokens` were looked up in the prefix cache, `cached_prompt_tokens` were found.
    """

    num_accepted: int
    free_slots: int
    free_blocks: int
    num_running: int
    deltas: list[SequenceDelta]
    tokens_generated: int = 0
    prompt_tokens_computed: int = 0
    cached_prompt_tokens: int = 0
    preemptions: int = 0
    unavailable: str | None = None
    step_seconds: float = 0.0
    kernel_seconds: float = 0.0
    draft_tokens: int = 0
    accepted_draft_tokens: int = 0
    queried_prompt_tokens: int = 0


class Draining(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The worker takes no more dispatches; what it runs it finishes."""


class Goodbye(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The worker is leaving; whatever it still holds must run elsewhere."""


WorkerMessage = Hello | Report | Draining | Goodbye


# router -> worker


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Answer to Hello; `epoch` names the router's run: another epoch means all older dispatches are void."""

    epoch: int


class CloudRequest(msgspec.Struct, frozen=True, array_like=True):
    """The job as a cloud can understand it: text, not token ids."""

    prompt: str | None = None
    messages: list[ChatMessage] | None = None
    tools: list[dict[str, Any]] | None = None


class Dispatch(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Run one sequence: compute prompt + emitted, then sample on from position len(emitted_ids).

    `dispatch_id` is never used again within an epoch, so that it fences off an older attempt at the same job.
    `timeout_s` is the rest of the job's deadline in seconds. `request` is set for a cloud worker. Cached
    prefixes are shared with dispatches of the same `cache_salt` only.
    """

    dispatch_id: int
    job_id: str
    prompt_ids: list[int]
    emitted_ids: list[int]
    params: SamplingParams
    choice: int = 0
    timeout_s: float | None = None
    request: CloudRequest | None = None
    cache_salt: str = ""


class Abort(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Forget a dispatch; nothing more is reported about it."""

    dispatch_id: int


class Drain(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Finish what runs, take nothing new, then say Goodbye."""


RouterCommand = Welcome | Dispatch | Abort | Drain
