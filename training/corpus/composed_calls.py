"""Calls with several arguments: each is asked for in its own part of the request, in any order.

Arguments have names of many forms, so that they must be read from the schema, and everyday values, so that they must
be copied from the request. Optional arguments are sometimes asked for, and only then given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from training.corpus.argument_values import Value, value_of
from training.corpus.instructions import NUMBER_WORDS
from training.corpus.sample import Sample, assistant, user
from training.corpus.tables.actions import ACTIONS
from training.corpus.tools import render_call
from training.corpus.wording.grammar import Frame, draw, parse
from training.corpus.words import NOUNS, new_word

_ASKED_RATE = 0.5
_IN_WORDS_RATE = 0.12
_DESCRIBED_RATE = 0.25
_REST = "{rest}"
# The kinds of values that tools report, numbers and texts.
_FIELD_KINDS = ("count", "amount", "percent", "degrees", "noun", "status", "status", "city", "hour", "code", "item")
Tool = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument of an action; its phrase is empty if only requests name it."""

    names: tuple[str, ...]
    kind: str
    phrase: Frame
    is_number: bool
    is_optional: bool

    @classmethod
    def read(cls, line: str) -> Slot:
        head, _, phrase = line.partition(" ~ ")
        names, kind = head.split(": ")
        spelled = names.removeprefix("?").split()
        return cls(
            names=tuple(name for name in spelled if name != "<n>"),
            kind=kind,
            phrase=parse(phrase) if phrase else (),
            is_number="<n>" in spelled,
            is_optional=names.startswith("?"),
        )


@dataclass(frozen=True, slots=True)
class Action:
    """What a tool does, its arguments, and the requests for it."""

    names: tuple[str, ...]
    description: str
    slots: tuple[Slot, ...]
    requests: tuple[Frame, ...]

    @classmethod
    def read(cls, block: str) -> Action:
        head, *lines = block.splitlines()
        names, description = head.split("; ")
        return cls(
            names=tuple(names.split()),
            description=description,
            slots=tuple(Slot.read(line) for line in lines if not line.startswith("- ")),
            requests=tuple(parse(line.removeprefix("- ")) for line in lines if line.startswith("- ")),
        )


@dataclass(frozen=True, slots=True)
class Argument:
    """A slot with the name that it has in a schema, and its value if the request gives one."""

    slot: Slot
    name: str
    value: Value | None


_BLOCKS = ACTIONS.strip().removeprefix("= ").split("\n= ")
_ACTIONS = tuple(Action.read(block) for block in _BLOCKS)
_WEIGHTS = [len(action.slots) for action in _ACTIONS]


def composed_call(rng: Random, difficulty: float = 1.0) -> Sample:
    """A request for one of the offered tools, and its call; the offer grows with difficulty, 0 to 1."""
    num_others = rng.choices((0, 1, 2, 3), (6, 3 * difficulty, 2 * difficulty, difficulty))[0]
    [action] = rng.choices(_ACTIONS, _WEIGHTS)
    others = rng.sample([other for other in _ACTIONS if other is not action], num_others)
    arguments = _arguments(action, rng)
    request = _request(action, arguments, rng)
    wanted = _schema(action, arguments, rng)
    offered = [wanted]
    for other in others:
        tool = _schema(other, _arguments(other, rng), rng)
        if tool["function"]["name"] != wanted["function"]["name"]:
            offered.append(tool)
    rng.shuffle(offered)
    given = {each.name: each.value for each in _required_first(arguments) if each.value is not None}
    return Sample("tool calls", (user(request), assistant(render_call(wanted["function"]["name"], given))), offered)


def _arguments(action: Action, rng: Random) -> list[Argument]:
    """The arguments in the order of the action; some optional ones are not in the schema at all."""
    arguments: list[Argument] = []
    for slot in action.slots:
        if slot.is_optional and rng.random() < 0.3:
            continue
        taken = {other.name for other in arguments}
        name = _spelled(rng.choice(slot.names), rng)
        while name in taken:
            name = f"{name}_{rng.choice(NOUNS)}"
        is_given = not slot.is_optional or rng.random() < _ASKED_RATE
        arguments.append(Argument(slot, name, value_of(slot.kind, rng) if is_given else None))
    return arguments


