"""The options of a job in a client's request."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from cactus_actors.protocol.exact_integers import Seed

ProfileName = Literal["cactus", "mistral", "llamacpp", "llamacpp-strict", "cerebras"]
"""The API whose defaults a request has, see `api/profiles.py`."""


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of a request; absent and null both mean the profile's default.

    docs/reference/options.md gives meanings, ranges and defaults; only `params.resolve_options` checks them.
    Names on one line are spellings of one field.
    """

    # length and ends
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    min_tokens: int | None = None
    stop: str | list[str] | None = None
    stop_sequences: str | list[str] | None = None
    include_stop_sequences: bool | None = None
    ignore_eos: bool | None = None

    # sampling
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    typical_p: float | None = None
    seed: Seed = None
    random_seed: Seed = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repeat_penalty: float | None = None
    repetition_penalty: float | None = None
    repeat_last_n: int | None = None
    logit_bias: dict[str, float] | list[tuple[int | str, float | bool]] | None = None
    mirostat: int | None = None
    mirostat_tau: float | None = None
    mirostat_eta: float | None = None

    # returned in addition to the text
    logprobs: bool | int | None = None
    top_logprobs: int | None = None
    echo: bool | None = None

    # form of the text
    suffix: str | None = None
    grammar: str | None = None
    grammar_root: str | None = None
    json_schema: dict[str, Any] | bool | None = None
    regex: str | None = None
    response_format: dict[str, Any] | None = None

    # reasoning
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    reasoning_effort: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None

    # tools and documents
    tool_choice: str | dict[str, Any] | None = None
    force_tools: bool | None = None
    parallel_tool_calls: bool | None = None
    tool_rag_top_k: int | None = None

    # conversation
    safe_prompt: bool | None = None
    safe_mode: bool | None = None
    prompt_mode: str | None = None

    # confidence and cloud
    confidence_threshold: float | None = None
    cloud_handoff_threshold: float | None = None
    max_entropy: float | None = None
    allow_cloud: bool | None = None
    gate_inputs: bool | None = None
    group: str | None = None

    # model
    lora: str | None = None

    # treatment
    cache_prompt: bool | None = None
    cache_salt: str | None = None
    timeout_ms: int | None = None
    priority: int | None = None
    user: str | None = None

    @property
    def is_background(self) -> bool:
        """True if no client waits for the answer (priority above 0)."""
        return (self.priority or 0) > 0
