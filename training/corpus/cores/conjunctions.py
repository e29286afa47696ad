"""Two or three things that one sentence asks for: of several subjects, or several things about one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from training.corpus.arithmetic import LARGEST_FACTOR, LARGEST_TERM, is_held_out
from training.corpus.cores import animals, arithmetic, contrasts, countries, general
from training.corpus.cores.core import Core
from training.corpus.cores.relation import Relation, formatted, grammar
from training.corpus.wording.chat_frames import uncapitalised

# {1}, {2} and {3} are noun phrases.
JOINT = grammar(
    """
    What are {1} and {2}?
    What is {1} and {2}?
    What's {1} and [what's|what is|also|then|] {2}?
    What is {1}, and what is {2}?
    What is {1} [and what about|plus what is|and also what is|and how about|as well as|and then] {2}?
    [Tell me|Give me|Name|Say|Write down|Find|Show me|List|State] {1} and {2}[.|, please.||!]
    Please [tell me|give me|name|write] [both|] {1} and {2}.
    [Tell me|Give me|Name|Say|I need|I want] {1} and [also|then|after that|next|besides|in addition] {2}[.|, please.]
    [Tell me|Give me|Say] [not only|both|first] {1} [but also|and|and then] {2}[.|, please.]
    [Can|Could|Would|Will] you [tell|give] me {1} and {2}[?|, please?]
    [Do you know|Do you remember|Any idea of|Can you say|Could you name] {1} and {2}?
    [Do you know|Can you tell me|I wonder|I'd like to know|Tell me] what {1} and {2} are[?|.]
    [Do you know|Can you tell me|I wonder|I'd like to know|Tell me] what {1} is and what {2} is[?|.]
    I [need|want|am looking for|forgot|have to find|would like] {1} and {2}[.|, please.|. Help!|. What are they?]
    [I'm|We are|I am] [after|looking for|asked for|stuck on] {1} and {2}[.|, can you help?|. What are they?]
    [My|The] [homework|quiz|teacher|son|worksheet] [wants|asks for|needs] {1} and {2}[.|. What are they?]
    {1} and {2}
    {1} and {2}?
    {1} and {2}[, please.|, pls|, thanks|!| please]
    {1}, {2}
    {1}, {2}?
    {1} + {2}?
    {1} & {2}?
    {1}; {2}
    {1}? {2}?
    {1} [and also|as well as|along with|plus|and then|together with|but also] {2}[?|.|, please.|]
    [Both|First] {1} and [then|] {2}[.|, please.]
    [Two things|Both please|I need two answers|Answer both]: {1} and {2}[.|?|]
    [If|Once] you know {1}, [tell me|give me|say] {2} [too|as well], [and|please answer] both.
    How about {1} and {2}?
    [Now|So|And|Ok|Well][,|] what are {1} and {2}?
    * {1} [accompanied|followed] by {2}, please.
    * Let me hear {1} along with {2}.
    """
)
TRIPLE = grammar(
    """
    What are {1}, {2} and {3}?
    What is {1}, {2}, and {3}?
    What is {1}, what is {2} and what is {3}?
    [Tell me|Give me|Name|Say|Write down|Find|List] {1}, {2} and {3}[.|, please.|]
    [Tell me|Give me|Say] {1}, then {2} and [finally|last|after that] {3}[.|, please.]
    [Can|Could|Would] you [tell|give] me {1}, {2} and {3}?
    [Do you know|Do you remember|Any idea of|Can you name] {1}, {2} and {3}?
    I [need|want|am looking for|forgot] {1}, {2} and {3}[.|, please.|. Help!]
    {1}, {2} and {3}[?|.|, please.|]
    {1}, {2}, {3}[?|]
    {1} and {2} and {3}[?|]
    [Three things|All three please]: {1}, {2} and {3}[.|?|]
    * {1}, {2} and on top of that {3}.
    """
)
# {p} and {q} are two things to know about {x}.
ABOUT_ONE = grammar(
    """
    What are the {p} and [the|] {q} of {x}?
    What is the {p} and [the|] {q} of {x}?
    What is the {p} of {x} and what is its {q}?
    What is the {p} of {x} and [its|the] {q}?
    [Tell me|Give me|Name|Say|Write down|List|I need|I want] the {p} and [the|] {q} of {x}[.|, please.|]
    [Tell me|Give me|I need] both the {p} and the {q} of {x}[.|, please.]
    [Can|Could|Would] you [tell|give] me the {p} and [the|] {q} of {x}?
    [Do you know|Do you remember|Who knows] the {p} and [the|] {q} of {x}?
    the {p} and [the|] {q} of {x}[?|.|, please.|]
    {p} and {q} of {x}[?|]
    {p}, {q} of {x}[?|]
    {x}: {p} and {q}[?|]
    {x} - {p} and {q}[?|]
    {x}, [what is its|what is the|its] {p} and [its|] {q}?
    [About|Concerning|For|Take] {x}[:|,] what is the {p} and what is the {q}?
    I [am writing|have to write|need a card] about {x} and need the {p} and the {q}[.|, please.]
    [I know nothing|Tell me two things] about {x}: {p} and {q}[?|, please.|]
    Name {x}'s {p} and {q}[.|, please.]
    What {p} and what {q} does {x} have?
    * The {p} along with the {q} of {x}[?|.]
    """
)
_BY_SUBJECT: tuple[tuple[tuple[Relation, str], ...], ...] = (
    (
        (countries.CAPITAL_OF, "capital"),
        (countries.CONTINENT_OF, "continent"),
        (general.LANGUAGE_OF, "language"),
        (general.CURRENCY_OF, "currency"),
    ),
    (
        (animals.SOUND_OF, "sound"),
        (animals.LEGS_OF, "number of legs"),
        (animals.YOUNG_OF, "name of the baby"),
    ),
)
_OPERATORS = re.compile(r"plus|times|minus|sum of|product of|difference (?:of|between)|[-+*×]| x ")


def conjunction(rng: Random, relations: Sequence[Relation], held_out: bool = False) -> Core:
    """Noun phrases of several subjects, joined; the relations have phrases."""
    named = [_named(rng, relations) for _ in range(rng.choice((2, 2, 2, 3)))]
    text = (JOINT if len(named) == 2 else TRIPLE).say(rng, held_out)
    for place, core in enumerate(named, start=1):
        text = text.replace(f"{{{place}}}", core.text)
    return Core(
        named[0].kind,
        formatted(text, {}),
        " ".join(core.answer for core in named),
        tuple(name for core in named for name in core.entities),
    )


def about_one(rng: Random, held_out: bool = False) -> Core:
    """Two things about the same subject, in one phrase or by a question with a pronoun."""
    known = rng.choices(_BY_SUBJECT, (3, 1))[0]
    while True:
        (first, p), (second, q) = rng.sample(known, 2)
        shared = [x for x in first.pairs if x in second.pairs]
        if shared:
            break
    x = rng.choice(shared)
    pronouns = [asked for relation, _, asked in contrasts.PRONOUNS if relation is second]
    if pronouns and not held_out and rng.random() < 0.5:
        opening = first.core(rng, x=x).text
        more = pronouns[0].say(rng)
        if rng.random() < 0.7:
            text = f"{opening.rstrip('?.! ')}{rng.choice((' and', ', and', ' and also', ', and also', ','))} "
            text += uncapitalised(more[:1].upper() + more[1:])
        else:
            text = f"{opening if opening[-1] in '?.!' else opening + '?'} And {uncapitalised(more)}"
    else:
        forms = first.forms(x)
        text = ABOUT_ONE.say(rng, held_out)
        text = text.replace("{p}", p).replace("{q}", q).replace("{x}", forms.get("a", forms["x"]))
    return Core(first.kind, formatted(text, {}), f"{first.say(x)} {second.say(x)}", tuple(x.split()))


def _named(rng: Random, relations: Sequence[Relation]) -> Core:
    """A noun phrase and the answer to what it stands for."""
    if rng.random() < 0.25:
        return _calculation(rng)
    if rng.random() < 0.2:
        return general.named_fact(rng)
    relation = rng.choice(relations)
    x = relation.any_x(rng)
    return Core(relation.kind, relation.phrase(rng, x), relation.say(x), tuple(x.split()))


def _calculation(rng: Random) -> Core:
    operation = rng.choice((arithmetic.SUM, arithmetic.SUM, arithmetic.DIFFERENCE, arithmetic.PRODUCT))
    largest = LARGEST_FACTOR if operation is arithmetic.PRODUCT else LARGEST_TERM
    while True:
        a, b = rng.randint(0, largest), rng.randint(0, largest)
        if operation is arithmetic.DIFFERENCE:
            a, b = max(a, b), min(a, b)
        if operation is not arithmetic.SUM or not is_held_out(a, b):
            break
    while True:
        phrase = operation.phrases.say(rng)
        if _OPERATORS.search(phrase):
            break
    result = {"+": a + b, "-": a - b, "x": a * b}[operation.sign]
    text = arithmetic.filled(phrase, rng, (a, b))
    return Core(operation.kind, text[:1].lower() + text[1:], f"{a} {operation.sign} {b} = {result}.")
