"""A grammar of wordings: every line is a frame of a sentence with alternatives in brackets.

`[Tell|Give] me {x}[, please|].` stands for four wordings; brackets nest. A line that begins with "* " is held out:
only the evaluation draws from it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random

# Characters that wordings are compared without.
_UNSPOKEN = re.compile(r"[^\w{}+\-*'=]|_")
# A frame is texts and choices in turn; a choice is a tuple of frames, one of which is drawn.
Frame = tuple["str | Choice", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A place in a frame for one of several frames."""

    frames: tuple[Frame, ...]


def parse(text: str) -> Frame:
    """Read one line of the grammar; raises ValueError if brackets do not match."""
    choice, end = _parse_choice(text, 0)
    if end != len(text):
        raise ValueError(f"a bracket is closed that was not opened: {text!r}")
    if len(choice.frames) == 1:
        return choice.frames[0]
    return (choice,)


def _parse_choice(text: str, start: int) -> tuple[Choice, int]:
    """Read alternatives until the bracket that closes them, or the end; return them and where they end."""
    frames: list[Frame] = []
    parts: list[str | Choice] = []
    place, begun = start, start
    while place < len(text) and text[place] != "]":
        if text[place] not in "[|":
            place += 1
            continue
        parts.append(text[begun:place])
        if text[place] == "|":
            frames.append(tuple(parts))
            parts = []
        else:
            inner, place = _parse_choice(text, place + 1)
            if place >= len(text):
                raise ValueError(f"a bracket is never closed: {text!r}")
            parts.append(inner)
        place += 1
        begun = place
    parts.append(text[begun:place])
    frames.append(tuple(parts))
    return Choice(tuple(frames)), place


def draw(frame: Frame, rng: Random) -> str:
    """One wording of the frame; each choice is drawn evenly."""
    return "".join(part if isinstance(part, str) else draw(rng.choice(part.frames), rng) for part in frame)


def normalised(text: str) -> str:
    """The words of a text without their case and punctuation, to compare wordings."""
    return " ".join(_UNSPOKEN.sub(" ", text.lower()).split())


@dataclass(frozen=True, slots=True)
class Grammar:
    """Frames that are trained on, and frames that only the evaluation draws."""

    trained: tuple[Frame, ...]
    held_out: tuple[Frame, ...]
    reserved: Collection[str] = frozenset()

    @classmethod
    def read(cls, text: str, macros: Mapping[str, str] | None = None, reserved: Collection[str] = ()) -> Grammar:
        """Read the lines of a grammar.

        `<name>` stands for the macro of that name. Wordings whose normalised form is in reserved are never drawn
        for training.
        """
        trained: list[Frame] = []
        held_out: list[Frame] = []
        for line in text.strip().splitlines():
            line = line.strip()
            for name, body in (macros or {}).items():
                line = line.replace(f"<{name}>", f"[{body}]")
            (held_out if line.startswith("* ") else trained).append(parse(line.removeprefix("* ")))
        if not trained:
            raise ValueError("a grammar needs a line that is not held out")
        return cls(tuple(trained), tuple(held_out), frozenset(reserved))

    def say(self, rng: Random, held_out: bool = False) -> str:
        """One wording, from a held-out frame if that is requested and there is one."""
        if held_out and self.held_out:
            return " ".join(draw(rng.choice(self.held_out), rng).split())
        while True:
            wording = " ".join(draw(rng.choice(self.trained), rng).split())
            # A direct question and its indirect form are two wordings of one line.
            if not any(normalised(form) in self.reserved for form in wording.split(" => ")):
                return wording
