"""Describes a value of a wrong type or form: its field and the fault."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from cactus_actors.protocol.similar_name import similar_name
from cactus_actors.protocol.type_lookup import choices_at, fields_at, range_at

MAX_SHOWN_CHARACTERS = 300
"""Characters of a field's path and value in an error message."""
MAX_SHOWN_VALUE = 60
MAX_LISTED_CHOICES = 20

_PLACE = re.compile(r" - at (?P<key>`key` in )?`\$\.?(?P<path>.*)`$", re.S)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.S)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`", re.S)
_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "bytes": "bytes",
    "ext": "an extension",
}
_GOT = _WORDS | {"float": "a decimal number", "bool": "a boolean"}
_CHOICE = re.compile(r"Invalid (?:enum )?value (?P<value>.*)", re.S)
_TYPES = r"`(?P<types>[a-z |]+)`"
_OUT_OF_RANGE = re.compile(rf"Expected {_TYPES} (?P<bound>[<>]=? .*)")
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"Expected {_TYPES}, got `(?P<got>\w+)`"), " must be {types}, not {got}"),
    (re.compile(rf"Expected {_TYPES} matching regex (?P<detail>.*)", re.S), " must match {detail}"),
    (re.compile(rf"Expected {_TYPES} of ((?:at \w+ )?length .*)"), " has not the right length"),
    (re.compile(rf"Expected {_TYPES}"), " must be {types}"),
    (re.compile(r"(?:Integer value|Number) out of range"), " is a number out of range"),
)


class Mismatch(NamedTuple):
    """`param` is the path of the field, None for the value as a whole; `message` names it too."""

    param: str | None
    message: str


def mismatch_of(error: msgspec.ValidationError, kind: Any = None, inside: str | None = None) -> Mismatch:
    """The decoder's error on the first wrong field, in JSON's terms.

    With `kind`, the decoded type, the message lists the accepted names and values. Fields of the object `inside`
    are named without it.
    """
    text = str(error)
    place = _PLACE.search(text)
    reason = text[: place.start()] if place else text
    full_path = path = place["path"] if place else ""
    if inside is not None:
        path = path.removeprefix(f"{inside}.")
    if named := _UNKNOWN.fullmatch(reason) or _MISSING.fullmatch(reason):
        path = ".".join(part for part in (path if path != inside else "", named["name"]) if part)
        if named.re is _MISSING:
            message = f"{path} is required"
        else:
            message = f"unknown field {path!r}{similar_name(named['name'], fields_at(kind, full_path))}"
    else:
        subject = f"a key of {path or 'the object'}" if place and place["key"] else path or "the value"
        if chosen := _CHOICE.fullmatch(reason):
            message = subject + _choice(chosen["value"], choices_at(kind, full_path), range_at(kind, full_path))
        elif bounded := _OUT_OF_RANGE.fullmatch(reason):
            message = f"{subject} must be {range_at(kind, full_path) or bounded['bound']}"
        else:
            message = subject + _in_words(reason)
    return Mismatch(path[:MAX_SHOWN_CHARACTERS] or None, message[:MAX_SHOWN_CHARACTERS])


def _choice(value: str, choices: list[str], bounds: str) -> str:
    if value in choices:  # the decoder accepts it, except for the `type` by which it chose the kind of the message
        return " is given twice in one object, with two values; give it once"
    shown = value if len(value) <= MAX_SHOWN_VALUE else f"{value[:MAX_SHOWN_VALUE]}…"
    if not choices:
        return f": {shown} is not one of its values"
    listed = ", ".join(choices[:MAX_LISTED_CHOICES]) + (", …" if len(choices) > MAX_LISTED_CHOICES else "")
    number = f", nor a number of {bounds}" if bounds else ""
    return f": {shown} is not one of {listed}{number}"


def _in_words(reason: str) -> str:
    for form, words in _FORMS:
        found = form.fullmatch(reason)
        if found is not None:
            parts = found.groupdict()
            names = [_WORDS.get(name, name) for name in (parts.get("types") or "").split(" | ")]
            got = _GOT.get(parts.get("got") or "", "that")
            return words.format(types=" or ".join(names), got=got, detail=parts.get("detail"))
    return f": {reason}"
