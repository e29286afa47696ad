"""Second questions that leave out what the first one said: another fact, another sum, the one after, another word."""

from __future__ import annotations

from random import Random

from training.corpus.cores import arithmetic, general, instructions
from training.corpus.cores.calendar import NEXT_OF
from training.corpus.cores.core import Core
from training.corpus.cores.relation import grammar
from training.corpus.cores.rhymes import RHYME_OF
from training.corpus.cores.thread import KIND, Thread
from training.corpus.instructions import NUMBER_WORDS
from training.corpus.tables import siblings
from training.corpus.wording.grammar import Frame, draw, parse

AFTER_THAT = grammar(siblings.AFTER_THAT)
ANOTHER_SUM = grammar(siblings.ANOTHER_SUM)
AND_FOR = grammar(siblings.AND_FOR)
_SPOKEN = {"+": ("plus", "plus", "+", "and"), "-": ("minus", "minus", "-"), "x": ("times", "times", "x", "*")}


def _families() -> tuple[tuple[tuple[str, Frame], ...], ...]:
    """Each family's answers and their short names."""
    blocks = siblings.SIBLINGS.strip().split("\n\n")
    split = (tuple(line.split(" = ") for line in block.splitlines()) for block in blocks)
    return tuple(tuple((answer, parse(short)) for answer, short in lines) for lines in split)


_FAMILIES = _families()


def sibling_fact(rng: Random, held_out: bool = False) -> Thread:
    (answer, _), (other, short) = rng.sample(rng.choice(_FAMILIES), 2)
    text = " ".join(AND_FOR.say(rng, held_out).format(x=draw(short, rng)).split())
    return Thread((general.question_of(answer, rng),), _last(text, other))


def another_calculation(rng: Random, held_out: bool = False) -> Thread:
    make = arithmetic.MAKERS[rng.choice(("sums", "differences", "products"))]
    opening, other = make(rng, False), make(rng, False)
    left, sign, right = other.answer.split(" = ")[0].split(" ")
    expression = f"{left} {rng.choice(_SPOKEN[sign])} {right}"
    return Thread((opening,), _last(ANOTHER_SUM.say(rng, held_out).format(x=expression), other.answer))


def one_after(rng: Random, held_out: bool = False) -> Thread:
    """What comes after a day, a month or a season, and after that."""
    first = NEXT_OF.any_x(rng)
    second = NEXT_OF.pairs[first]
    return Thread((NEXT_OF.core(rng, x=first),), _last(AFTER_THAT.say(rng, held_out), NEXT_OF.say(second)))


def another_word(rng: Random, held_out: bool = False) -> Thread:
    """A rhyme, a list or capitals for one word after another."""
    match rng.randrange(3):
        case 0:
            first, second = rng.sample(list(RHYME_OF.pairs), 2)
            return Thread((RHYME_OF.core(rng, x=first),), _for_word(second, RHYME_OF.say(second), rng, held_out))
        case 1:
            opening, other = instructions.lists(rng), instructions.lists(rng)
            number = NUMBER_WORDS[other.answer.count(",") + 1]
            text = f"{number} {other.entities[0]}"
            return Thread((opening,), _for_word(text, other.answer, rng, held_out))
        case _:
            opening, other = instructions.uppercase(rng), instructions.uppercase(rng)
            return Thread((opening,), _for_word(other.answer.lower(), other.answer, rng, held_out))


def _for_word(word: str, answer: str, rng: Random, held_out: bool) -> Core:
    return _last(AND_FOR.say(rng, held_out).format(x=word), answer)


def _last(text: str, answer: str) -> Core:
    return Core(KIND, text[:1].upper() + text[1:], answer)
