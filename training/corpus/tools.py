"""Tool calls: which tool, and every argument, can only be read from the prompt.

Two sources. Everyday families have natural requests; their names and those of their arguments vary. Invented
tools are a verb and a noun with any arguments, asked for plainly: nothing about them can be remembered.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from random import Random
from typing import Any

from training.corpus.phrasing import Phrasing
from training.corpus.sample import Sample, assistant, user
from training.corpus.tool_tables import FAMILIES, VALUES, Parameter, ToolFamily, Value
from training.corpus.words import COMMON, NOUNS, VERBS, new_word

Tool = Mapping[str, Any]
INVENTED_REQUESTS = (
    "Would you {verb} the {noun}{arguments}?",
    "You should {verb} a {noun}{arguments}.",
    "Let us {verb} this {noun}{arguments}.",
    "I must {verb} that {noun}{arguments}.",
    "{verb} the {noun}{arguments}.",
    "Please {verb} a {noun}{arguments}.",
    "{verb} {noun}{arguments}",
    "I want to {verb} the {noun}{arguments}.",
    "Can you {verb} a {noun}{arguments}?",
    "{verb} my {noun}{arguments}.",
    "We need to {verb} the {noun}{arguments}.",
    "Could you {verb} the {noun}{arguments}?",
    "Help me {verb} this {noun}{arguments}.",
    "I would like to {verb} a {noun}{arguments}.",
)
INVENTED_ARGUMENTS = (
    " whose {name} is {value}",
    " using {name} {value}",
    " for {name} {value}",
    " having the {name} {value}",
    "; the {name} is {value}",
    " with {name} {value}",
    ", {name} {value}",
    ", {name}: {value}",
    " where {name} is {value}",
)
INVENTED_PARAMETERS = tuple(
    (name, value)
    for value, names in {
        "name": "owner author user friend guest client",
        "city": "city town place station",
        "word": "label tag title key group kind topic brand mode style",
        "count": "count number size limit pages",
        "amount": "price width height weight score",
        "level": "level percent speed",
        "code": "code id ref",
        "day": "day date",
        "clock": "time start",
        "colour": "colour",
        "file": "file source",
    }.items()
    for name in names.split()
)


def render_call(name: str, arguments: Mapping[str, Value]) -> str:
    """The text of a call, as the chat template writes it."""
    call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{call}\n</tool_call>"


def _tool(name: str, description: str, parameters: Sequence[tuple[str, str]], optional: Sequence[str] = ()) -> Tool:
    """A tool in the form of the OpenAI interface; parameters are (name, type), all of them required first."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {parameter: {"type": kind} for parameter, kind in parameters}
                | {parameter: {"type": "string"} for parameter in optional},
                "required": [parameter for parameter, _ in parameters],
            },
        },
    }


def _respelled(rng: Random, name: str) -> str:
    """Often something else than the family's name, so that the name must be read and not remembered."""
    draw = rng.random()
    if draw < 0.55:
        return name
    if draw < 0.65:
        return f"{name}_{rng.choice(('tool', 'api', 'now', 'v2', 'service', new_word(rng)))}"
    if draw < 0.75:
        return f"{rng.choice(('my', 'do', 'run', 'call', 'home', new_word(rng)))}_{name}"
    if draw < 0.85:
        first, *rest = name.split("_")
        return first + "".join(word.capitalize() for word in rest)
    if draw < 0.93:
        return f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}"
    return new_word(rng) if draw < 0.97 else f"{new_word(rng)}_{new_word(rng)}"


def _everyday(family: ToolFamily, phrasing: Phrasing, difficulty: float) -> tuple[Tool, str, str]:
    """A tool of the family, a request, and the call that answers it."""
    name = _respelled(phrasing.rng, phrasing.template(family.names))
    spelled: list[tuple[Parameter, str]] = []
    for parameter in family.parameters:
        taken = {other for _, other in spelled}
        names = [n for n in parameter.names if n not in taken]
        if phrasing.rng.random() < 0.12:
            names = [n for n in COMMON if n not in taken]
        spelled.append((parameter, phrasing.rng.choice(names)))
    values = [VALUES[parameter.value](phrasing.rng) for parameter, _ in spelled]
    template = family.request(phrasing)
    if template.endswith("}") and family.requests.trained:
        template = phrasing.alone(family.requests)
    request = template.format(*values)
    # A text at the very end must stay the end of the request: a carrier after it would become part of it.
    carried = phrasing.carry(request, casual=False)
    if not request.endswith((".", "?")) and not carried.endswith(request):
        carried = request
    arguments = {word: value for (_, word), value in zip(spelled, values, strict=True)}
    unasked = _unasked(phrasing.rng, arguments, difficulty)
    tool = _tool(name, family.description, [(word, parameter.type) for parameter, word in spelled], unasked)
    return tool, carried, render_call(name, arguments)


def _description(rng: Random, verb: str, noun: str, names: Sequence[str]) -> str:
    """The description of an invented tool; it may contain names of arguments that the request does not give."""
    plain = f"{verb.capitalize()} a {noun}."
    if not names or rng.random() < 0.5:
        return plain
    name = rng.choice(names)
    return rng.choice(
        (
            "",
            f"{verb.capitalize()} a {name} {noun}.",
            f"{verb.capitalize()} a {noun} by {' and '.join(names)}.",
            f"{verb.capitalize()} the {noun} of a {name}.",
            f"A {noun} with a {name} to {verb}.",
        )
    )


