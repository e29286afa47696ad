"""How one word is misspelt: slips of the fingers, spelling by ear, doubled or missing letters, no vowels."""

from __future__ import annotations

import re
from random import Random

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
# Spellings that sound alike; the left side is a pattern.
BY_EAR = tuple(
    (re.compile(pattern), heard)
    for pattern, heard in (
        ("tion", "shun"), ("ph", "f"), ("ck", "k"), ("igh", "i"), ("ee", "ea"), ("ea", "ee"), ("ou", "u"),
        ("^wh", "w"), ("^kn", "n"), ("^c(?=[aou])", "k"), ("c(?=[ei])", "s"), ("ss", "s"), ("ll", "l"), ("tt", "t"),
        ("pp", "p"), ("nn", "n"), ("mm", "m"), ("y$", "ie"), ("er$", "a"), ("or$", "er"), ("qu", "kw"), ("x", "ks"),
        ("ai", "ay"), ("ay", "ai"), ("ence$", "ance"), ("ance$", "ence"), ("able$", "ible"), ("^wr", "r"), ("ie", "ei"),
        ("ei", "ie"), ("ing$", "in"), ("oo", "u"), ("ow", "ou"), ("ch", "tch"), ("sh", "sch"), ("al$", "el"),
        ("el$", "le"), ("le$", "el"), ("e$", ""), ("th", "d"), ("s$", "z"), ("gh", ""), ("ent$", "ant"), ("u", "oo"),
    )
)  # fmt: skip
_VOWELS = re.compile("(?<=.)[aeiou](?=.)")


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


def by_ear(word: str, rng: Random) -> str:
    """The word with one or two parts spelt as they sound; a typo where nothing in it sounds like something else."""
    usable = [(pattern, heard) for pattern, heard in BY_EAR if pattern.search(word)]
    if not usable:
        return typo(word, rng)
    for pattern, heard in rng.sample(usable, min(len(usable), rng.choice((1, 1, 2)))):
        word = pattern.sub(heard, word, count=1)
    return word


def misspelt(word: str, rng: Random) -> str:
    """The word in one of the ways in which people misspell."""
    draw = rng.random()
    if draw < 0.6:
        return typo(word, rng)
    if draw < 0.85:
        return by_ear(word, rng)
    if draw < 0.93:
        return typo(typo(word, rng), rng)
    return _VOWELS.sub("", word)
