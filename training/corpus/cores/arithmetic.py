"""Sums, differences, products and comparisons, and calculations beyond what the model can do.

In range, an answer writes the problem out. Out of range the very same wordings are asked, and answered by a hedge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from training.corpus.arithmetic import LARGEST_FACTOR, LARGEST_TERM, is_held_out
from training.corpus.cores import operations
from training.corpus.cores.core import Core
from training.corpus.hedges import hedge
from training.corpus.tables.numbers import in_words
from training.corpus.wording.grammar import Grammar
from training.corpus.wording.sentence_frames import INDIRECT, PHRASES
from training.corpus.words import NAMES, word_list

UNKNOWN = "unknown"
WORDS_RATE = 0.22
THINGS = word_list(
    """
    apples books eggs pens cards coins toys sweets cups flowers balls pencils stamps chairs tickets marbles stickers
    cookies oranges keys bananas cakes shells stones nuts plums photos
    """
)
_FILLED = ("{a}", "{b}", "{c}")
# Beside these, a term is written in digits.
_SIGNS = ("+", "-", "*", "/", "^", "%", "√", "(", "!", "}.{", "{a}x", "} x {")


@dataclass(frozen=True, slots=True)
class Operation:
    """Noun phrases and sentences with {a} and {b}, and the sign between them in the answer."""

    kind: str
    sign: str
    phrases: Grammar
    sentences: Grammar

    def wording(self, rng: Random, held_out: bool) -> str:
        if rng.random() < 0.3:
            return self.sentences.say(rng, held_out)
        frame_is_new = held_out and rng.random() < 0.5
        frames = operations.CALCULATIONS if rng.random() < 0.75 else PHRASES
        return frames.say(rng, frame_is_new).replace("{np}", self.phrases.say(rng, held_out and not frame_is_new))


SUM = Operation("sums", "+", operations.SUM_PHRASES, operations.SUM_SENTENCES)
DIFFERENCE = Operation("differences", "-", operations.DIFFERENCE_PHRASES, operations.DIFFERENCE_SENTENCES)
PRODUCT = Operation("products", "x", operations.PRODUCT_PHRASES, operations.PRODUCT_SENTENCES)
UNSOLVED = Operation(UNKNOWN, "", operations.UNSOLVED_PHRASES, operations.UNSOLVED_SENTENCES)
DOUBLINGS = Grammar.read(
    """
    double {a}
    [twice|two times|2 times] {a}
    {a} [doubled|twice]
    the double of {a}
    {a} plus [itself|the same again|the same]
    {a} [+|plus|and] {a}
    * {a} and once more {a}
    """
)
LARGER = ("larger", "bigger", "greater", "higher", "more")
SMALLER = ("smaller", "less", "lower")


def filled(template: str, rng: Random, terms: tuple[int, ...]) -> str:
    """The wording with its terms as digits or, now and then, in words, and with things and names."""
    joint = rng.choice("--- ")
    is_in_words = rng.random() < WORDS_RATE and not any(sign in template for sign in _SIGNS)
    said = [in_words(term, joint) if is_in_words and 0 <= term < 1_000_000 else str(term) for term in terms]
    if is_in_words and rng.random() < 0.2:
        said[0] = str(terms[0])
    one, other = rng.sample(NAMES, 2)
    text = template
    for place, term in zip(_FILLED, said, strict=False):
        text = text.replace(place, term)
    text = text.replace("{things}", rng.choice(THINGS)).replace("{name}", one).replace("{other}", other)
    return text[:1].upper() + text[1:]


def sums(rng: Random, held_out: bool = False) -> Core:
    while True:
        a, b = rng.randint(0, LARGEST_TERM), rng.randint(0, LARGEST_TERM)
        if rng.random() < 0.3:
            a, b = a % 21, b % 21
        if is_held_out(a, b) == held_out:
            break
    if not held_out and rng.random() < 0.05 and not is_held_out(a, a):
        phrase = DOUBLINGS.say(rng)
        text = filled(operations.CALCULATIONS.say(rng).replace("{np}", phrase), rng, (a,))
        return Core("sums", text, f"{a} + {a} = {a + a}.")
    text = filled(SUM.wording(rng, held_out), rng, (a, b))
    return Core("sums", text, f"{a} + {b} = {a + b}.")


def differences(rng: Random, held_out: bool = False) -> Core:
    a = rng.randint(0, LARGEST_TERM)
    if rng.random() < 0.3:
        a %= 21
    b = rng.randint(0, a)
    text = filled(DIFFERENCE.wording(rng, held_out), rng, (a, b))
    return Core("differences", text, f"{a} - {b} = {a - b}.")


def products(rng: Random, held_out: bool = False) -> Core:
    a, b = rng.randint(0, LARGEST_FACTOR), rng.randint(0, LARGEST_FACTOR)
    text = filled(PRODUCT.wording(rng, held_out), rng, (a, b))
    return Core("products", text, f"{a} x {b} = {a * b}.")


def comparisons(rng: Random, held_out: bool = False) -> Core:
    a, b = rng.sample(range(LARGEST_TERM + 1), 2)
    is_larger = rng.random() < 0.65
    more = rng.choice(LARGER if is_larger else SMALLER)
    first, second = (max(a, b), min(a, b)) if is_larger else (min(a, b), max(a, b))
    template = operations.COMPARISONS.say(rng, held_out)
    direct, _, indirect = template.partition(" => ")
    if indirect and rng.random() < 0.4:
        direct = INDIRECT.say(rng, held_out).replace("{i}", indirect)
    text = filled(direct.replace("{more}", more), rng, (a, b))
    return Core("comparisons", text, f"{first} is {'larger' if is_larger else 'smaller'} than {second}.")


def _large(rng: Random) -> int:
    """A number that the model cannot work with: most have three digits, some have many."""
    draw = rng.random()
    if draw < 0.12:
        return rng.choice((100, 101, 110, 120, 150, 200, 250, 300, 500, 1000, 1_000_000, 10_000))
    if draw < 0.6:
        return rng.randint(100, 999)
    return rng.randint(1000, 9999) if draw < 0.85 else rng.randint(10_000, 9_999_999)


def _beyond_sum(rng: Random) -> tuple[int, int]:
    terms = [_large(rng), rng.randint(0, LARGEST_TERM) if rng.random() < 0.5 else _large(rng)]
    rng.shuffle(terms)
    return terms[0], terms[1]


def _beyond_difference(rng: Random) -> tuple[int, int]:
    """A difference below zero, or of large numbers."""
    if rng.random() < 0.5:
        small, large = sorted(rng.sample(range(LARGEST_TERM + 1), 2))
        return small, large
    a, b = sorted(_beyond_sum(rng), reverse=True)
    return (a, b) if rng.random() < 0.85 else (b, a)


def _beyond_product(rng: Random) -> tuple[int, int]:
    factors = [
        rng.randint(LARGEST_FACTOR + 1, 99) if rng.random() < 0.7 else _large(rng),
        rng.randint(0, LARGEST_FACTOR) if rng.random() < 0.5 else rng.randint(LARGEST_FACTOR + 1, 120),
    ]
    rng.shuffle(factors)
    return factors[0], factors[1]


# Wordings that have a sensible answer in range whatever the order of their terms: no negative difference.
_EITHER_WAY = ("difference", "between", "gap", "distance", "far", "how much is missing")


def beyond(rng: Random, held_out: bool = False) -> Core:
    """A calculation that the model cannot do, worded like those that it can."""
    choices: tuple[tuple[Operation, Callable[[Random], tuple[int, ...]]], ...] = (
        (SUM, _beyond_sum),
        (DIFFERENCE, _beyond_difference),
        (PRODUCT, _beyond_product),
        (UNSOLVED, _any_terms),
    )
    operation, draw_terms = rng.choices(choices, (4, 4, 4, 5))[0]
    drawn = draw_terms(rng)
    while True:
        template = operation.wording(rng, held_out)
        is_negative = operation is DIFFERENCE and drawn[0] < drawn[1]
        if not is_negative or not any(word in template for word in _EITHER_WAY):
            break
    return Core(UNKNOWN, filled(template, rng, drawn), hedge(rng))


def _any_terms(rng: Random) -> tuple[int, ...]:
    return rng.randint(1, LARGEST_TERM), rng.randint(1, 20), rng.randint(1, 9)


MAKERS: dict[str, Callable[[Random, bool], Core]] = {
    "sums": sums,
    "differences": differences,
    "products": products,
    "comparisons": comparisons,
}
