"""The settings of handing off: the section `[handoff]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cactus_actors.protocol.confidence import DEFAULT_SIGNAL, SignalName
from cactus_actors.protocol.handoff_gates import WINDOW
from cactus_actors.setting_types import DayOrLess, HourOrLess, Positive, Price, about

SpendingPeriod = Literal["hour", "day", "month"]
DriftAction = Literal["log", "tighten"]
FirstGate = Literal["answer", "prompt"]
ProperShare = Annotated[float, Meta(gt=0, lt=1)]


class CloudBudget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `[[handoff.budgets]]` or `[[handoff.audit_budgets]]`: a limit of cloud spending in a period.

    Once it is reached, nothing more is sent; requests in flight at that moment may exceed it.
    """

    period: Annotated[SpendingPeriod | None, about("hour, day or month, of UTC; without it, for all time.")] = None
    per_tenant: Annotated[bool, about("The budget of each tenant, instead of all tenants together.")] = False
    max_requests: Annotated[Positive | None, about("HTTP requests, retries included.")] = None
    max_tokens: Annotated[Positive | None, about("Prompt and completion tokens.")] = None
    max_cost: Annotated[
        Annotated[float, Meta(gt=0, le=1e12)] | None, about("Money, in `currency`; needs both prices.")
    ] = None

    def __post_init__(self) -> None:
        if self.max_requests is None and self.max_tokens is None and self.max_cost is None:
            raise ValueError("give max_requests, max_tokens or max_cost")


class HandoffSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `[handoff]`: the cloud for jobs of low confidence, its limits and budgets.

    The API key of the cloud is not a setting; `cactus auth` stores it. `cactus serve` fills in the fields
    without a description.
    """

    worker_id: str = "cloud"
    base_url: Annotated[
        str, about("Root of an OpenAI-compatible API; requests go to `{base_url}/chat/completions`.")
    ] = "https://api.openai.com/v1"
    model: Annotated[str, about("Name of the cloud's model.")] = "gpt-4o-mini"
    max_concurrent: Annotated[int, Meta(ge=1, le=1000), about("Requests under way at once.")] = 8
    max_requests: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        about("HTTP requests in all, retries included, from each start of the handoff actor."),
    ] = None
    connect_timeout_s: Annotated[HourOrLess, about("Seconds for a connection.")] = 5.0
    read_timeout_s: Annotated[HourOrLess, about("Seconds between two chunks of an answer.")] = 30.0
    total_timeout_s: Annotated[DayOrLess, about("Seconds for an answer, retries included.")] = 60.0
    max_retries: Annotated[
        int, Meta(ge=0, le=100), about("Retries of a request, none after the first chunk of an answer.")
    ] = 2
    breaker_failures: Annotated[int, Meta(ge=1, le=1000), about("Failures after which the circuit breaker opens.")] = 5
    breaker_open_s: Annotated[DayOrLess, about("Seconds until an open circuit breaker lets one request try.")] = 30.0
    retry_backoff_s: Annotated[
        float, Meta(ge=0, le=3600), about("First pause before a retry; it doubles, with jitter.")
    ] = 0.5
    require_key: Annotated[
        bool | None, about("Require an API key; by default yes, unless `base_url` is on this machine.")
    ] = None
    key_file: str | None = None
    confidence_signal: Annotated[
        SignalName, about("The signal that is compared with a job's `cloud_handoff_threshold`.")
    ] = DEFAULT_SIGNAL
    first_gate_tokens: Annotated[
        int,
        Meta(ge=0, le=WINDOW),
        about("Tokens of an answer after which its signal is compared first; with 0, only at the end."),
    ] = 1
    gate: Annotated[
        FirstGate,
        about("answer: signals of the answer alone hand off; prompt: before them a probe of the prompt does, too."),
    ] = "answer"
    prompt_threshold: Annotated[
        float,
        Meta(gt=0, le=1),
        about("The prompt hands off below this probability that asking the cloud does not help."),
    ] = 0.5
    prompt_probe_file: Annotated[
        str | None, about("File of the probe of prompts; by default `prompt_probe.json` next to the model.")
    ] = None
    probe_file: Annotated[
        str | None, about("File of the signal `probe`; by default `confidence_probe.json` next to the model.")
    ] = None
    probability_file: Annotated[
        str | None,
        about(
            "File of the signal `probability`; by default `confidence_probability.json` next to the model. Without "
            "either, the values of the probe count."
        ),
    ] = None
    max_share: Annotated[
        float,
        Meta(ge=0, le=1),
        about("Largest share of the jobs with a threshold that is handed off; bursts of 10 more are allowed."),
    ] = 1.0
    max_wait_s: Annotated[
        DayOrLess | None,
        about(
            "Seconds from the request to the cloud until the local answer is used, unless the client has seen a part "
            "of the cloud's answer by then."
        ),
    ] = None
    prompt_price: Annotated[Price | None, about("Price of a million prompt tokens.")] = None
    completion_price: Annotated[Price | None, about("Price of a million completion tokens.")] = None
    currency: Annotated[str, about("Currency of the prices.")] = "USD"
    budgets: Annotated[list[CloudBudget], about("Budgets; all of them hold at once.")] = []
    spending_file: str | None = None
    audit_share: Annotated[
        float,
        Meta(ge=0, le=1),
        about("Share of the answers that stay for which the cloud is asked, too, at the cost of a handoff; 0 is none."),
    ] = 0.0
    audit_max_error: Annotated[
        ProperShare, about("Bound on the share of wrong answers among those that stay, which audits watch.")
    ] = 0.05
    audit_confidence: Annotated[
        ProperShare, about("Confidence of a drift: 1 minus the chance of a false alarm in 100,000 audits.")
    ] = 0.95
    audit_budgets: Annotated[list[CloudBudget], about("Budgets of audits alone; all of them hold at once.")] = []
    on_drift: Annotated[
        DriftAction, about("log: a warning; tighten: also raise the thresholds of jobs, so that more are handed off.")
    ] = "log"
    audit_dir: str | None = None
    audit_tiers: list[str] = []
    audit_model: str = ""
