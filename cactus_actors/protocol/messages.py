"""The conversations with clients; the one with workers is in `worker_messages.py`.

Each is a pair of tagged unions:

- client -> router on the job socket (`ClientMessage`), answered there by `RouterReply`;
- router -> anyone on the stream socket (`StreamMessage`), one topic a job: the job id.

Messages are self-describing maps distinguished by `type`. A job id is 32 lowercase hexadecimal characters,
made by the client, so that it can subscribe before it submits.

`index` counts a job's stream from 0. A local token takes one index; a chunk of a cloud answer takes one too
and carries token id 0, because a cloud's token ids mean nothing here.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from cactus_actors.process.leaving_node import LeavingNodeStatus
from cactus_actors.protocol.cloud_batches import BatchAnswer, BatchQuestion, CloudBatchState
from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.options import Options, ProfileName
from cactus_actors.protocol.pictures import GivenPicture
from cactus_actors.protocol.results import Result, TokenLogprob
from cactus_actors.protocol.scaling_status import ScalingStatus
from cactus_actors.protocol.service_status import AdapterStatus, JobCounts, ModelState, ModelStatus, WorkerStatus
from cactus_actors.protocol.totals import Held, Totals

Task = Literal["generate", "embed", "cloud_question"]
JobState = Literal["queued", "running", "finished", "failed", "cancelled"]
Role = Literal["system", "developer", "user", "assistant", "tool"]


class ClientStruct(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """Base of a client's messages."""


class ReplyStruct(msgspec.Struct, frozen=True, tag_field="type"):
    """Base of messages to clients."""


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One turn of a conversation; `tool_calls` are OpenAI-shaped.

    A last turn of the assistant with `prefix` is continued instead of answered, and its text is part of the reply.
    `images` need a vision model. `reasoning_content` is the assistant's reasoning before this text, for templates
    that read it.
    """

    role: Role
    content: str | list[ContentPart] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    prefix: bool = False
    images: list[GivenPicture] | None = None
    reasoning_content: str | None = None


# client -> router


class Submit(ClientStruct, frozen=True, kw_only=True, tag="submit", omit_defaults=True):
    """Request a completion; exactly one of `prompt` and `messages` is given.

    A prompt of integers is token ids, used unchanged. The same id and the same content again is the same job: the
    answer is Accepted, and Finished if it has ended. `profile` names the defaults of absent options; the native API's
    is `cactus`. `choice` distinguishes the answers that one seed gives to one prompt. The task `embed` asks for the
    prompt's embedding instead of a completion, `cloud_question` for the question that a cloud would be asked: it takes
    no worker, and leaves no record. `traceparent` names the trace of the job, as W3C's header does; it is not part of
    the content. `account` is the unguessable name of an API key: the job uses its share of the service, and has its
    weight. The id of a `keyed` job is derived from an idempotency key, and is known for a day after its end; the field
    is not part of the content. `images` are the pictures of a `prompt` of text, which has `<__media__>` for each.
    """

    job_id: str
    prompt: str | list[int | str] | None = None
    messages: list[ChatMessage] | None = None
    tools: list[dict[str, Any]] | None = None
    model: str | None = None
    options: Options = Options()
    profile: ProfileName | None = None
    choice: int = 0
    task: Task = "generate"
    traceparent: str | None = None
    account: str = ""
    keyed: bool = False
    images: list[GivenPicture] | None = None

    @property
    def has_token_ids(self) -> bool:
        """True if it has token ids, which mean nothing to another model."""
        return isinstance(self.prompt, list) or bool(self.options.logit_bias)


class Cancel(ClientStruct, frozen=True, kw_only=True, tag="cancel"):
    """End a job; cancelling an ended job changes nothing."""

    job_id: str


class Resume(ClientStruct, frozen=True, kw_only=True, tag="resume"):
    """Request at most `credit` stream items from `next_index` on; answered by Replay."""

    job_id: str
    next_index: int = 0
    credit: int = 1024


class Fetch(ClientStruct, frozen=True, kw_only=True, tag="fetch"):
    """Request a job's result; with `wait` the Finished is sent when there is one, else Pending immediately."""

    job_id: str
    wait: bool = True


