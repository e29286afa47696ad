"""Facts about the world: a relation is a table of pairs and the ways to ask for one from the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from training.corpus import fact_tables as tables
from training.corpus.phrasing import Phrasing, with_articles
from training.corpus.sample import Sample, exchange


@dataclass(frozen=True, slots=True)
class Relation:
    """Pairs x -> y, questions with {x}, and one answer with {x} and {y}."""

    kind: str
    pairs: Mapping[str, str]
    questions: Sequence[str]
    answer: str

    def ask(self, phrasing: Phrasing, x: str) -> Sample:
        question = with_articles(phrasing.template(self.questions).format(x=x))
        question = question[:1].upper() + question[1:]
        return exchange(self.kind, phrasing.carry(question), self.say(x))

    def say(self, x: str) -> str:
        text = with_articles(self.answer.format(x=x, y=self.pairs[x]))
        return text[:1].upper() + text[1:]


def reversed_pairs(pairs: Mapping[str, str]) -> dict[str, str]:
    return {y: x for x, y in pairs.items()}


RELATIONS = (
    Relation(
        "capitals",
        tables.CAPITALS,
        (
            "What is the capital of {x}?",
            "Which city is the capital of {x}?",
            "Tell me the capital of {x}.",
            "Name the capital city of {x}.",
            "What is {x}'s capital?",
            "What's the capital of {x}?",
            "Do you know the capital of {x}?",
            "The capital of {x}?",
            "I need the capital city of {x}.",
            "What city is the capital of {x}?",
        ),
        "The capital of {x} is {y}.",
    ),
    Relation(
        "capitals",
        reversed_pairs(tables.CAPITALS),
        (
            "Which country has {x} as its capital?",
            "{x} is the capital of which country?",
            "What country is {x} the capital of?",
            "Of which country is {x} the capital?",
            "{x} is the capital of what country?",
        ),
        "{x} is the capital of {y}.",
    ),
    Relation(
        "continents",
        tables.CONTINENTS,
        (
            "On which continent is {x}?",
            "Which continent is {x} in?",
            "What continent is {x} on?",
            "What continent is {x} in?",
            "Tell me the continent of {x}.",
            "In what continent is {x}?",
            "Where in the world is {x}?",
            "{x} is on which continent?",
            "Name the continent of {x}.",
            "On what continent is {x}?",
        ),
        "{x} is in {y}.",
    ),
    Relation(
        "colours",
        tables.COLOURS,
        (
            "What colour is {x}?",
            "What color is {x}?",
            "Tell me the colour of {x}.",
            "Which colour does {x} have?",
            "What is the colour of {x}?",
            "What is the color of {x}?",
            "Which colour is {x}?",
            "Which color does {x} have?",
            "Name the colour of {x}.",
            "Tell me the color of {x}.",
        ),
        "{x} is {y}.",
    ),
    Relation(
        "animals",
        tables.SOUNDS,
        (
            "What sound does a {x} make?",
            "What does a {x} say?",
            "Which sound does a {x} make?",
            "What noise does a {x} make?",
            "Which noise does a {x} make?",
        ),
        "A {x} says {y}.",
    ),
    Relation(
        "animals",
        tables.YOUNG,
        (
            "What is a baby {x} called?",
            "What do you call a baby {x}?",
            "What is a young {x} called?",
            "What is the name of a baby {x}?",
            "What do you call a young {x}?",
        ),
        "A baby {x} is called a {y}.",
    ),
    Relation(
        "animals",
        tables.LEGS,
        (
            "How many legs does a {x} have?",
            "How many legs has a {x}?",
            "Tell me how many legs a {x} has.",
            "What number of legs does a {x} have?",
            "How many legs are on a {x}?",
        ),
        "A {x} has {y} legs.",
    ),
    Relation(
        "animals",
        tables.CLASSES,
        (
            "What kind of animal is a {x}?",
            "Is a {x} a mammal, a bird, a fish, a reptile or an insect?",
            "What type of animal is a {x}?",
            "Which kind of animal is a {x}?",
            "What sort of animal is a {x}?",
        ),
        "A {x} is {y}.",
    ),
    Relation(
        "elements",
        tables.ELEMENTS,
        (
            "What is the chemical symbol for {x}?",
            "What is the symbol of {x}?",
            "Tell me the symbol for {x}.",
            "Which symbol does {x} have?",
            "What is the chemical symbol of {x}?",
            "Give me the symbol of {x}.",
            "How is {x} written in chemistry?",
            "What symbol does {x} have?",
            "What's the chemical symbol of {x}?",
        ),
        "The symbol of {x} is {y}.",
    ),
    Relation(
        "elements",
        reversed_pairs(tables.ELEMENTS),
        (
            "Which element has the symbol {x}?",
            "What element is {x}?",
            "Which element is written {x}?",
            "What does the symbol {x} stand for?",
            "What element has the symbol {x}?",
        ),
        "{x} is the symbol of {y}.",
    ),
    Relation(
        "opposites",
        tables.OPPOSITES,
        (
            "What is the opposite of {x}?",
            "Tell me the opposite of {x}.",
            "What's the opposite of {x}?",
            "Give me the opposite of {x}.",
            "Which word is the opposite of {x}?",
            "What is the antonym of {x}?",
            "Say the opposite of {x}.",
            "What word means the opposite of {x}?",
            "Name the opposite of {x}.",
        ),
        "The opposite of {x} is {y}.",
    ),
    Relation(
        "days and months",
        tables.NEXT,
        (
            "What comes after {x}?",
            "What comes right after {x}?",
            "Which comes after {x}?",
            "What follows {x}?",
            "Tell me what comes after {x}.",
            "What is next after {x}?",
            "What is right after {x}?",
        ),
        "After {x} comes {y}.",
    ),
    Relation(
        "days and months",
        reversed_pairs(tables.NEXT),
        (
            "What comes before {x}?",
            "What comes right before {x}?",
            "Which comes before {x}?",
            "Tell me what comes before {x}.",
            "What is just before {x}?",
            "What is right before {x}?",
        ),
        "Before {x} comes {y}.",
    ),
    Relation(
        "days and months",
        tables.DAYS_IN_MONTH,
        (
            "How many days are in {x}?",
            "How many days does {x} have?",
            "How many days are there in {x}?",
            "Tell me how many days {x} has.",
            "What is the number of days in {x}?",
            "How many days has {x}?",
        ),
        "{x} has {y} days.",
    ),
    Relation(
        "days and months",
        tables.ORDINALS,
        (
            "What is the {x}?",
            "Which is the {x}?",
            "Tell me the {x}.",
            "Name the {x}.",
            "What's the {x}?",
        ),
        "The {x} is {y}.",
    ),
    Relation(
        "units",
        tables.UNITS,
        (
            "How many {x}?",
            "Tell me how many {x}.",
            "Do you know how many {x}?",
            "Can you tell me how many {x}?",
            "Say how many {x}.",
        ),
        "There are {y} {x}.",
    ),
    Relation(
        "general knowledge",
        tables.GENERAL,
        ("{x}", "Tell me: {x}", "Do you know? {x}", "Answer me: {x}"),
        "{y}",
    ),
)


def facts(rng: Random, held_out: bool, kind: str) -> Sample:
    """A question of the kind, its relations drawn by the number of their pairs."""
    relations = [relation for relation in RELATIONS if relation.kind == kind]
    relation = rng.choices(relations, [len(relation.pairs) ** 0.7 for relation in relations])[0]
    return relation.ask(Phrasing(rng, held_out), rng.choice(list(relation.pairs)))


FACT_KINDS = tuple(dict.fromkeys(relation.kind for relation in RELATIONS))
