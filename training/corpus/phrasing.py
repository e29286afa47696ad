"""The wording of questions by templates of a kind inside carrier phrases that all kinds share.

The last of every list of templates, and some carriers, are never trained on: the evaluation asks with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

# {q} is the question as it stands, {u} the same with its first letter uncapitalised.
TRAINED_CARRIERS = (
    "Please tell me: {q}",
    "Hi! {q}",
    "Hello. {q}",
    "Quick question: {q}",
    "I was wondering, {u}",
    "Can you help me? {q}",
    "{q} Thanks!",
    "{q} Thank you.",
    "One more thing: {q}",
    "Hey, {u}",
    "So, {u}",
    "Okay, {u}",
    "Now {u}",
    "Here is a question. {q}",
    "{q} Please answer.",
    "Tell me, {u}",
    "My turn: {u}",
    "Next: {q}",
    "I have a question: {u}",
    "{q} I would like to know.",
    "Good day! {q}",
    "For my homework: {q}",
)
HELD_OUT_CARRIERS = (
    "Hi there! {q}",
    "A short one: {q}",
    "{q} Thanks a lot!",
    "Well, {u}",
    "I need help. {q}",
)


@dataclass(frozen=True, slots=True)
class Wordings:
    """Ways to say something, and further ways that are never trained on."""

    trained: Sequence[str]
    held_out: Sequence[str]

    @classmethod
    def read(cls, text: str) -> Wordings:
        """Read `trained|trained || held out|held out`."""
        trained, held_out = text.split(" || ")
        return cls(tuple(trained.split("|")), tuple(held_out.split("|")))

    @classmethod
    def of(cls, templates: Sequence[str]) -> Wordings:
        """Hold out the last fifth: one of four templates, none of fewer."""
        num_held_out = len(templates) // 5 if len(templates) >= 5 else len(templates) // 4
        num_trained = len(templates) - num_held_out
        return cls(templates[:num_trained], templates[num_trained:])


class Phrasing:
    """Chooses wordings for one sample, from the trained ones or, for evaluation, from those held out."""

    def __init__(self, rng: Random, held_out: bool) -> None:
        self.rng = rng
        self.held_out = held_out
        # A held-out sample is new in its template, in its carrier, or in both.
        new = rng.choice(("template", "carrier", "both")) if held_out else "neither"
        self.new_template = new in ("template", "both")
        self.new_carrier = new in ("carrier", "both")

    def template(self, templates: Sequence[str] | Wordings) -> str:
        """One of the templates; if none is held out, the carrier must be a held-out one."""
        wordings = templates if isinstance(templates, Wordings) else Wordings.of(templates)
        if self.held_out and not wordings.held_out:
            self.new_carrier = True
        if self.new_template and wordings.held_out:
            return self.rng.choice(wordings.held_out)
        return self.rng.choice(wordings.trained)

    def alone(self, templates: Sequence[str] | Wordings) -> str:
        """A template without a carrier, so that it must be the held-out part itself."""
        self.new_template = self.held_out
        return self.template(templates)

    def carry(self, question: str, casual: bool = True) -> str:
        """The question inside a carrier phrase; casual ones may lose capitals and their question mark."""
        uncapitalised = question if question.startswith(("I ", "I'")) else question[:1].lower() + question[1:]
        if self.new_carrier:
            return self.rng.choice(HELD_OUT_CARRIERS).format(q=question, u=uncapitalised)
        draw = self.rng.random()
        if draw < 0.45 or self.held_out:
            return question
        if draw < 0.55 and casual:
            return question.rstrip("?.!").lower()
        return self.rng.choice(TRAINED_CARRIERS).format(q=question, u=uncapitalised)


def with_articles(text: str) -> str:
    """Write "an" for "a" before a vowel."""
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)
