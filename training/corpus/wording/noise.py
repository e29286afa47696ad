"""Noise as in typed text: case, punctuation, typing mistakes, short forms, and missing small words."""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random

from training.corpus.wording.misspellings import CONTRACTIONS, MISSPELLINGS

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NEIGHBOURS = {
    letter: "".join(
        other
        for y, other_row in enumerate(_ROWS)
        for x, other in enumerate(other_row)
        if abs(y - row_place) <= 1 and abs(x - place) <= 1 and other != letter
    )
    for row_place, row in enumerate(_ROWS)
    for place, letter in enumerate(row)
}
_WORDS = re.compile(r"[A-Za-z']+|[^A-Za-z']+")
_LEAST_LETTERS = 4
_LEAST_ENTITY_LETTERS = 5
_ARTICLES = re.compile(r"\b(?:the|a|an) ", re.IGNORECASE)
_AUXILIARIES = re.compile(r"\b(?:is|are|does|do) ", re.IGNORECASE)


def typo(word: str, rng: Random) -> str:
    """The word with one letter omitted, doubled, swapped with the next, or replaced by a neighbouring key."""
    place = rng.randrange(1, len(word) - 1) if len(word) > 3 else rng.randrange(len(word))
    letter = word[place]
    match rng.randrange(5):
        case 0:
            return word[:place] + word[place + 1 :]
        case 1:
            return word[:place] + letter + word[place:]
        case 2 | 3:
            return word[:place] + word[place + 1 : place + 2] + letter + word[place + 2 :]
        case _:
            return word[:place] + rng.choice(NEIGHBOURS.get(letter.lower(), letter)) + word[place + 1 :]


def with_typos(text: str, rng: Random, rate: float, entities: Collection[str], known: Collection[str]) -> str:
    """Misspell words at this rate, words of entities at a third of it, and never into another known word."""
    spared = {word.strip(".,?!:;\"'()").lower() for entity in entities for word in entity.split()}
    parts = _WORDS.findall(text)
    for place, word in enumerate(parts):
        if not word[0].isalpha():
            continue
        small = word.lower()
        if small in spared:
            if len(word) >= _LEAST_ENTITY_LETTERS and rng.random() < rate / 3:
                spoilt = typo(word, rng)
                if spoilt.lower() not in known:
                    parts[place] = spoilt
        elif rng.random() < rate:
            if small in MISSPELLINGS and rng.random() < 0.5:
                spelling = rng.choice(MISSPELLINGS[small])
                parts[place] = spelling.capitalize() if word[0].isupper() else spelling
            elif len(word) >= _LEAST_LETTERS and small not in known:
                parts[place] = typo(word, rng)
    return "".join(parts)


def _contracted(text: str, rng: Random) -> str:
    for phrase, shorts in CONTRACTIONS.items():
        place = text.lower().find(f"{phrase} ")
        if place >= 0 and (place == 0 or text[place - 1] == " ") and rng.random() < 0.5:
            short = rng.choice(shorts)
            if text[place].isupper():
                short = short.capitalize()
            text = text[:place] + short + text[place + len(phrase) :]
    return text


def _foreign(text: str, rng: Random) -> str:
    """The sentence without some articles or auxiliary verbs."""
    if rng.random() < 0.75:
        text = _ARTICLES.sub(lambda found: found.group() if rng.random() < 0.2 else "", text)
    if rng.random() < 0.4:
        text = _AUXILIARIES.sub("", text, count=1)
    return text


def _repunctuated(text: str, rng: Random) -> str:
    bare = text.rstrip("?.! ")
    draw = rng.random()
    if draw < 0.6:
        return bare
    if draw < 0.8:
        return bare + rng.choice(("??", "???", "?!", "!", "!!", "...", " ?", " ??", ".", " .", ","))
    if draw < 0.9:
        return re.sub(r"[,:;'\"]", "", bare)
    return text.replace(" ", "  ", 1)


def noisy(
    text: str,
    rng: Random,
    strength: float,
    entities: Collection[str] = (),
    known: Collection[str] = (),
    keeps_letters: bool = False,
) -> str:
    """Type the text as people do; strength 0 leaves it as it is, 1 spoils about two texts of three.

    With keeps_letters, the entities stay letter for letter and nothing at the end of the text changes.
    """
    if rng.random() > 0.66 * strength:
        return text
    if rng.random() < 0.25:
        text = _contracted(text, rng)
    has_typos = rng.random() < 0.45
    if keeps_letters:
        spared = [word for entity in entities for word in entity.split()]
        return _spoilt_around(text, rng, spared) if has_typos else text
    if rng.random() < 0.12:
        text = _foreign(text, rng)
    if has_typos:
        text = with_typos(text, rng, rng.choice((0.08, 0.15, 0.15, 0.3)), entities, known)
    if rng.random() < 0.5:
        text = _repunctuated(text, rng)
    draw = rng.random()
    if draw < 0.6:
        return text.lower()
    return text.upper() if draw < 0.63 else text


def _spoilt_around(text: str, rng: Random, spared: Collection[str]) -> str:
    """Typos in the words before the first protected one; all later words may belong to it."""
    ends = [place for word in spared if (place := text.find(word)) >= 0]
    end = min(ends, default=0)
    return with_typos(text[:end], rng, 0.2, (), ()) + text[end:]
