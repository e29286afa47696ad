"""Small talk: the intents of smalltalk.py in more wordings."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import grammar
from training.corpus.smalltalk import INTENTS
from training.corpus.tables import talk
from training.corpus.words import any_name

KIND = "small talk"


def _blocks() -> dict[str, list[str]]:
    """The lines of each block by the intent's first wording."""
    blocks: dict[str, list[str]] = {}
    for block in talk.TALK.strip().removeprefix("= ").split("\n= "):
        name, *lines = block.splitlines()
        blocks[name] = lines
    return blocks


_MORE = _blocks()
_TALKS = tuple(
    (grammar("\n".join((*intent.ways.trained, *_MORE.get(intent.ways.trained[0], ())))), intent.answer)
    for intent in INTENTS
)
INTRODUCTIONS = grammar(talk.INTRODUCTIONS)


def talk_core(rng: Random, held_out: bool = False) -> Core:
    if rng.random() < 0.1:
        name = any_name(rng)
        text = INTRODUCTIONS.say(rng, held_out).format(x=name)
        return Core(KIND, text, f"Nice to meet you, {name}!", (name,), is_literal=True)
    wordings, answer = rng.choice(_TALKS)
    text = wordings.say(rng, held_out)
    return Core(KIND, text[:1].upper() + text[1:], answer)
