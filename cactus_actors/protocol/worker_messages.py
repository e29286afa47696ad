"""The conversation between workers and the router, on the worker socket.

Arrays with an integer tag: fields may only be appended, with a default.
"""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.messages import AskCloudBatch, ChatMessage, CloudBatch, Task
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.protocol.results import FinishReason, ToolCall, Usage
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.service_status import WorkerKind
from cactus_actors.protocol.totals import AuditTotals, BreakerState, CloudSpending


class Hello(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A worker's first message, repeated whenever it does not know if the router knows it.

    `num_slots` sequences run at once over `num_blocks` cache blocks of `block_size` tokens each. A cloud worker has
    no blocks: num_blocks 0. `fingerprint` is that of the model's files (`models/fingerprint.py`); `weights` and
    `kv_cache` are formats. The worker sends at most `max_reports_ahead` reports before a ReportsTaken acknowledges
    them; 0 is no limit. `block_bytes` and `state_bytes` are the memory of a block and of one of the `num_states`
    recurrent states, of running sequences and checkpoints. `served_as` is the name of the model in a service of
    several models; `num_layers` are those of the model. `node_id` is that of `node` in its
    cluster, empty on one machine.
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
    fingerprint: str = ""
    kv_cache: str = ""
    max_reports_ahead: int = 0
    block_bytes: int = 0
    num_states: int = 0
    state_bytes: int = 0
    served_as: str = ""
    num_layers: int = 0
    node_id: str = ""


class Finish(msgspec.Struct, frozen=True, array_like=True):
    """The end of a sequence; a cloud worker sets the fields after `error`.

    `usage` is the cloud's count, or an estimate where it `is_estimated`; `cost` is in `currency`.
    A job that `is_refused` was not sent: a budget or the breaker did not allow it.
    """

    reason: FinishReason
    stop_match: str | int | None = None
    error: ErrorInfo | None = None
    provider: str | None = None
    usage: Usage | None = None
    is_estimated: bool = False
    cost: float | None = None
    currency: str | None = None
    is_refused: bool = False


class SequenceExtras(msgspec.Struct, frozen=True, array_like=True):
    """Values that only some jobs request.

    `top` has for each token the likeliest ids and their log probabilities in descending order, and `prompt` the
    same for the prompt's tokens from `prompt_position` on, each with its own log probability first (NaN for the
    first token of all). `mirostat_mu` is the state after the last token. `embedding` has length 1;
    `embedding_length` is its length before normalisation. `prompt_states` come with the first token: by number of
    layers the hidden state of the prompt's last token after so many, as float32 in little-endian order.
    """

    top: list[list[tuple[int, float]]] = []
    prompt: list[tuple[float, list[tuple[int, float]]]] = []
    prompt_position: int = 0
    mirostat_mu: float | None = None
    embedding: list[float] | None = None
    embedding_length: float | None = None
    prompt_states: dict[int, bytes] = {}


class SequenceDelta(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The result of one step for one sequence.

    `position` is the index of the first of `token_ids` among the completion tokens. `entropies` (normalised, see
    Measures) and `logprobs` hold one value a token, from the raw logits. `text` is valid UTF-8 that may lag behind
    the tokens. `cached_tokens` of the prompt came from the prefix cache. A sequence that fails without a new token
    sends an empty `token_ids` with a `finish`. For several tokens, `cuts` has the offsets in `text`, in characters,
    at which the text of each but the last ends; without cuts all text is the last token's. `reasoning` is the
    model's reasoning before its answer, which is `text`; `reasoning_cuts` are its cuts. `reasoning_flags` has a 1
    for each of the last tokens that is reasoning and a 0 for others, back to the first new or changed flag:
    uncertain flags of earlier tokens are repeated. Tokens without a flag are the answer's.
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
    extras: SequenceExtras | None = None
    reasoning: str = ""
    reasoning_cuts: list[int] = []
    reasoning_flags: list[int] = []


class Report(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """One message a step, and once a second when idle: it is the heartbeat.

    `num_accepted` counts the dispatches taken since Hello, so that the router's credits are free_slots - (sent -
    num_accepted). Counts and seconds are totals since Hello. `unavailable` is the reason why a worker takes no jobs now
    (a cloud worker without key, with an open breaker or a spent budget). `draft_tokens` were guessed ahead of the
    model, `accepted_draft_tokens` of them right. Of the tokens of prompts `queried_prompt_tokens` were looked up in the
    prefix cache, `cached_prompt_tokens` were found. `breaker` is a cloud worker's. The first report after a Welcome
    lists in `stored` the short hashes (`protocol/block_hashes.py`) of all blocks in the prefix cache; later ones list
    new blocks in `stored` and removed ones in `evicted`. `spent` and `audits` are a cloud worker's, None if unchanged.
    `cached_pictures` of sequences were encoded before, for an earlier one. `num_taken` is that of the last ReportsTaken
    that the worker received: if it does not grow, messages of the router do not arrive.
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
    ram_usage_mb: float = 0.0
    breaker: BreakerState | None = None
    stored: list[int] = []
    evicted: list[int] = []
    spent: list[CloudSpending] | None = None
    num_taken: int | None = None
    audits: AuditTotals | None = None
    encoded_pictures: int = 0
    cached_pictures: int = 0


class Draining(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The worker accepts no more dispatches, and finishes running ones."""


class Goodbye(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The worker is leaving; its unfinished dispatches must run elsewhere."""


class AdaptersLoaded(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """Answer to Adapters: those of `keys` are there, except for `failures`: key -> why it cannot be loaded."""

    keys: list[str]
    failures: dict[str, str] = {}


class BatchReply(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """Answer to AskBatch `number`; a cloud worker's."""

    number: int
    batch: CloudBatch


WorkerMessage = Hello | Report | Draining | Goodbye | AdaptersLoaded | BatchReply


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Answer to Hello; `epoch` names the router's run: another epoch means all older dispatches are void."""

    epoch: int


class CloudRequest(msgspec.Struct, frozen=True, array_like=True):
    """The job for a cloud: text, not token ids.

    `tool_markup` is the markup in which calls of the answer are written into its text.
    """

    prompt: str | None = None
    messages: list[ChatMessage] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_markup: str = "hermes"


class Dispatch(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Run one sequence: compute prompt + emitted, then sample on from position len(emitted_ids).

    `dispatch_id` is never reused within an epoch, so that earlier dispatches of the same job are recognised.
    `timeout_s` is the rest of the job's deadline in seconds. `request` is set for a cloud worker. Cached prefixes
    are shared with dispatches of the same `cache_salt` only. `grammar` constrains the text, in llguidance's own
    serialised form, or is empty. `mirostat_mu` is the state after `emitted_ids`. `tenant` and `num_prompt_tokens`,
    by the local tokenizer, are for a cloud worker: the owner of the budget, and an estimate of usage if the cloud
    reports none. `pictures` are those of the prompt, in its order: their embeddings take the places of the model's
    placeholder tokens in `prompt_ids`. `adapter` is the key of a loaded adapter, or empty for the model itself.
    `tapped_layers` are the numbers of layers after which the prompt's hidden state is reported, if the model has such
    and nothing was emitted.
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
    task: Task = "generate"
    grammar: str = ""
    mirostat_mu: float | None = None
    tenant: str = ""
    num_prompt_tokens: int = 0
    pictures: list[PreparedPicture] = []
    adapter: str = ""
    tapped_layers: list[int] = []


class Abort(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Forget a dispatch; nothing more is reported about it."""

    dispatch_id: int


class Drain(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Finish running dispatches, accept no new ones, then send Goodbye."""


class Refused(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """Answer to a Hello whose worker would give other tokens than the service; it gets no jobs.

    `differs` names the first differing field of Hello, `reason` describes all differences.
    """

    differs: str
    reason: str


class ReportsTaken(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """The router has handled `num_reports` since the Hello, and forwarded their content.

    `max_ahead` more may be sent, apart from heartbeats.
    """

    num_reports: int
    max_ahead: int


class AdapterFiles(msgspec.Struct, frozen=True, array_like=True):
    """An adapter's directory or GGUF file; `key` identifies its content, and is never used for another."""

    key: str
    path: str


class Adapters(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """Load the adapters that are missing, and forget all others; it precedes the dispatches that use them.

    An adapter that running sequences have is forgotten when they have ended.
    """

    adapters: list[AdapterFiles]


class SecondAnswer(msgspec.Struct, frozen=True, array_like=True):
    """The answer of the last `model` of a cascade, which was asked in the cloud's place."""

    text: str
    calls: list[ToolCall]
    model: str


class Audit(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """Ask the cloud the question of an answer that stayed, and compare; a cloud worker may leave it undone.

    With a `second` answer the cloud is not asked, and the answers are compared.

    `text` and `calls` are that answer, `signal` its lowest confidence signal at the gates, of a job with this
    `threshold`, which had been tightened `step` times. With a `tool_markup` the cloud's text may have calls, of
    `tools`; with `single_call` only the first counts. `tenant` and `num_prompt_tokens` are as in Dispatch.
    `group` is the job's. `tier` is the model, if the job was one of a cascade.
    """

    request: CloudRequest
    params: SamplingParams
    text: str
    calls: list[ToolCall]
    signal: float
    threshold: float
    step: int = 0
    tenant: str = ""
    num_prompt_tokens: int = 0
    tool_markup: str | None = None
    tools: list[dict[str, Any]] = []
    single_call: bool = False
    group: str = ""
    tier: str = ""
    second: SecondAnswer | None = None


class AskBatch(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """Create a batch at the cloud, or report on it, for a `tenant`; answered by BatchReply with the same `number`."""

    number: int
    tenant: str
    ask: AskCloudBatch


RouterCommand = Welcome | Dispatch | Abort | Drain | Refused | ReportsTaken | Adapters | Audit | AskBatch