def _spelled(name: str, rng: Random) -> str:
    """The name in one of the forms that authors of schemas use."""
    lot = rng.random()
    if lot < 0.66:
        return name
    if lot < 0.78:
        return f"{rng.choice(('the', 'my', 'user', 'target', 'new', 'main', 'event', 'default', 'item'))}_{name}"
    if lot < 0.89:
        return f"{name}_{rng.choice(('name', 'value', 'text', 'id', 'field', 'string', 'info', new_word(rng)))}"
    if lot < 0.95:
        first, *rest = name.split("_")
        return first + "".join(word.capitalize() for word in rest or [rng.choice(("value", "name", "input"))])
    return f"{rng.choice(NOUNS)}_{name}"


def _request(action: Action, arguments: Sequence[Argument], rng: Random) -> str:
    """A request that gives the value of every argument that has one."""
    by_place = {action.slots.index(argument.slot): argument for argument in arguments}
    while True:
        text = draw(rng.choice(action.requests), rng)
        named = [place for place in range(len(action.slots)) if f"{{{place}}}" in text]
        left = [each for place, each in by_place.items() if each.value is not None and place not in named]
        is_complete = all(each.slot.phrase for each in left) and (not left or _REST in text)
        if is_complete and all(by_place[place].value is not None for place in named if place in by_place):
            break
    rng.shuffle(left)
    phrases = (draw(each.slot.phrase, rng).replace("{x}", _said(each, rng)) for each in left)
    rest = "".join(phrase if phrase.startswith(",") else f" {phrase}" for phrase in phrases)
    text = text.replace(_REST, rest)
    for place in named:
        text = text.replace(f"{{{place}}}", _said(by_place[place], rng))
    text = " ".join(text.split())
    begins_with_value = any(text.startswith(str(each.value)) for each in arguments)
    return text if begins_with_value or rng.random() < 0.15 else text[:1].upper() + text[1:]


def _said(argument: Argument, rng: Random) -> str:
    value = argument.value
    if isinstance(value, int) and value < len(NUMBER_WORDS) and value > 1 and rng.random() < _IN_WORDS_RATE:
        return NUMBER_WORDS[value]
    # The article of a common noun is no part of the name of a place.
    has_article = argument.slot.kind == "place" and str(value)[0].islower()
    return f"the {value}" if has_article else str(value)


def _required_first(arguments: Sequence[Argument]) -> list[Argument]:
    return sorted(arguments, key=lambda argument: argument.slot.is_optional)


def _schema(action: Action, arguments: Sequence[Argument], rng: Random) -> Tool:
    """A tool in the form of the OpenAI interface; the descriptions of its arguments are there or not."""
    is_described = rng.random() < _DESCRIBED_RATE
    ordered = _required_first(arguments)
    return {
        "type": "function",
        "function": {
            "name": _named(action, rng),
            "description": action.description if rng.random() < 0.9 else "",
            "parameters": {
                "type": "object",
                "properties": {each.name: _property(each, is_described) for each in ordered},
                "required": [each.name for each in ordered if not each.slot.is_optional],
            },
        },
    }


def _property(argument: Argument, is_described: bool) -> dict[str, str]:
    kind = {"type": "integer" if argument.slot.is_number else "string"}
    return kind | ({"description": f"The {argument.slot.names[0].replace('_', ' ')}."} if is_described else {})


def _named(action: Action, rng: Random) -> str:
    name = rng.choice(action.names)
    lot = rng.random()
    if lot < 0.75:
        return name
    if lot < 0.85:
        first, *rest = name.split("_")
        return first + "".join(word.capitalize() for word in rest)
    return rng.choice((f"{name}_{new_word(rng)}", f"my_{name}", f"{name}_tool", f"{new_word(rng)}_{name}"))


def composed_result(rng: Random) -> Sample:
    """A call, the fields that came back, and an answer that says all of them; or an error, and what it says."""
    call = composed_call(rng, 0.3)
    if rng.random() < 0.2:
        problem = str(value_of("problem", rng))
        content = json.dumps({rng.choice(("error", "error", "failure", "message")): problem})
        answer = f"That did not work: {problem}."
    else:
        result = {str(value_of("field", rng)): _field_value(rng) for _ in range(rng.choice((1, 1, 2, 2, 3)))}
        content = json.dumps(result)
        said = [f"the {field.replace('_', ' ')} is {value}" for field, value in result.items()]
        answer = f"{', '.join(said[:-1])}{' and ' if len(said) > 1 else ''}{said[-1]}."
        answer = answer[:1].upper() + answer[1:]
    messages = (*call.messages, {"role": "tool", "content": content}, assistant(answer))
    return Sample("tool results", messages, call.tools)


def _field_value(rng: Random) -> Value:
    return value_of(rng.choice(_FIELD_KINDS), rng)
