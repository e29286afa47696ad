"""The requests that the tests of all clients share, and the checks of their answers."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

MODEL = "cactus-sprout"
CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
STORY = [{"role": "user", "content": "Tell me a short story about a fox."}]

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 20},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
CLOCK: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "The time of day",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}

PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "kind": {"enum": ["city", "river"]},
        "people": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["name", "kind", "people"],
    "additionalProperties": False,
}
PLACE_FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": PLACE, "strict": True}}


def check_place(text: str) -> None:
    """Raise unless `text` is an instance of PLACE, by a validator of another project."""
    jsonschema.validate(json.loads(text), PLACE)


def check_weather(name: str, arguments: str) -> None:
    """Raise unless this is a call of WEATHER with arguments that its schema allows."""
    assert name == "get_weather"
    jsonschema.validate(json.loads(arguments), WEATHER["function"]["parameters"])


ENDLESS = {
    "prompt": ["Once"] * 16,
    "n": 16,
    "max_tokens": 900,
    "ignore_eos": True,
    "stream": True,
    "user": "crowd",  # other tasks run meanwhile
}
