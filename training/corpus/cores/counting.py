"""Counting what the message itself names: words, letters, items of a list, and those of one kind among them."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import grammar
from training.corpus.instructions import LISTS
from training.corpus.words import COMMON, NAMES, THINGS, any_sentence

KIND = "count"
# {t} is a text, {s} a text in quotes or after a colon.
WORDS = grammar(
    """
    How many words [are there|are|do you see|do you count|stand] in [the sentence|the text|the line|this|this \
    sentence|]{s}
    How many words [has|does] [the sentence|the text|this sentence|the phrase]{s} [have|]
    [Count|Please count|Can you count|Could you count|Now count] the words [in|of] [this|the sentence|this text|]{s}
    [What is|What's|Tell me|Give me|I need] the number of words [in|of] [this|the sentence|the following|]{s}
    [Number|Count] of words [in|of] [this|]{s}
    [The sentence|The text|This]{s} has how many words?
    [Of|From] how many words [is|does] [this|the sentence] [made|consist]{s}
    * How long, [in words|counted in words], is{s}
    * Words in{s}
    """
)
LETTERS = grammar(
    """
    How many letters [are there|are|do you see|do you count] in [the word|the name|]{s}
    How many letters [has|does] [the word|]{s} [have|]
    [Count|Please count|Can you count|Could you count|Now count] the letters [in|of] [the word|]{s}
    [What is|What's|Tell me|Give me|I need] the number of letters [in|of] [the word|]{s}
    [Number|Count] of letters [in|of] [the word|]{s}
    [The word|]{s} has how many letters?
    [With|From] how many letters do [I|you] [write|spell] [the word|]{s}
    * How long, [in letters|counted in letters], is{s}
    * Letters in{s}
    """
)
ITEMS = grammar(
    """
    How many [things|items|entries|elements] [are|are there] in [this list|my list|the list|the following \
    list]: {l}[?|]
    How many [things|items|entries] does [this list|my list|the list] [have|contain]: {l}[?|]
    How many [things|items] [do I name|did I name|do I list|are these|are named here|do you count]: {l}[?|]
    [Count|Please count|Can you count|Could you count] [these|the things|the items|the following|these things]: \
    {l}[?|.|]
    {l}: how many [things|items] [are|is] [that|these|it]?
    {l}. How many [things|items] [are there|are these|is that|did I name|have I got]?
    I [bought|have|need|see|packed] {l}. How many [things|items] [are that|is that|do I have|are these]?
    [My|The] list [is|has|says] {l}. How many [things|items] [are on it|is that|does it have]?
    [In my bag|On the table|In the room] [are|there are|I find] {l}. How many things[ are there| is that|]?
    [What is|Tell me|Give me] the number of [items|things|entries] in {l}[.|?|]
    {name} [has|buys|brings] {l}. How many [things|items] [is that|are these|does {name} have]?
    * The length of [this|the] list: {l}[?|]
    * {l}: [tell|say] how many I [wrote|said].
    """
)
AMONG = grammar(
    """
    How many [of these|of the following|of them|of the words|of these words] are {k}: {l}[?|]
    How many {k} [are|are there|do you see|do you find|can you find] in [this list|the list|my list|the following]: \
    {l}[?|]
    How many {k} [are|are there] [among|in]: {l}[?|]
    How many {k} [do I name|did I name|do I list|are named here|are listed]: {l}[?|]
    [Count|Please count|Can you count|Could you count|Now count] the {k}[ in this list| here| among these|]: {l}[?|.|]
    {l}: how many {k} [are there|are these|are among them|do you count]?
    {l}. How many [are {k}|of these are {k}|{k} are there|of them are {k}]?
    I [bought|have|see|like|wrote down] {l}. How many {k} [are there|is that|are among them|do I have]?
    [My|The] list [is|has|says] {l}. How many [{k} are on it|of them are {k}|are {k}]?
    [What is|Tell me|Give me|I need] the number of {k} in {l}[.|?|]
    [{k}|Only the {k}], how many: {l}[?|]
    {name} [says|writes|names] {l}. How many {k} [is that|are there|does {name} name]?
    * [Sum up|Tally] the {k}: {l}[.|]
    * From {l} [pick|take] the {k}; how many [did you pick|are they]?
    """
)


def said(number: int, singular: str, plural: str) -> str:
    """The answer: how many there are."""
    return f"There is 1 {singular}." if number == 1 else f"There are {number} {plural}."


def counting(rng: Random, held_out: bool = False) -> Core:
    make = rng.choices((_words, _letters, _items, _among), (3, 3, 3, 4))[0]
    return make(rng, held_out)


def _core(text: str, answer: str, names: list[str]) -> Core:
    text = " ".join(text.split()).replace(" ?", "?")
    return Core(KIND, text[:1].upper() + text[1:], answer, tuple(names), is_literal=True)


def _cited(text: str, rng: Random, frame: str) -> str:
    """The frame with the text in quotes, or after a colon where it comes last."""
    if frame.endswith("{s}") and rng.random() < 0.5:
        return frame.replace("{s}", f": {text}")
    quoted = rng.choice((f' "{text}"', f" '{text}'"))
    filled = frame.replace("{s}", quoted)
    return filled if filled.endswith(("?", ".")) else filled + rng.choice(("?", "?", "", "."))


def _words(rng: Random, held_out: bool) -> Core:
    text = any_sentence(rng) if rng.random() < 0.6 else " ".join(rng.sample(COMMON, rng.randint(1, 8)))
    words = text.split()
    return _core(_cited(text, rng, WORDS.say(rng, held_out)), said(len(words), "word", "words"), words)


def _letters(rng: Random, held_out: bool) -> Core:
    word = rng.choice((rng.choice(COMMON), rng.choice(THINGS), rng.choice(NAMES)))
    frame = LETTERS.say(rng, held_out)
    text = frame.replace("{s}", f" {word}") if rng.random() < 0.4 else _cited(word, rng, frame)
    return _core(text, said(len(word), "letter", "letters"), [word])


def _listed(names: list[str], rng: Random) -> str:
    last = rng.choice((" and ", ", and ", ", ", ", "))
    return ", ".join(names[:-1]) + last + names[-1] if len(names) > 1 else names[0]


def _items(rng: Random, held_out: bool) -> Core:
    kind = rng.choice(list(LISTS))
    pool = LISTS[kind] if rng.random() < 0.3 else rng.choice((COMMON, THINGS, NAMES))
    names = rng.sample(pool, min(len(pool), rng.randint(2, 7)))
    text = ITEMS.say(rng, held_out).replace("{l}", _listed(names, rng)).replace("{name}", rng.choice(NAMES))
    return _core(text, said(len(names), "thing", "things"), names)


def _among(rng: Random, held_out: bool) -> Core:
    """Items of one kind among those of another that shares none with it."""
    kind, other = rng.sample(_KINDS, 2)
    while set(LISTS[kind]) & set(LISTS[other]) or {kind, other} in _OVERLAPPING:
        kind, other = rng.sample(_KINDS, 2)
    wanted = rng.sample(LISTS[kind], rng.randint(1, 4))
    names = [*wanted, *rng.sample(LISTS[other], rng.randint(0, 3))]
    rng.shuffle(names)
    text = AMONG.say(rng, held_out).replace("{l}", _listed(names, rng)).replace("{k}", kind)
    text = text.replace("{name}", rng.choice(NAMES))
    return _core(text, said(len(wanted), SINGULARS.get(kind, kind.removesuffix("s")), kind), names)


SINGULARS = {"countries": "country", "cities": "city", "fish": "fish", "clothes": "piece of clothing"}
_KINDS = sorted(LISTS)
# Kinds of which one contains things of the other: a bird is an animal, an orange is a colour.
_OVERLAPPING = (
    *({"animals", kind} for kind in ("birds", "insects", "fish")),
    {"flowers", "colours"},
    {"metals", "colours"},
    {"fruits", "trees"},
    {"fruits", "vegetables"},
)
