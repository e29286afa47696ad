"""Tiny stories: a hero with a name, a thing, a trouble, a friend and a good end."""

from __future__ import annotations

import re
from random import Random

from training.corpus.phrasing import Phrasing, with_articles
from training.corpus.sample import Sample, exchange
from training.corpus.words import BOYS, GIRLS, word_list

ANIMALS = word_list("cat dog fox bear rabbit mouse duck frog owl lion horse goat hen wolf turtle squirrel")
THINGS = word_list("ball kite hat boat book drum lamp key shell bell coin cake map rope scarf")
PLACES = word_list("forest garden village meadow valley farm")
QUESTIONS = (
    "Tell me a story about a {animal} named {name}.",
    "Tell me a short story about a {animal} called {name}.",
    "Write a story about {name} the {animal}.",
    "Write a short story about a {animal} named {name}.",
    "I would like a story about a {animal} named {name}.",
    "Make up a story about {name} the {animal}.",
    "Can you tell me a story about {name} the {animal}?",
    "Tell a tiny story about a {animal} named {name}.",
    "Give me a story about a {animal} called {name}.",
    "Please write a tiny story about {name} the {animal}.",
)
NAMELESS_QUESTIONS = (
    "Tell me a story about a {animal}.",
    "Write a story about a {animal}.",
    "Tell me a short story about a {animal}.",
    "I want a story about a {animal}.",
    "Can you tell me a story about a {animal}?",
    "Make up a story about a {animal}.",
)
OPEN_QUESTIONS = (
    "Tell me a story.",
    "Tell me a short story.",
    "Write a story.",
    "I want to hear a story.",
    "Make up a story.",
    "Can you tell me a story?",
    "Please write a short story.",
    "Tell me a tiny story.",
)
# {N} the hero, {T} the thing, {P} the place, {F} the friend, {B} the friend's animal.
PLOTS = (
    "One day {N} lost {his} {T}. {N} looked in the {P}, but the {T} was not there. Then {F} the {B} came by. "
    "{F} had seen the {T} under a tree. They went there together and found the {T}.",
    "One day {N} found a {T} in the {P}. {N} wanted to know whose {T} it was. {N} asked {F} the {B}. "
    "The {T} belonged to {F}. {N} gave the {T} back, and {F} said thank you.",
    "One day {N} wanted to make a {T}. It was too hard to do alone. {N} asked {F} the {B} for help. "
    "They worked all morning. In the end they had a fine {T}.",
    "One day it began to rain, and {N} had no place to hide. {F} the {B} called from a small house. "
    "{N} went inside and was soon warm and dry. {N} gave {F} a {T} to say thank you.",
    "One day {N} saw {F} the {B} crying in the {P}. {F} had broken a {T}. {N} sat down and mended the {T}. "
    "{F} stopped crying and smiled.",
    "One day {N} and {F} the {B} both wanted the same {T}. First they were angry. "
    "Then {N} said that they could share it. So they played with the {T} together all day.",
)
ENDINGS = (
    "From that day on, {N} and {F} were best friends.",
    "{N} went home happy and slept well.",
    "{N} and {F} laughed all the way home.",
    "That night {N} was very happy.",
)


def story(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    girl = rng.random() < 0.5
    name = rng.choice(GIRLS if girl else BOYS)
    friend = rng.choice([other for other in GIRLS + BOYS if other != name])
    animal = rng.choice(ANIMALS)
    words = {
        "N": name,
        "T": rng.choice(THINGS),
        "P": rng.choice(PLACES),
        "F": friend,
        "B": rng.choice([other for other in ANIMALS if other != animal]),
        "his": "her" if girl else "his",
    }
    opening = f"Once there was a {animal} named {name}. {name} lived in a {words['P']}. "
    text = opening + rng.choice(PLOTS).format(**words) + " " + rng.choice(ENDINGS).format(**words)
    templates = rng.choices((QUESTIONS, NAMELESS_QUESTIONS, OPEN_QUESTIONS), (6, 2, 2))[0]
    question = with_articles(phrasing.template(templates).format(animal=animal, name=name))
    return exchange("stories", phrasing.carry(question, casual=False), with_articles(text))


def is_coherent(prompt: str, text: str) -> bool:
    """Check a story without reading it: who and what is in it stays the same from beginning to end.

    The hero is the one asked for, one other name appears and is introduced with an animal, one thing of the
    table appears and no other, no sentence is said twice, and there are 5 to 10 sentences, the last finished.
    """
    sentences = [sentence.strip() for sentence in re.split(r"(?<=[.!?])\s+", text.strip())]
    known = [name for name in GIRLS + BOYS if re.search(rf"\b{name}\b", text)]
    hero = re.search(r"named (\w+)", sentences[0])
    things = {thing for thing in THINGS if re.search(rf"\b{thing}\b", text)}
    asked = [name for name in GIRLS + BOYS if re.search(rf"\b{name}\b", prompt)]
    asked_animals = [animal for animal in ANIMALS if re.search(rf"\b{animal}\b", prompt)]
    friends = set(known) - {hero.group(1)} if hero else set()
    return (
        5 <= len(sentences) <= 10
        and text.rstrip().endswith((".", "!"))
        and len(set(sentences)) == len(sentences)
        and hero is not None
        and text.count(hero.group(1)) >= 2
        and len(friends) == 1
        and all(re.search(rf"\b{friend} the (?:{'|'.join(ANIMALS)})\b", text) for friend in friends)
        and len(things) == 1
        and all(name == hero.group(1) for name in asked)
        and all(animal in sentences[0] for animal in asked_animals)
    )
