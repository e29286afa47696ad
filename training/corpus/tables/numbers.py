"""Numbers in words."""

from __future__ import annotations

from training.corpus.words import word_list

SMALL = word_list(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
)
TENS = word_list("zero ten twenty thirty forty fifty sixty seventy eighty ninety")


def in_words(number: int, joint: str = "-") -> str:
    """The number, from 0 to 999999, in words; joint stands inside twenty-one."""
    if number < 20:
        return SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return TENS[tens] + (joint + SMALL[ones] if ones else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    many, rest = divmod(number, size)
    text = f"{in_words(many, joint)} {name}"
    return f"{text} {in_words(rest, joint)}" if rest else text
