"""Options resolved to parameters for a worker and a policy for the router."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from cactus_actors.api.field_names import errors_name_fields_as_given, option_names
from cactus_actors.api.option_ranges import RANGES, check_ranges
from cactus_actors.api.option_rules import check_structure, given_options, num_logprobs
from cactus_actors.api.profiles import PROFILES, Profile
from cactus_actors.api.reasoning_options import reasoning_request
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.exact_integers import RANDOM_SEED, drawn_seed
from cactus_actors.protocol.options import Options, ProfileName
from cactus_actors.protocol.sampling_params import UNLIMITED, SamplingParams
from cactus_actors.protocol.unsendable import UNSENDABLE
from cactus_actors.tools.tool_choice import tool_choice

ANY_CONTEXT = 2**31 - 1
"""For checks before the prompt's length is known."""
MAX_REMEMBERED_BYTES = 1024
"""Longer options are checked each time."""


class JobPolicy(msgspec.Struct, frozen=True):
    """The router's policy for one job.

    `timeout_s` is a duration in seconds from acceptance, or None. A lower `priority` is served first.
    `cloud_handoff_threshold` is a minimum confidence in [0, 1]; 0 never hands off. Jobs share cached
    prefixes only with jobs of the same `cache_salt`. The waiting jobs of different users take turns.
    `compares_entropy` says that the minimum is one of the signal `entropy`, whichever signal the service uses.
    `returns_gate_inputs` adds to the result's measures what the gates see. `group` is the kind of question, for audits.
    """

    confidence_threshold: float = 0.5
    cloud_handoff_threshold: float = 0.0
    allow_cloud: bool = True
    timeout_s: float | None = None
    priority: int = 0
    cache_salt: str = ""
    user: str = ""
    compares_entropy: bool = False
    returns_gate_inputs: bool = False
    group: str = ""


def resolve_options(
    options: Options,
    *,
    context_left: int = ANY_CONTEXT,
    profile: Profile = PROFILES["cactus"],
    penalise_prompt: bool = True,
) -> tuple[SamplingParams, JobPolicy]:
    """Check `options`, fill in the profile's defaults and draw a seed if none was given.

    `context_left` is the number of tokens that the context has room for after the prompt; `max_tokens` is clamped
    to it. `logit_bias` is checked and left out: its texts need a tokenizer. Raises InvalidRequest whose `param` is
    the first invalid field, named as in `options`. Options that were resolved before, but for their seed, take less
    time.
    """
    seed = options.seed
    if type(seed) is int and seed != RANDOM_SEED and (content := _remembered(options)) is not None:
        params, policy = _resolved_encoded(content, context_left, profile, penalise_prompt)
        return msgspec.structs.replace(params, seed=seed), policy
    return _resolved(options, context_left, profile, penalise_prompt)


def _resolved(
    options: Options, context_left: int, profile: Profile, penalise_prompt: bool
) -> tuple[SamplingParams, JobPolicy]:
    with errors_name_fields_as_given(option_names(options)):
        given = given_options(options)
        check_ranges(given, profile)
        check_structure(given)
        tool_choice(given)
        reasoning_request(given)
        return _sampling_params(given, profile, context_left, penalise_prompt), _policy(given)


def check_options(options: Options, profile: ProfileName = "cactus") -> None:
    """Raise the errors of `resolve_options`; options that were checked before, but for their seed, take less time."""
    if (content := _remembered(options)) is not None:
        _resolved_encoded(content, ANY_CONTEXT, PROFILES[profile], True)
    else:
        resolve_options(options, profile=PROFILES[profile])


def _remembered(options: Options) -> bytes | None:
    """The key under which options are remembered, without a valid seed; None if they are not."""
    lowest, highest = RANGES["seed"]
    seed = options.seed
    if isinstance(seed, int) and lowest <= seed <= highest and options.random_seed is None:
        options = msgspec.structs.replace(options, seed=None)
    with suppress(*UNSENDABLE):  # the check of each field says what is wrong
        content = msgspec.msgpack.encode(options)
        if len(content) <= MAX_REMEMBERED_BYTES and _is_valid(content):
            return content
    return None


