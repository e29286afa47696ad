"""Noise as in typed text: case, punctuation, typing mistakes, short forms, and missing small words."""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random

from training.corpus.wording.misspellings import CONTRACTIONS, MISSPELLINGS
from training.corpus.wording.spelling import by_ear, misspelt, typo

_WORDS = re.compile(r"[A-Za-z']+|[^A-Za-z']+")
# The share of misspelt words: in every fourth spoilt text it is nearly half.
TYPO_RATES = (0.08, 0.15, 0.15, 0.25, 0.3, 0.45, 0.45)
RUN_TOGETHER_RATE = 0.12
_LEAST_LETTERS = 4
_LEAST_ENTITY_LETTERS = 4
# Entities are misspelt more rarely than other words, and never so much that they cannot be read.
_ENTITY_RATE = 0.5
_ENTITY_BY_EAR_RATE = 0.4
_ARTICLES = re.compile(r"\b(?:the|a|an) ", re.IGNORECASE)
_GAPS = re.compile(r"(?<=[a-z]) (?=[a-z])")
_AUXILIARIES = re.compile(r"\b(?:is|are|does|do) ", re.IGNORECASE)


def with_typos(text: str, rng: Random, rate: float, entities: Collection[str], known: Collection[str]) -> str:
    """Misspell words at this rate, words of entities at half of it, and never into another known word."""
    spared = {word.strip(".,?!:;\"'()").lower() for entity in entities for word in entity.split()}
    parts = _WORDS.findall(text)
    for place, word in enumerate(parts):
        if not word[0].isalpha():
            continue
        small = word.lower()
        if small in spared:
            if len(word) >= _LEAST_ENTITY_LETTERS and rng.random() < rate * _ENTITY_RATE:
                spoilt = by_ear(word, rng) if rng.random() < _ENTITY_BY_EAR_RATE else typo(word, rng)
                if spoilt.lower() not in known:
                    parts[place] = spoilt
        elif rng.random() < rate:
            if small in MISSPELLINGS and rng.random() < 0.5:
                spelling = rng.choice(MISSPELLINGS[small])
                parts[place] = spelling.capitalize() if word[0].isupper() else spelling
            elif len(word) >= _LEAST_LETTERS and small not in known:
                parts[place] = misspelt(word, rng)
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


def _run_together(text: str, rng: Random) -> str:
    """The text without some of its spaces between small words, as fast typing loses them."""
    return _GAPS.sub(lambda _: "" if rng.random() < 0.12 else " ", text)


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
    has_typos = rng.random() < 0.5
    if keeps_letters:
        spared = [word for entity in entities for word in entity.split()]
        return _spoilt_around(text, rng, spared) if has_typos else text
    if rng.random() < 0.12:
        text = _foreign(text, rng)
    if has_typos:
        text = with_typos(text, rng, rng.choice(TYPO_RATES), entities, known)
        if rng.random() < RUN_TOGETHER_RATE:
            text = _run_together(text, rng)
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
