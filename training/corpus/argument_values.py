"""The values of tools' arguments as people write them: everyday phrases, titles, codes, files and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

from training.corpus.tables.sayings import VALUES as SAYINGS
from training.corpus.wording.grammar import Frame, draw, parse
from training.corpus.words import any_city, any_name, any_word

Value = str | int
# A phrase is not what people type if a made-up word stands in it too often.
_NEW_WORD_RATE = 0.15
_PART = re.compile(r"<(\w+)>")
_FIGURE = re.compile(r"{(\w)}")


def _number(low: int, high: int, step: int = 1) -> Callable[[Random], int]:
    return lambda rng: rng.randrange(low, high + 1, step)


NUMBERS: Mapping[str, Callable[[Random], int]] = {
    "minutes": lambda rng: rng.choice((rng.randint(1, 20), rng.randrange(5, 121, 5))),
    "count": _number(1, 12),
    "amount": lambda rng: rng.choice((rng.randint(1, 99), rng.randrange(10, 1001, 10), rng.randint(1, 2500))),
    "percent": lambda rng: rng.choice((rng.randint(0, 100), rng.randrange(10, 101, 10))),
    "degrees": _number(12, 28),
    "year": _number(1950, 2026),
}
_FIGURES: Mapping[str, Callable[[Random], str]] = {
    "n": lambda rng: str(rng.choice((rng.randint(1, 99), rng.randint(10, 999)))),
    "d": lambda rng: str(rng.randint(1, 30)),
    "h": lambda rng: f"{rng.randint(7, 23):02d}",
    "k": lambda rng: str(rng.randint(1, 9)),
    "b": lambda rng: str(rng.randint(0, 2)),
    "m": lambda rng: rng.choice(("00", "15", "30", "45", "10", "20", "40", "05", "50", "25")),
    "A": lambda rng: rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ"),
}


def _read(text: str) -> Mapping[str, tuple[Frame, ...]]:
    """The frames of each kind."""
    blocks = (block.partition("\n") for block in text.strip().removeprefix("= ").split("\n= "))
    return {kind: tuple(parse(line) for line in lines.splitlines()) for kind, _, lines in blocks}


_KINDS = _read(SAYINGS)


def value_of(kind: str, rng: Random) -> Value:
    """A value of the kind: a number, or a text."""
    if kind in NUMBERS:
        return NUMBERS[kind](rng)
    if kind == "city":
        return any_city(rng)
    return _said(kind, rng)


def _said(kind: str, rng: Random) -> str:
    if kind == "name":
        return any_name(rng)
    if kind == "city":
        return any_city(rng)
    if kind == "noun" and rng.random() < _NEW_WORD_RATE:
        return any_word(rng)
    text = draw(rng.choice(_KINDS[kind]), rng)
    text = _FIGURE.sub(lambda found: _FIGURES[found[1]](rng), text)
    text = _PART.sub(lambda found: _part(found[1], rng), text)
    if kind == "email":
        text = text.replace(" ", "").lower()
    if kind == "file":
        text = text.replace(" ", "_")
    return " ".join(text.split())


def _part(name: str, rng: Random) -> str:
    said = _said(name.lower(), rng)
    return said.capitalize() if name[0].isupper() else said