class StatusRequest(ClientStruct, frozen=True, kw_only=True, tag="status"):
    """Request a Status, `with_totals` or without."""

    request_id: str = ""
    with_totals: bool = False


class Scale(ClientStruct, frozen=True, kw_only=True, tag="scale"):
    """Set the number of workers, of a `model` where there are several, or let the load decide; answered by Scaling."""

    num_workers: int | Literal["auto"]
    request_id: str = ""
    model: str | None = None


class Restart(ClientStruct, frozen=True, kw_only=True, tag="restart"):
    """Replace every local worker, one after the other, each after its running jobs; answered by Restarting."""

    request_id: str = ""


class DrainNode(ClientStruct, frozen=True, kw_only=True, tag="drain_node"):
    """Replace the workers of a node, by name or id, on others, within seconds if given; answered by Restarting.

    It gets no worker until it is gone, or until a message with `keep`.
    """

    node: str
    within_s: float | None = None
    keep: bool = False
    request_id: str = ""


class LoadAdapter(ClientStruct, frozen=True, kw_only=True, tag="load_adapter"):
    """Let jobs name a LoRA adapter; answered by AdapterLoaded when every worker has it, or could not load it.

    `path` is absolute: a directory of PEFT or a GGUF file, on every machine with workers. A name that has the same path
    already is loaded. `model` is the adapter's model where there are several.
    """

    name: str
    path: str
    request_id: str = ""
    model: str | None = None


class UnloadAdapter(ClientStruct, frozen=True, kw_only=True, tag="unload_adapter"):
    """Let no more jobs name an adapter; answered by AdapterUnloaded. Jobs that have it finish on it.

    `model` is the adapter's model where there are several.
    """

    name: str
    request_id: str = ""
    model: str | None = None


class AskCloudBatch(ClientStruct, frozen=True, kw_only=True, tag="ask_cloud_batch", omit_defaults=True):
    """Ask about a batch of the cloud, and with `questions` create it; answered at once by the CloudBatch so far.

    `mark` names the batch: 32 lowercase hexadecimal characters, made by the client at `created`, in Unix seconds. A
    batch of that mark is created once, however often it is asked for; `batch_id` is the cloud's name for it, if the
    client knows that. With `answers_from` the answers of a batch that has ended are sent, from that one on.
    """

    mark: str
    created: float
    batch_id: str = ""
    questions: list[BatchQuestion] = []
    answers_from: int | None = None
    request_id: str = ""


OperatorMessage = Scale | Restart | DrainNode | LoadAdapter | UnloadAdapter
ClientMessage = Submit | Cancel | Resume | Fetch | StatusRequest | OperatorMessage | AskCloudBatch


# router -> client


class Accepted(ReplyStruct, frozen=True, kw_only=True, tag="accepted", omit_defaults=True):
    """The job will end with a Finished. `epoch` names this router's run.

    `prompt_text` is set for a job that echoes its prompt. `tool_markup` names the markup of tool calls in the
    stream of a job with tools (`tools/markup_table.py`). `seed_text` has the digits of a seed beyond 2**53 - 1,
    which some readers of JSON round.
    """

    job_id: str
    epoch: int
    prompt_tokens: int
    seed: int
    prompt_text: str | None = None
    tool_markup: str | None = None
    durable: bool = False
    seed_text: str | None = None


class Rejected(ReplyStruct, frozen=True, kw_only=True, tag="rejected"):
    """A request that changed nothing; `job_id` and `request_id` are echoed where they could be read."""

    error: ErrorInfo
    job_id: str | None = None
    request_id: str | None = None


