"""All relations of facts, by kind."""

from __future__ import annotations

from random import Random

from training.corpus.cores import animals, calendar, countries, general, nature, units, vocabulary
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


def relation_of(rng: Random, kind: str) -> Relation:
    """A relation of the kind, drawn by the number of its pairs."""
    relations = [relation for relation in RELATIONS if relation.kind == kind]
    return rng.choices(relations, [len(relation.pairs) ** 0.6 for relation in relations])[0]


def fact_core(rng: Random, kind: str, held_out: bool = False) -> Core:
    """A question of the kind: about one fact, about several at once, or beside a statement of another."""
    if kind == general.KIND and rng.random() < 0.55:
        return general.fact(rng, held_out)
    relation = relation_of(rng, kind)
    if relation.several is not None and rng.random() < SEVERAL_RATE:
        return relation.core_of_several(rng, held_out)
    core = relation.core(rng, held_out)
    if rng.random() < STATEMENT_RATE:
        other = relation.any_x(rng)
        text = after_statement(core.text, relation.say(other), other, rng, held_out)
        return Core(core.kind, text, core.answer, core.entities)
    return core
