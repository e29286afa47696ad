"""What an examination finds."""

from __future__ import annotations

from typing import Literal

import msgspec

Grade = Literal["good", "note", "bad"]


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was looked at, in words, with figures by name.

    With `note` a service runs, but slower or less safely than it could; with `bad` it does not start or does not run
    for long. `advice` says what to do about either.
    """

    subject: str
    grade: Grade
    text: str
    advice: str = ""
    figures: dict[str, float] = {}

    @classmethod
    def judged(cls, subject: str, text: str, *problems: tuple[bool, Grade, str], **figures: float) -> Finding:
        """A finding with the grade and the advice of the first problem that is there, good if none is."""
        for is_there, grade, advice in problems:
            if is_there:
                return cls(subject=subject, grade=grade, text=text, advice=advice, figures=figures)
        return cls(subject=subject, grade="good", text=text, figures=figures)
