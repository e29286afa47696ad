"""The outcome of a job, in one form for all APIs."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.confidence import NO_FITS, SignalFits, SignalName
from cactus_actors.protocol.error_info import ErrorInfo

FinishReason = Literal["stop", "length", "model_length", "tool_calls", "cancelled", "error"]
"""`model_length` is the context's end, `length` the job's own `max_tokens`."""

HandoffStatus = Literal["none", "recommended", "completed", "failed", "suppressed"]

NOT_ALLOWED = "allow_cloud is false"
"""The reason of a handoff that the job itself forbids."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts; `cached_tokens` of the prompt were found in the prefix cache.

    `reasoning_tokens` of the completion are the model's reasoning before its answer, with its marks.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


class GateInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the gates of a service see: one entropy and log probability per token of the answer, and its settings.

    `fits` are those of its model. A job's gates, for any signal, are in `protocol/handoff_gates.py`. `prompt_threshold`
    is that of the gate on the prompt, which saw the value `prompt`; None without one. `prompt_states` are hidden states
    of the prompt's last token by number of layers, float32 in little-endian order, and `fingerprint` is that of the
    model: a PromptProbe is fitted to these.
    """

    entropies: list[float]
    logprobs: list[float]
    first_gate_tokens: int
    commit_tokens: int
    fits: SignalFits = NO_FITS
    prompt_threshold: float | None = None
    prompt: float | None = None
    prompt_states: dict[int, bytes] = {}
    fingerprint: str = ""


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Raw uncertainty measures over the answer's tokens, from logits before any sampling rule.

    Entropies are in units of ln(vocabulary size), so within [0, 1]; log probabilities are natural. `probe` is
    the probability that the answer is right, by the probe of a model that has one (`protocol/confidence.py`).
    `entropy_at_gates` and `probe_at_gates` are the lowest values of these two signals at the gates that may hand
    off: it stays local if the value reaches the threshold. The other signals are lowest at the end. `probability` is
    the signal of that name, at its lowest gate, for a model that has one. `prompt` is the value of the gate on the
    prompt (`protocol/prompt_probe.py`), where the service has one. `gate_inputs` is set for a job with the option of
    that name.
    """

    mean_logprob: float = 0.0
    min_token_prob: float = 0.0
    entropy_mean: float = 0.0
    entropy_max: float = 0.0
    probe: float | None = None
    entropy_at_gates: float | None = None
    probe_at_gates: float | None = None
    probability: float | None = None
    prompt: float | None = None
    gate_inputs: GateInputs | UnsetType = UNSET


class HandoffTier(msgspec.Struct, frozen=True, kw_only=True):
    """A model that a cascade asked, with its time and its tokens.

    `confidence` is that at the `gate` that it failed, or of the whole answer if it failed none; the cloud's is unknown.
    `error` is set for a model that could not answer.
    """

    model: str
    confidence: float | None = None
    threshold: float = 0.0
    gate: str | None = None
    latency_ms: float = 0.0
    usage: Usage = Usage()
    error: ErrorInfo | UnsetType = UNSET


