"""The options with which `cactus calibrate` has its questions answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def options_in_force(given: Mapping[str, Any]) -> dict[str, float]:
    """The options that decide on the tokens of an answer: the given ones, and the defaults of those that are not."""
    from cactus_actors.api.profiles import PROFILES

    defaults = PROFILES["cactus"]
    temperature = given.get("temperature", defaults.temperature)
    sampled = {"top_p": defaults.top_p, "top_k": defaults.top_k} if temperature else {}
    if temperature and "seed" in given:
        sampled["seed"] = given["seed"]
    return {"temperature": temperature, **sampled, "max_tokens": given.get("max_tokens", defaults.max_tokens)}


def option_lines(given: Mapping[str, Any]) -> Iterator[str]:
    """How the answers were chosen, with advice where their temperature is the default."""
    found = options_in_force(given)
    kind = "Sampled" if found["temperature"] else "Greedy"
    yield f"{kind} answers: {', '.join(f'{name} {value:g}' for name, value in found.items())}."
    if "temperature" not in given:
        yield "Calibrate with the options of your requests; --temperature 0 is greedy."