@lru_cache(maxsize=1024)
def _is_valid(content: bytes) -> bool:
    """True if the fields of encoded options have their types."""
    try:
        msgspec.msgpack.decode(content, type=Options)
    except msgspec.ValidationError:
        return False
    return True


@lru_cache(maxsize=1024)
def _resolved_encoded(
    content: bytes, context_left: int, profile: Profile, penalise_prompt: bool
) -> tuple[SamplingParams, JobPolicy]:
    # The key is not Options: True equals 1 there, and has another meaning.
    return _resolved(msgspec.msgpack.decode(content, type=Options), context_left, profile, penalise_prompt)


def _sampling_params(
    given: Mapping[str, Any], profile: Profile, context_left: int, penalise_prompt: bool
) -> SamplingParams:
    max_tokens, min_tokens = _lengths(given, profile, context_left)
    seed = given.get("seed", RANDOM_SEED)
    stop = given.get("stop", ())
    likely = num_logprobs(given, profile)
    return SamplingParams(
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        temperature=given.get("temperature", profile.temperature),
        top_p=given.get("top_p", profile.top_p),
        top_k=max(0, given.get("top_k", profile.top_k)),
        min_p=given.get("min_p", profile.min_p),
        typical_p=given.get("typical_p", 1.0),
        seed=drawn_seed() if seed == RANDOM_SEED else seed,
        presence_penalty=given.get("presence_penalty", 0.0),
        frequency_penalty=given.get("frequency_penalty", 0.0),
        repeat_penalty=given.get("repeat_penalty", profile.repeat_penalty),
        repeat_last_n=given.get("repeat_last_n", 64),
        penalise_prompt=penalise_prompt,
        mirostat=given.get("mirostat", 0),
        mirostat_tau=given.get("mirostat_tau", 5.0),
        mirostat_eta=given.get("mirostat_eta", 0.1),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        include_stop_sequences=given.get("include_stop_sequences", False),
        ignore_eos=given.get("ignore_eos", False),
        cache_prompt=given.get("cache_prompt", True),
        num_logprobs=likely,
        prompt_logprobs=likely >= 0 and given.get("echo", False),
    )


def _lengths(given: Mapping[str, Any], profile: Profile, context_left: int) -> tuple[int, int]:
    """`max_tokens` and `min_tokens`; -1 means all that the context has room for."""
    wanted = given.get("max_tokens", profile.max_tokens)
    if profile.refuses_overlong and given.get("max_tokens", 0) > context_left:
        raise InvalidRequest(
            f"max_tokens is {wanted} and the context has room for {context_left} after the prompt",
            param="max_tokens",
        )
    max_tokens = context_left if wanted == UNLIMITED else min(wanted, context_left)
    min_tokens = given.get("min_tokens", 0)
    if wanted != UNLIMITED and min_tokens > wanted:
        raise InvalidRequest(f"min_tokens {min_tokens} is above max_tokens {wanted}", param="min_tokens")
    return max_tokens, max_tokens if min_tokens == UNLIMITED else min(min_tokens, max_tokens)


def _policy(given: Mapping[str, Any]) -> JobPolicy:
    timeout_ms = given.get("timeout_ms")
    max_entropy = given.get("max_entropy", 0.0)
    threshold = given.get("cloud_handoff_threshold", 0.0)
    of_entropy = 1.0 - max_entropy if max_entropy else 0.0
    return JobPolicy(
        confidence_threshold=given.get("confidence_threshold", 0.5),
        cloud_handoff_threshold=max(threshold, of_entropy),
        allow_cloud=given.get("allow_cloud", True),
        timeout_s=None if timeout_ms is None else timeout_ms / 1000,
        priority=given.get("priority", 0),
        cache_salt=given.get("cache_salt", ""),
        user=given.get("user", ""),
        compares_entropy=of_entropy > threshold,
        returns_gate_inputs=given.get("gate_inputs", False),
        group=given.get("group", ""),
    )
