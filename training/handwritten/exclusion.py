"""Keeps questions of the test set out of the training: equal ones, and those that a slip or a greeting away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from training.corpus.sample import Message

MIN_LETTERS = 12
"""Shorter questions are compared as they are: one letter more or less is another question."""
MIN_WORDS = 4
_SENTENCE_END = re.compile(r"[.?!;\n]+")
_WORD = re.compile(r"[^\W_]+")
_COURTESIES = frozenset(("hello", "hey", "hi", "kindly", "ok", "okay", "please", "thank", "thanks", "you"))


class Exclusion:
    """Questions that no training sample may ask.

    A text is too near to a question if, without case, spaces and punctuation, they are equal or differ by one letter,
    or by two that changed places; or if they have the same words in any order, greetings and thanks aside. Other
    digits are another question. Each sentence of a text counts too, if it is long enough.
    """

    def __init__(self, questions: Iterable[str]) -> None:
        texts = list(questions)
        self._exact = {_letters_of(text) for text in texts}
        long = [letters for letters in self._exact if len(letters) >= MIN_LETTERS]
        self._edited = {short for letters in long for short in _shortened(letters)} | set(long)
        self._words = {words for text in texts if len(words := _words_of(text)) >= MIN_WORDS}

    def excludes(self, messages: Iterable[Message]) -> bool:
        """True if a message of the user asks one of the questions."""
        return any(self.is_near(str(message["content"])) for message in messages if message["role"] == "user")

    def is_near(self, text: str) -> bool:
        """True if the text, or one of its sentences, is too near to a question."""
        if _letters_of(text) in self._exact:
            return True
        return any(map(self._is_edited, (text, *_SENTENCE_END.split(text))))

    def _is_edited(self, text: str) -> bool:
        letters = _letters_of(text)
        if len(letters) < MIN_LETTERS:
            return False
        if letters in self._edited or _words_of(text) in self._words:
            return True
        return any(short in self._edited for short in _shortened(letters))


def _letters_of(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _words_of(text: str) -> tuple[str, ...]:
    return tuple(sorted(word for word in _WORD.findall(text.lower()) if word not in _COURTESIES))


def _shortened(letters: str) -> Iterator[str]:
    """The text without one of its letters; digits stay."""
    return (letters[:place] + letters[place + 1 :] for place, letter in enumerate(letters) if not letter.isdigit())
