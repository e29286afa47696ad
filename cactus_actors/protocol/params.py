"""What options resolve to: parameters for a worker and a policy for the router."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.profiles import PROFILES, Profile

MAX_STOP_SEQUENCES = 32
MAX_CACHE_SALT = 256
UNLIMITED = -1


class SamplingParams(msgspec.Struct, frozen=True, array_like=True):
    """What a worker needs to sample one sequence; every value is resolved and in range.

    `max_tokens` counts completion tokens and is at least 0 (0 = prefill only). `top_k` 0, `top_p` 1,
    `min_p` 0, `repeat_penalty` 1 and `repeat_last_n` 0 switch their rule off; `repeat_last_n` -1 is the
    whole context. `temperature` 0 is the argmax, lowest id on ties. `seed` is an unsigned 64-bit integer.
    `logit_bias` is added to the logits of its token ids. `mirostat` is 0, 1 or 2. `num_logprobs` is how
    many likely tokens are told beside each token, -1 for not even its own log probability;
    `prompt_logprobs` asks for the same of the prompt. `penalise_prompt` says whether presence and frequency
    count the prompt too.
    """

    max_tokens: int
    min_tokens: int = 0
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    stop: tuple[str, ...] = ()
    include_stop_sequences: bool = False
    ignore_eos: bool = False
    cache_prompt: bool = True
    typical_p: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    num_logprobs: int = -1
    prompt_logprobs: bool = False
    penalise_prompt: bool = True


class JobPolicy(msgspec.Struct, frozen=True):
    """What the router needs to treat one job.

    `timeout_s` is a duration in seconds from acceptance, or None. A lower `priority` is served first.
    `cloud_handoff_threshold` is a minimum confidence in [0, 1]; 0 never hands off. Jobs share cached
    prefixes only with jobs of the same `cache_salt`.
    """

    confidence_threshold: float = 0.5
    cloud_handoff_threshold: float = 0.0
    allow_cloud: bool = True
    timeout_s: float | None = None
    priority: int = 0
    cache_salt: str = ""


# field -> (lowest, highest), both allowed
_RANGES: dict[str, tuple[float, float]] = {
    "max_tokens": (UNLIMITED, 2**31 - 1),
    "min_tokens": (UNLIMITED, 2**31 - 1),
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "top_k": (-1, 2**31 - 1),
    "min_p": (0.0, 1.0),
    "seed": (-1, 2**64 - 1),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "repeat_penalty": (0.01, 100.0),
    "repeat_last_n": (-1, 2**31 - 1),
    "confidence_threshold": (0.0, 1.0),
    "cloud_handoff_threshold": (0.0, 1.0),
    "timeout_ms": (1, 24 * 3600 * 1000),
    "priority": (-100, 100),
}

# alias -> the field it spells
_ALIASES = {
    "max_completion_tokens": "max_tokens",
    "random_seed": "seed",
    "repetition_penalty": "repeat_penalty",
    "safe_mode": "safe_prompt",
    "stop_sequences": "stop",
}


def resolve_options(
    options: Options, *, context_left: int, profile: Profile = PROFILES["cactus"]
) -> tuple[SamplingParams, JobPolicy]:
    """Check `options`, fill in the profile's defaults and draw a seed if none was given.

    `context_left` is the number of tokens that the context has room for after the prompt; `max_tokens` is
    clamped to it. Raises InvalidRequest with `param` set on the first field that is out of range.
    """
    given = _given_fields(options)
    for name, (lowest, highest) in _RANGES.items():
        value = given.get(name)
        if value is not None and not (lowest <= value <= highest):  # also refuses NaN
            raise InvalidRequest(f"{name} must be between {lowest} and {highest}, got {value}", param=name)

    wanted = given.get("max_tokens", profile.max_tokens)
    max_tokens = context_left if wanted == UNLIMITED else min(wanted, context_left)
    min_tokens = given.get("min_tokens", 0)
    if wanted != UNLIMITED and min_tokens > wanted:
        raise InvalidRequest(f"min_tokens {min_tokens} is above max_tokens {wanted}", param="min_tokens")
    min_tokens = max_tokens if min_tokens == UNLIMITED else min(min_tokens, max_tokens)

    seed = given.get("seed", -1)
    params = SamplingParams(
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        temperature=given.get("temperature", profile.temperature),
        top_p=given.get("top_p", profile.top_p),
        top_k=max(0, given.get("top_k", profile.top_k)),
        min_p=given.get("min_p", profile.min_p),
        seed=secrets.randbits(64) if seed == -1 else seed,
        presence_penalty=given.get("presence_penalty", 0.0),
        frequency_penalty=given.get("frequency_penalty", 0.0),
        repeat_penalty=given.get("repeat_penalty", profile.repeat_penalty),
        repeat_last_n=given.get("repeat_last_n", 64),
        stop=_stop_sequences(given.get("stop")),
        include_stop_sequences=given.get("include_stop_sequences", False),
        ignore_eos=given.get("ignore_eos", False),
        cache_prompt=given.get("cache_prompt", True),
    )
    timeout_ms = given.get("timeout_ms")
    policy = JobPolicy(
        confidence_threshold=given.get("confidence_threshold", 0.5),
        cloud_handoff_threshold=given.get("cloud_handoff_threshold", 0.0),
        allow_cloud=given.get("allow_cloud", True),
        timeout_s=None if timeout_ms is None else timeout_ms / 1000,
        priority=given.get("priority", 0),
        cache_salt=_cache_salt(given.get("cache_salt", "")),
    )
    return params, policy


def _given_fields(options: Options) -> dict[str, Any]:
    """The fields that the client set, under their canonical names."""
    given = {name: value for name, value in msgspec.structs.asdict(options).items() if value is not None}
    for alias, name in _ALIASES.items():
        if alias not in given:
            continue
        value = given.pop(alias)
        if given.setdefault(name, value) != value:
            raise InvalidRequest(f"{name} and {alias} are one field and were given two values", param=alias)
    return given


def _cache_salt(salt: str) -> str:
    if len(salt) > MAX_CACHE_SALT:
        raise InvalidRequest(
            f"cache_salt has {len(salt)} characters, at most {MAX_CACHE_SALT}", param="cache_salt"
        )
    return salt


def _stop_sequences(stop: str | list[str] | None) -> tuple[str, ...]:
    sequences = (stop,) if isinstance(stop, str) else tuple(stop or ())
    if len(sequences) > MAX_STOP_SEQUENCES:
        raise InvalidRequest(
            f"stop holds {len(sequences)} sequences, at most {MAX_STOP_SEQUENCES}", param="stop"
        )
    if "" in sequences:
        raise InvalidRequest("stop holds an empty sequence", param="stop")
    return sequences