class Handoff(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about the cloud, and its reason.

    `confidence`, by the service's `signal`, fell below the `threshold`. The signal `prompt` is the value of the gate
    on the prompt, and the threshold then the one of that gate.

    The other fields are set only if a request was sent to the cloud. `model` is the answering model, if it is the
    cloud's or that of a cascade. `cost`, in `currency`, is set if prices are configured; tokens that the cloud did not
    count are estimated (`usage_is_estimated`). Beside a cloud's answer, `local_model`, `local_usage`,
    `local_confidence` and `local_measures` are those of the local one that it replaced. Beside the error of a
    cloud's answer that broke off, `local_text` is the local answer, and `local_finish_reason` how that ended.
    Beside a local answer, `cloud_usage` is the cloud's count for an answer that no client got. `batch_id` names the
    cloud's batch, if the question was asked in one. `path` has the models that a cascade, or a second pass over a
    prompt file, asked; the last of them answered.
    """

    status: HandoffStatus = "none"
    reason: str | None = None
    confidence: float | None = None
    threshold: float = 0.0
    provider: str | None = None
    latency_ms: float | None = None
    signal: SignalName | Literal["prompt"] = "entropy"
    model: str | UnsetType = UNSET
    cost: float | UnsetType = UNSET
    currency: str | UnsetType = UNSET
    usage_is_estimated: bool | UnsetType = UNSET
    cloud_usage: Usage | UnsetType = UNSET
    local_model: str | UnsetType = UNSET
    local_usage: Usage | UnsetType = UNSET
    local_confidence: float | UnsetType | None = UNSET
    local_measures: Measures | UnsetType | None = UNSET
    local_text: str | UnsetType = UNSET
    local_finish_reason: FinishReason | UnsetType = UNSET
    batch_id: str | UnsetType = UNSET
    path: list[HandoffTier] | UnsetType = UNSET


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds from the router's acceptance of the job, and rates in tokens a second."""

    queue_ms: float = 0.0
    time_to_first_token_ms: float = 0.0
    total_time_ms: float = 0.0
    prefill_tokens_per_second: float = 0.0
    decode_tokens_per_second: float = 0.0


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call of a model.

    `arguments_text` has the arguments as JSON if an integer in them is beyond 2**53 - 1, which some readers of JSON
    round.
    """

    name: str
    arguments: dict[str, Any]
    arguments_text: str | None = None


class IncompleteCall(msgspec.Struct, frozen=True):
    """A call with truncated arguments, or with arguments that cannot be encoded as values: their text so far.

    `index` is its position among all calls of the answer.
    """

    index: int
    name: str
    arguments: str


class Alternative(msgspec.Struct, frozen=True, gc=False):
    """An alternative token at a position; `token` is written as in TokenLogprob."""

    token_id: int
    token: str
    logprob: float


class TokenLogprob(msgspec.Struct, frozen=True, kw_only=True):
    """A token of the stream or the prompt and its probability, before any sampling rule.

    `token` is its text, or `bytes:\\xNN...` where its bytes are not UTF-8 by themselves. Log probabilities are
    natural, at temperature 1; the first token of a prompt has none. `top` has the requested number of likeliest
    tokens, in descending order.
    """

    token_id: int
    token: str
    bytes: list[int] = []
    logprob: float | None = None
    top: list[Alternative] = []


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk of the corpus in the prompt."""

    source: str
    content: str
    score: float


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The whole outcome of a job.

    `text` is the answer without tool calls and reasoning; `stream_text` is the text of the stream if it differs,
    with the calls. `prompt_text`, an echoed prompt or a begun answer, belongs before `text`. `reasoning_content` is
    the model's reasoning without its marks. `tool_calls` are the calls in the answer. Malformed text before a
    call's arguments stays text; a call with truncated arguments is in `incomplete_calls`. `stop_match` is the stop
    string or the end token that ended the answer.

    `confidence` is 1 - mean normalised entropy of the answer's tokens, without those of its reasoning;
    `measures` are the raw values. Both are None if the answer was not generated here. `accepted` says
    whether the confidence reaches the job's confidence_threshold; reasoning without an answer does not. `model`
    names the model that answered. A failed job has `success` False, an `error`, and the text before it.

    `logprobs` has one entry for each token id and `prompt_logprobs` one for each prompt token; they are None
    unless requested. An embedding job sets `embedding`, of L2 norm 1, and `embedding_length`, its length before
    that. `selected_tools` names the offered tools if not all were offered, `sources` the documents in the prompt.
    `ram_usage_mb` is the resident memory of the worker's process. `seed_text` has the digits of a seed beyond
    2**53 - 1. A job of the task `cloud_question` sets `cloud_question`, or the reason in `handoff` why there is none.
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
    measures: Measures | None = None
    usage: Usage = Usage()
    timings: Timings = Timings()
    model: str = ""
    seed: int = 0
    attempts: int = 1
    worker: str = ""
    tool_calls: list[ToolCall] = []
    incomplete_calls: list[IncompleteCall] = []
    logprobs: list[TokenLogprob] | None = None
    prompt_logprobs: list[TokenLogprob] | None = None
    prompt_text: str | None = None
    embedding: list[float] | None = None
    selected_tools: list[str] | None = None
    sources: list[Source] = []
    ram_usage_mb: float = 0.0
    embedding_length: float | None = None
    stream_text: str | None = None
    seed_text: str | None = None
    reasoning_content: str | None = None
    cloud_question: CloudQuestion | UnsetType = UNSET
