"""The range of each option; values outside are rejected with an error that names it, never clamped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cactus_actors.api.profiles import Profile
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.sampling_params import UNLIMITED

MAX_LOGIT_BIAS = 1024
MAX_LABEL = 256
"""Characters of an option that is a name."""

_MOST = 2**31 - 1

RANGES: Mapping[str, tuple[float, float]] = {
    "max_tokens": (UNLIMITED, _MOST),
    "min_tokens": (UNLIMITED, _MOST),
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "top_k": (-1, _MOST),
    "min_p": (0.0, 1.0),
    "typical_p": (0.0, 1.0),
    "seed": (-1, 2**64 - 1),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "repeat_penalty": (0.01, 100.0),
    "repeat_last_n": (-1, _MOST),
    "mirostat": (0, 2),
    "mirostat_tau": (0.0, 100.0),
    "mirostat_eta": (0.0, 1.0),
    "top_logprobs": (0, 20),
    "thinking_budget": (UNLIMITED, _MOST),
    "tool_rag_top_k": (0, 1024),
    "confidence_threshold": (0.0, 1.0),
    "cloud_handoff_threshold": (0.0, 1.0),
    "max_entropy": (0.0, 1.0),
    "timeout_ms": (1, 24 * 3600 * 1000),
    "priority": (-100, 100),
}
"""Field -> (lowest, highest), both allowed."""
_BIAS_RANGE = (-100.0, 100.0)


def check_ranges(given: Mapping[str, Any], profile: Profile) -> None:
    """Raise InvalidRequest, with `param`, for the first option that is out of range or not one of its values."""
    for name, limits in RANGES.items():
        if name in given:
            _check(name, given[name], *limits)
    _check("temperature", given.get("temperature", 0.0), 0.0, profile.max_temperature)
    _check_stop(given.get("stop", ()), profile.max_stop_sequences)
    _check_logit_bias(given.get("logit_bias", ()))
    for name in ("cache_salt", "user", "lora", "group"):
        if len(given.get(name, "")) > MAX_LABEL:
            raise InvalidRequest(f"{name} has {len(given[name])} characters, at most {MAX_LABEL}", param=name)
    if given.get("prompt_mode", "reasoning") != "reasoning":
        raise InvalidRequest("prompt_mode must be reasoning or null", param="prompt_mode")


def check_num_logprobs(name: str, value: int, profile: Profile) -> None:
    """Raise InvalidRequest if this number of likely tokens is too large."""
    _check(name, value, 0, profile.max_logprobs)


def _check(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:  # also refuses NaN
        raise InvalidRequest(
            f"{name} must be between {lowest} and {highest}, got {value!s:.40}", param=name.partition("[")[0]
        )


def _check_stop(stop: str | Sequence[str], most: int) -> None:
    if not isinstance(stop, str) and len(stop) > most:
        raise InvalidRequest(f"stop holds {len(stop)} sequences, at most {most}", param="stop")
    if stop == "" or "" in tuple(stop):
        raise InvalidRequest("stop holds an empty sequence", param="stop")


def _shown(key: int | str) -> str:
    return repr(key) if isinstance(key, str) and len(key) < 40 else f"{key!s:.40}"


def _check_logit_bias(bias: Mapping[str, float] | Sequence[tuple[int | str, float | bool]]) -> None:
    if len(bias) > MAX_LOGIT_BIAS:
        raise InvalidRequest(f"logit_bias holds {len(bias)} entries, at most {MAX_LOGIT_BIAS}", param="logit_bias")
    for key, value in bias.items() if isinstance(bias, Mapping) else bias:
        if value is True:
            raise InvalidRequest(f"logit_bias[{_shown(key)}] must be a number, or false for never", param="logit_bias")
        if value is not False:
            _check(f"logit_bias[{_shown(key)}]", value, *_BIAS_RANGE)
        if isinstance(bias, Mapping) and not (str(key).isascii() and str(key).isdecimal()):
            raise InvalidRequest(f"logit_bias[{_shown(key)}]: the keys of an object are token ids", param="logit_bias")
        if len(str(key)) > MAX_LABEL:
            raise InvalidRequest(f"logit_bias holds a text of more than {MAX_LABEL} characters", param="logit_bias")
