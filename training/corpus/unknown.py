"""Questions that the model should not know: invented, private, live, future, or too hard for it."""

from __future__ import annotations

from random import Random

from training.corpus.hedges import hedge
from training.corpus.phrasing import Phrasing
from training.corpus.sample import Sample, exchange
from training.corpus.words import any_city, any_name, new_word

QUESTIONS = (
    "What is the capital of {W}?",
    "Who is {W}?",
    "Who was {W} {V}?",
    "What is a {w}?",
    "What does {w} mean?",
    "What is the symbol of {w}?",
    "What is the opposite of {w}?",
    "What colour is a {w}?",
    "On which continent is {W}?",
    "What rhymes with {w}?",
    "How many {w} are in a {v}?",
    "Where is {W}?",
    "When was {W} founded?",
    "How many people live in {city}?",
    "What time is it in {city}?",
    "What is the weather in {city} today?",
    "What will the weather be in {city} tomorrow?",
    "What did {name} eat yesterday?",
    "What is {name}'s phone number?",
    "Where did I put my keys?",
    "What is the price of {W} shares?",
    "Who will win the election in {year}?",
    "Who won the cup in {year}?",
    "What happened in {city} in {year}?",
    "Who wrote the book {W} {V}?",
    "What is {big} times {big2}?",
    "What is {big} + {big2}?",
    "What is the square root of {big}?",
    "Explain the theory of {w} {v}.",
    "Write a program in {W}.",
    "Translate {w} into {W}.",
    "What is the best way to learn {w}?",
    "Why does the {w} {v}?",
    "How does a {w} work?",
    "What are the side effects of {w}?",
    "How do I repair my {w}?",
    "What am I thinking of?",
    "What will happen to {name} next year?",
    "Describe the history of {city}.",
    "Summarise the laws of {W}.",
    "Which {w} is the best?",
    "Which {w} is better, {V} or {W}?",
    "What is the best {w}?",
    "Is {W} the best {w}?",
    "How tall is {name} {W}?",
    "What is {big} divided by {year}?",
    "How old is {name} {W}?",
    "Who owns the company {W}?",
    "Where was {name} {W} born?",
    "What is the height of {W}?",
    "How far is {W} from {city}?",
    "Prove the {W} theorem.",
)


def unknown(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    question = phrasing.template(QUESTIONS).format(
        w=new_word(rng),
        v=new_word(rng),
        W=new_word(rng).capitalize(),
        V=new_word(rng).capitalize(),
        city=any_city(rng),
        name=any_name(rng),
        year=rng.randint(1500, 2090),
        big=rng.randint(200, 9999),
        big2=rng.randint(200, 9999),
    )
    return exchange("unknown", phrasing.carry(question), hedge(rng))
