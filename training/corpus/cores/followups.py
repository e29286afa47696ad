"""Conversations of several turns whose last answer needs the earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from training.corpus.arithmetic import LARGEST_TERM
from training.corpus.cores import instructions
from training.corpus.cores.arithmetic import sums
from training.corpus.cores.contrasts import PRONOUNS
from training.corpus.cores.core import Core
from training.corpus.cores.elliptic_followups import another_calculation, another_word, one_after, sibling_fact
from training.corpus.cores.relation import UNKNOWN, grammar
from training.corpus.cores.relations import RELATIONS
from training.corpus.cores.talk import INTRODUCTIONS
from training.corpus.cores.thread import KIND, Thread
from training.corpus.hedges import hedge
from training.corpus.tables import threads
from training.corpus.wording.chat_frames import uncapitalised
from training.corpus.words import COMMON, any_name

AND_OF = grammar(threads.AND_OF)
AGAIN = grammar(threads.AGAIN)
WHO_AM_I = grammar(threads.WHO_AM_I)
AND_PLUS = grammar(threads.AND_PLUS)
AND_MINUS = grammar(threads.AND_MINUS)
AND_DOUBLE = grammar(threads.AND_DOUBLE)
WHY = grammar(threads.WHY)
IN_UPPERCASE = grammar(threads.IN_UPPERCASE)
_CHAINED = tuple(relation for relation in RELATIONS if relation.kind != "units")
_WITH_PRONOUN = tuple(relation for relation in RELATIONS if relation.pronoun is not None)


def thread(rng: Random, held_out: bool = False) -> Thread:
    [make] = rng.choices(list(_MAKERS), list(_MAKERS.values()))
    return make(rng, held_out)


def _same_relation(rng: Random, held_out: bool) -> Thread:
    relation = rng.choice(_CHAINED)
    chosen = rng.sample(list(relation.pairs), rng.choice((2, 2, 2, 3)))
    earlier = [relation.core(rng, x=chosen[0])]
    for x in chosen[1:-1]:
        text = AND_OF.say(rng).format(x=_short(relation.forms(x)))
        earlier.append(Core(relation.kind, text, relation.say(x), (x,)))
    x = chosen[-1]
    if relation.stranger is not None and rng.random() < 0.12:
        x = relation.stranger(rng)
        return Thread(tuple(earlier), Core(UNKNOWN, _and_of(rng, held_out, relation.forms(x)), hedge(rng), (x,)))
    text = _and_of(rng, held_out, relation.forms(x))
    return Thread(tuple(earlier), Core(KIND, text, relation.say(x), (x,)))


def _short(forms: Mapping[str, str]) -> str:
    return forms.get("a", forms["x"])


def _and_of(rng: Random, held_out: bool, forms: Mapping[str, str]) -> str:
    text = AND_OF.say(rng, held_out).format(x=_short(forms))
    return text[:1].upper() + text[1:]


def _pronoun(rng: Random, held_out: bool) -> Thread:
    second = rng.choice(_WITH_PRONOUN)
    firsts = [other for other in _WITH_PRONOUN if other.topic == second.topic and other is not second]
    first = rng.choice(firsts)
    x = rng.choice([x for x in second.pairs if x in first.pairs])
    assert second.pronoun is not None
    asking = [second.pronoun, *(asked for relation, _, asked in PRONOUNS if relation is second and not held_out)]
    text = rng.choice(asking).say(rng, held_out)
    if rng.random() < 0.3:
        text = f"{rng.choice(('And', 'Ok, and', 'Thanks. And', 'And now,', 'So'))} {uncapitalised(text)}"
    return Thread((first.core(rng, x=x),), Core(KIND, text[:1].upper() + text[1:], second.say(x)))


def _again(rng: Random, held_out: bool) -> Thread:
    opening = rng.choice(RELATIONS).core(rng)
    return Thread((opening,), Core(KIND, AGAIN.say(rng, held_out), opening.answer))


def _name(rng: Random, held_out: bool) -> Thread:
    name = any_name(rng)
    introduction = Core(
        "small talk", INTRODUCTIONS.say(rng).format(x=name), f"Nice to meet you, {name}!", (name,), is_literal=True
    )
    between = tuple(rng.choice(RELATIONS).core(rng) for _ in range(rng.choice((0, 0, 1, 1, 2))))
    return Thread((introduction, *between), Core(KIND, WHO_AM_I.say(rng, held_out), f"Your name is {name}."))


def _calculated(rng: Random, held_out: bool) -> Thread:
    """A sum, then the same with more, with less, or doubled."""
    while True:
        opening = sums(rng)
        total = int(opening.answer.split("= ")[1].rstrip("."))
        if total <= LARGEST_TERM:
            break
    match rng.choice(("plus", "plus", "minus", "double")):
        case "plus":
            more = rng.randint(1, 20)
            return Thread((opening,), _step(AND_PLUS.say(rng, held_out), more, f"{total} + {more} = {total + more}."))
        case "minus":
            less = rng.randint(0, min(total, 20))
            return Thread((opening,), _step(AND_MINUS.say(rng, held_out), less, f"{total} - {less} = {total - less}."))
        case _:
            return Thread((opening,), _step(AND_DOUBLE.say(rng, held_out), total, f"{total} + {total} = {2 * total}."))


def _step(template: str, term: int, answer: str) -> Core:
    text = template.format(b=term)
    return Core(KIND, text[:1].upper() + text[1:], answer)


def _why(rng: Random, held_out: bool) -> Thread:
    """The reason of a fact, which nobody taught."""
    text = WHY.say(rng, held_out)
    return Thread((rng.choice(RELATIONS).core(rng),), Core(UNKNOWN, text[:1].upper() + text[1:], hedge(rng)))


def _uppercase(rng: Random, held_out: bool) -> Thread:
    words = " ".join(rng.choice(COMMON) for _ in range(rng.choice((1, 1, 2))))
    text = instructions.ECHO_FRAMES.say(rng).format(x=words)
    opening = Core("repeat", text[:1].upper() + text[1:], words, tuple(words.split()), is_literal=True)
    return Thread((opening,), Core(KIND, IN_UPPERCASE.say(rng, held_out), words.upper()))


_MAKERS: Mapping[Callable[[Random, bool], Thread], int] = {
    _same_relation: 10,
    _pronoun: 5,
    _again: 4,
    _name: 5,
    _calculated: 4,
    _uppercase: 2,
    _why: 2,
    sibling_fact: 4,
    another_calculation: 4,
    one_after: 2,
    another_word: 3,
}