class Delta(ReplyStruct, frozen=True, kw_only=True, tag="delta", omit_defaults=True):
    """Stream items from `index` on, one for each token id; `text` may be empty while characters are held back.

    `reasoning_content` is the model's reasoning, which is not part of `text`. `logprobs` has one entry for each
    token id, if the job requested them; the first delta of a job that echoes its prompt also has
    `prompt_logprobs`. `model` is set if a cloud answers.
    """

    job_id: str
    index: int
    token_ids: list[int]
    text: str
    logprobs: list[TokenLogprob] | None = None
    prompt_logprobs: list[TokenLogprob] | None = None
    reasoning_content: str = ""
    model: str | None = None


class Progress(ReplyStruct, frozen=True, kw_only=True, tag="progress"):
    """Published once a second for a running job: its stream's length, so that lost last items are noticed."""

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
    """The desired number of local workers is set."""

    num_workers: int
    request_id: str = ""


class Restarting(ReplyStruct, frozen=True, kw_only=True, tag="restarting"):
    """The workers, so many of all models or of a node, will be replaced."""

    num_workers: int
    request_id: str = ""


class AdapterLoaded(ReplyStruct, frozen=True, kw_only=True, tag="adapter_loaded"):
    """Jobs may name the adapter; `num_workers` have loaded it, and later ones load it first."""

    name: str
    num_workers: int
    request_id: str = ""


class AdapterUnloaded(ReplyStruct, frozen=True, kw_only=True, tag="adapter_unloaded"):
    """No more jobs may name the adapter."""

    name: str
    request_id: str = ""


class CloudBatch(ReplyStruct, frozen=True, kw_only=True, tag="cloud_batch", omit_defaults=True):
    """The state of a batch at the cloud, which calls it `batch_id`, and its state `status`.

    `reason` says why it is `refused`, why it has no answers, or what failed when the cloud was asked last; a refusal
    that `is_temporary` may end. `num_questions` were taken, the first ones of those that were sent; `num_ended` have an
    answer or an error. `answers` are the next ones of `num_answers`, of the cloud's `model`; their cost is in
    `currency`.
    """

    mark: str
    state: CloudBatchState
    batch_id: str = ""
    status: str = ""
    reason: str = ""
    is_temporary: bool = False
    num_questions: int = 0
    num_ended: int = 0
    answers: list[BatchAnswer] = []
    num_answers: int = 0
    provider: str = ""
    model: str = ""
    currency: str = ""
    request_id: str = ""


class Status(ReplyStruct, frozen=True, kw_only=True, tag="status"):
    """The state of the service.

    `refused` counts, by reason, refused actions of connections. `refused_workers` has the reasons why recently
    connected workers get no jobs. `totals` are present if the request asked for them. `storage_error` is the reason
    why the journal cannot be written, empty if it can. `fingerprint` is that of the model's files. A model without
    a chat template takes no `messages`. `adapters` are those that jobs may name; only operators see their paths. A
    service of several has all its `models`, of which `model`, with the fields about it, is the first. Jobs are taken
    in every `model_state`. `scaling` is None without a range.
    """

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
    refused: dict[str, int] = {}
    held: Held = Held()
    totals: Totals | None = None
    storage_error: str = ""
    refused_workers: dict[str, str] = {}
    fingerprint: str = ""
    has_chat_template: bool = True
    adapters: list[AdapterStatus] = []
    models: list[ModelStatus] = []
    model_state: ModelState = "ready"
    scaling: ScalingStatus | None = None
    leaving_nodes: list[LeavingNodeStatus] = []

    @property
    def states(self) -> dict[str, ModelState]:
        """The state of each model, by its name."""
        return {it.name: it.state for it in self.models} or {self.model: self.model_state}

    @property
    def loads_on_demand(self) -> bool:
        """True if a model without workers gets them for a job."""
        return not {"idle", "waiting", "loading"}.isdisjoint(self.states.values())

    @property
    def model_names(self) -> str:
        """The name of the model, or those of all models."""
        return ", ".join(model.name for model in self.models) or self.model


RouterReply = (
    Accepted
    | Rejected
    | Delta
    | Finished
    | Replay
    | Pending
    | Scaling
    | Restarting
    | AdapterLoaded
    | AdapterUnloaded
    | CloudBatch
    | Status
)
StreamMessage = Delta | Progress | Finished
