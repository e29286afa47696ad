"""All relations of facts, by kind."""

from __future__ import annotations

from random import Random

from training.corpus.cores import (
    animals,
    calendar,
    conjunctions,
    contrasts,
    countries,
    general,
    nature,
    units,
    vocabulary,
)
from training.corpus.cores.core import Core
from training.corpus.cores.relation import Relation
from training.corpus.wording.combination import after_statement

RELATIONS: tuple[Relation, ...] = (
    *countries.RELATIONS,
    *nature.RELATIONS[2:],
    *animals.RELATIONS,
    *nature.RELATIONS[:2],
    *vocabulary.RELATIONS,
    *calendar.RELATIONS,
    *units.RELATIONS,
    *general.RELATIONS,
)
FACT_KINDS = tuple(dict.fromkeys(relation.kind for relation in RELATIONS))
SEVERAL_RATE = 0.05
STATEMENT_RATE = 0.06
CONTRAST_RATE = 0.06
MENTION_RATE = 0.06
# Among several questions, how often phrases are joined, and how often both ask about one thing.
JOINED_RATE = 0.35
ABOUT_ONE_RATE = 0.2
_WITH_PHRASES = tuple(relation for relation in RELATIONS if relation.phrases is not None)
# A bare amount or number is no name that could follow alone.
_NAMED = tuple(relation for relation in RELATIONS if relation.kind != "units")


def relation_of(rng: Random, kind: str) -> Relation:
    """A relation of the kind, drawn by the number of its pairs."""
    relations = [relation for relation in RELATIONS if relation.kind == kind]
    return rng.choices(relations, [len(relation.pairs) ** 0.6 for relation in relations])[0]


def fact_core(rng: Random, kind: str, held_out: bool = False) -> Core:
    """A question of the kind: about one fact or several, about a thing mentioned before it, or beside another fact."""
    if rng.random() < MENTION_RATE and (mentioned := contrasts.mention(rng, kind, held_out)) is not None:
        return mentioned
    if kind == general.KIND and rng.random() < 0.55:
        return general.fact(rng, held_out)
    relation = relation_of(rng, kind)
    if relation.several is not None and rng.random() < SEVERAL_RATE:
        return relation.core_of_several(rng, held_out)
    if relation.phrases is not None and rng.random() < CONTRAST_RATE:
        return contrasts.contrast(rng, relation, _WITH_PHRASES, held_out)
    core = relation.core(rng, held_out)
    if rng.random() < STATEMENT_RATE:
        other = relation.any_x(rng)
        text = after_statement(core.text, relation.say(other), other, rng, held_out)
        return Core(core.kind, text, core.answer, core.entities)
    return core


def several_facts(rng: Random, held_out: bool = False) -> Core:
    """Things joined in one sentence, or one question and its shortened repetitions about other things."""
    draw = rng.random()
    if draw < JOINED_RATE:
        return conjunctions.conjunction(rng, _WITH_PHRASES, held_out)
    if draw < JOINED_RATE + ABOUT_ONE_RATE:
        return conjunctions.about_one(rng, held_out)
    relation = rng.choice(_NAMED)
    if relation.several is not None and rng.random() < 0.35:
        return relation.core_of_several(rng, held_out)
    return contrasts.ellipsis(rng, relation, held_out)