def _invented(phrasing: Phrasing, num_arguments: int, difficulty: float) -> tuple[Tool, str, str]:
    rng = phrasing.rng
    verb = rng.choice(VERBS)
    noun = rng.choice(NOUNS if rng.random() < 0.6 else COMMON) if rng.random() < 0.8 else new_word(rng)
    name = f"{verb}{noun.capitalize()}" if rng.random() < 0.15 else f"{verb}_{noun}"
    parameters = rng.sample(INVENTED_PARAMETERS, num_arguments)
    if rng.random() < 0.2:
        parameters = [(rng.choice(COMMON), value) for _, value in parameters[:1]] + parameters[1:]
    arguments = {word: VALUES[value](rng) for word, value in parameters}
    said = "".join(
        phrasing.template(
            INVENTED_ARGUMENTS
            if place == 0
            else (", {name} {value}", " and {name} {value}", " and the {name} is {value}")
        ).format(name=word, value=value)
        for place, (word, value) in enumerate(arguments.items())
    )
    request = phrasing.template(INVENTED_REQUESTS).format(verb=verb, noun=noun, arguments=said)
    request = request[:1].upper() + request[1:]
    tool = _tool(
        name,
        _description(rng, verb, noun, list(arguments)),
        [(word, "integer" if isinstance(value, int) else "string") for word, value in arguments.items()],
        _unasked(rng, arguments, difficulty),
    )
    carried = phrasing.carry(request, casual=False)
    return (
        tool,
        carried if carried.endswith(request) or request.endswith((".", "?")) else request,
        render_call(name, arguments),
    )


def _any_tool(phrasing: Phrasing, difficulty: float) -> tuple[Tool, str, str]:
    rng = phrasing.rng
    most = 1 if difficulty < 0.2 else 2 if difficulty < 0.6 else 3
    if rng.random() < 0.6:
        families = [family for family in FAMILIES if len(family.parameters) <= most]
        return _everyday(rng.choice(families), phrasing, difficulty)
    return _invented(phrasing, rng.choices((0, 1, 2, 3)[: most + 1], (1, 5, 4, 2)[: most + 1])[0], difficulty)


def _unasked(rng: Random, taken: Container[str], difficulty: float) -> list[str]:
    """Names of optional parameters that the request does not mention, so the call must leave them out."""
    if rng.random() > 0.3 * difficulty:
        return []
    return [name for name, _ in rng.sample(INVENTED_PARAMETERS, rng.choice((1, 1, 2))) if name not in taken]


def _offer(wanted: Tool, phrasing: Phrasing, difficulty: float) -> list[Tool]:
    """The wanted tool among others of different names, in any order."""
    rng = phrasing.rng
    num_others = 0 if difficulty < 0.1 else rng.choices((0, 1, 2, 3), (5, 3, 2, 1 if difficulty > 0.5 else 0))[0]
    names = {wanted["function"]["name"]}
    descriptions = {wanted["function"]["description"]}
    offered = [wanted]
    while len(offered) <= num_others:
        other, _, _ = _any_tool(phrasing, difficulty)
        function = other["function"]
        if function["name"] not in names and (function["description"] or "?") not in descriptions:
            names.add(function["name"])
            descriptions.add(function["description"])
            offered.append(other)
    rng.shuffle(offered)
    return offered


def tool_call(rng: Random, held_out: bool, difficulty: float = 1.0) -> Sample:
    phrasing = Phrasing(rng, held_out)
    tool, request, call = _any_tool(phrasing, difficulty)
    return Sample("tool calls", (user(request), assistant(call)), _offer(tool, phrasing, difficulty))


def tool_result(rng: Random, held_out: bool) -> Sample:
    """A call, what came back, and an answer that says it."""
    phrasing = Phrasing(rng, held_out)
    tool, request, call = _any_tool(phrasing, 1.0)
    key, value = rng.choice(INVENTED_PARAMETERS)
    result = VALUES[value](rng)
    content = json.dumps({key: result}) if rng.random() < 0.7 else json.dumps({"result": result})
    answer = f"The {next(iter(json.loads(content)))} is {result}."
    messages = (user(request), assistant(call), {"role": "tool", "content": content}, assistant(answer))
    return Sample("tool results", messages, _offer(tool, phrasing, 0.3))


def no_tool(rng: Random, held_out: bool, other: Sample) -> Sample:
    """Tools are offered, but the other sample's question needs none of them."""
    phrasing = Phrasing(rng, held_out)
    tool, _, _ = _any_tool(phrasing, 0.5)
    return Sample("no tool needed", other.messages, [tool], other.accepted)


def parsed_call(text: str) -> tuple[str, Mapping[str, Any]] | None:
    """The name and arguments of the one call in a text, or None where there is no well-formed one."""
    body = text.strip().removeprefix("<tool_call>").removesuffix("</tool_call>").strip()
    try:
        call = json.loads(body)
        return str(call["name"]), dict(call["arguments"])
    except (ValueError, TypeError, KeyError):
        return None
