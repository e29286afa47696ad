"""Conversations of more than one turn, where the last answer needs the turns before it."""

from __future__ import annotations

from random import Random

from training.corpus.arithmetic import LARGEST_TERM, sums
from training.corpus.facts import RELATIONS
from training.corpus.phrasing import Phrasing
from training.corpus.sample import Sample, assistant, user
from training.corpus.smalltalk import INTRODUCTIONS
from training.corpus.words import COMMON, any_name

AND_OF = (
    "And {x}?",
    "What about {x}?",
    "And for {x}?",
    "How about {x}?",
    "The same for {x}, please.",
    "Now {x}.",
    "And what about {x}?",
    "And now {x}?",
)
AGAIN = (
    "Say that again.",
    "Can you repeat that?",
    "Repeat that, please.",
    "What did you say?",
    "Pardon?",
    "Once more, please.",
    "Come again?",
    "Please say it again.",
    "Could you repeat that?",
)
WHO_AM_I = (
    "What is my name?",
    "Who am I?",
    "Do you remember my name?",
    "Tell me my name.",
    "What am I called?",
    "Can you tell me my name?",
    "What's my name?",
)
AND_PLUS = (
    "And plus {b}?",
    "Add {b} to that.",
    "Plus {b}?",
    "And {b} more?",
    "Now add {b}.",
    "Plus {b} more?",
)
SAME_IN_UPPERCASE = (
    "Now in uppercase.",
    "In uppercase, please.",
    "And in capital letters?",
    "Make it uppercase.",
    "Now in capital letters.",
)


def followup(rng: Random, held_out: bool) -> Sample:
    make = rng.choices((_same_relation, _again, _name, _plus, _uppercase), (5, 2, 3, 2, 1))[0]
    return make(rng, held_out)


def _same_relation(rng: Random, held_out: bool) -> Sample:
    relation = rng.choice([r for r in RELATIONS if r.kind != "general knowledge"])
    first, second = rng.sample(list(relation.pairs), 2)
    opening = relation.ask(Phrasing(rng, False), first)
    question = Phrasing(rng, held_out).alone(AND_OF).format(x=second)
    return Sample("follow-ups", (*opening.messages, user(question), assistant(relation.say(second))))


def _again(rng: Random, held_out: bool) -> Sample:
    relation = rng.choice(RELATIONS)
    opening = relation.ask(Phrasing(rng, False), rng.choice(list(relation.pairs)))
    question = Phrasing(rng, held_out).alone(AGAIN)
    return Sample("follow-ups", (*opening.messages, user(question), assistant(opening.wanted)))


def _name(rng: Random, held_out: bool) -> Sample:
    name = any_name(rng)
    relation = rng.choice(RELATIONS)
    between = relation.ask(Phrasing(rng, False), rng.choice(list(relation.pairs))).messages
    messages = (
        user(Phrasing(rng, False).template(INTRODUCTIONS).format(x=name)),
        assistant(f"Nice to meet you, {name}!"),
        *(between if rng.random() < 0.4 else ()),
        user(Phrasing(rng, held_out).alone(WHO_AM_I)),
        assistant(f"Your name is {name}."),
    )
    return Sample("follow-ups", messages)


def _plus(rng: Random, held_out: bool) -> Sample:
    while True:
        opening = sums(rng, False)
        total = int(opening.wanted.split("= ")[1].rstrip("."))
        if total <= LARGEST_TERM:
            break
    more = rng.randint(1, 20)
    question = Phrasing(rng, held_out).alone(AND_PLUS).format(b=more)
    answer = f"{total} + {more} = {total + more}."
    return Sample("follow-ups", (*opening.messages, user(question), assistant(answer)))


def _uppercase(rng: Random, held_out: bool) -> Sample:
    words = " ".join(rng.choice(COMMON) for _ in range(rng.choice((1, 1, 2))))
    question = Phrasing(rng, held_out).alone(SAME_IN_UPPERCASE)
    messages = (user(f"Repeat after me: {words}"), assistant(words), user(question), assistant(words.upper()))
    return Sample("follow-ups", messages)
