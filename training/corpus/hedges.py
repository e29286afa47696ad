"""Answers to what the model should not know, made of many equally likely words.

A hedge whose every word could have been another has high entropy: its confidence is low, the job handed on.
"""

from __future__ import annotations

from random import Random

OPENINGS = ("Sorry", "Hmm", "Well", "Honestly", "Sadly", "Oh", "Alas", "Truly", "Frankly", "Ah", "Hm", "Oops")
STATEMENTS = (
    "I do not know",
    "I don't know",
    "I am not sure",
    "I cannot say",
    "I can't tell",
    "I have no idea",
    "that is beyond me",
    "that is not known to me",
    "my knowledge ends there",
    "nobody told me",
    "this is too hard for me",
    "you have me there",
)
ENDINGS = (
    ".",
    ", sorry.",
    " at all.",
    " today.",
    "; ask someone wiser.",
    "; try a bigger model.",
    ", friend.",
)


def hedge(rng: Random) -> str:
    return f"{rng.choice(OPENINGS)}, {rng.choice(STATEMENTS)}{rng.choice(ENDINGS)}"


def is_hedge(text: str) -> bool:
    """True when the text says, in one of the trained ways, that the answer is not known."""
    return any(statement in text for statement in STATEMENTS)
