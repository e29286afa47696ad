"""A relation: a table of pairs, and every form of sentence that asks for one from the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from training.corpus.cores.core import Core
from training.corpus.hedges import hedge
from training.corpus.phrasing import with_articles
from training.corpus.wording.grammar import Grammar
from training.corpus.wording.reserved import RESERVED
from training.corpus.wording.sentence_frames import INDIRECT, MACROS, PHRASES

UNKNOWN = "unknown"
# The share of questions of a relation about something that is not in its table.
STRANGER_RATE = 0.16
OTHER_NAME_RATE = 0.25
CORRECTION_RATE = 0.1
# The placeholders that name an x; others are parts of it, which cannot be corrected by themselves.
NAME_FORMS = frozenset(("x", "bare", "adj", "a", "xs", "the", "quoted", "single"))
CORRECTIONS = Grammar.read(
    """
    {z}, no, {x}
    {z}, no wait, {x}
    {z}... no, {x}
    {z}, sorry, {x}
    {z}, I mean {x}
    {z}, sorry, I [mean|meant] {x}
    {z}, or rather {x}
    {z}, oops, {x}
    {z}, wait, [no,|] I meant {x}
    {x}, not {z},
    {x} (not {z})
    {x} and not {z}
    not {z} but {x}
    not {z}, {x}
    {x} rather than {z}
    {x} instead of {z}
    {z}, actually {x}
    {z}, correction, {x}
    * {z}, scratch that, {x}
    * {x}, certainly not {z},
    * {z}, hmm, make that {x}
    """
)

Forms = Callable[[str], Mapping[str, str]]


def plain_forms(x: str) -> Mapping[str, str]:
    return {"x": x}


def grammar(text: str) -> Grammar:
    """A kind's own frames, which may use the shared macros."""
    return Grammar.read(text, MACROS, RESERVED)


@dataclass(frozen=True)
class Relation:
    """Pairs x -> y with an answer of {x} and {y}, and ways to ask.

    phrases are noun phrases that stand for y. questions are whole sentences, or `direct => indirect` where the
    indirect form can stand inside another sentence. several asks for the y of two or three x at once, {x} being
    their enumeration. pronoun asks about what the sentence before was about. forms gives the placeholders for an x;
    a wording with a placeholder that x does not have is drawn again. stranger draws an x that is not in the table.
    """

    kind: str
    pairs: Mapping[str, str]
    answer: str
    questions: Grammar
    phrases: Grammar | None = None
    several: Grammar | None = None
    pronoun: Grammar | None = None
    topic: str = ""
    forms: Forms = plain_forms
    stranger: Callable[[Random], str] | None = None
    other_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def say(self, x: str) -> str:
        text = with_articles(self.answer.format(x=x, y=self.pairs[x]))
        return text[:1].upper() + text[1:]

    def any_x(self, rng: Random) -> str:
        return rng.choice(list(self.pairs))

    def core(self, rng: Random, held_out: bool = False, x: str | None = None) -> Core:
        """A question about x, or about any x, sometimes about one that is not in the table."""
        if x is None and self.stranger is not None and rng.random() < STRANGER_RATE:
            unknown = self.stranger(rng)
            return Core(UNKNOWN, self._ask(rng, held_out, unknown, unknown), hedge(rng), tuple(unknown.split()))
        chosen = x or self.any_x(rng)
        name = chosen
        if chosen in self.other_names and rng.random() < OTHER_NAME_RATE:
            name = rng.choice(self.other_names[chosen])
        return Core(self.kind, self._ask(rng, held_out, chosen, name), self.say(chosen), tuple(name.split()))

    def phrase(self, rng: Random, x: str) -> str:
        """A noun phrase that stands for the y of x."""
        assert self.phrases is not None
        forms = self.forms(x)
        while True:
            try:
                return self.phrases.say(rng).format(**forms)
            except KeyError:
                continue

    def core_of_several(self, rng: Random, held_out: bool = False) -> Core:
        """One sentence that asks about two or three x; the answers follow one another in order."""
        assert self.several is not None
        chosen = rng.sample(list(self.pairs), rng.choice((2, 2, 2, 3)))
        text = formatted(self.several.say(rng, held_out), {"x": enumeration(chosen, rng)})
        return Core(self.kind, text, " ".join(self.say(x) for x in chosen), tuple(" ".join(chosen).split()))

    def _ask(self, rng: Random, held_out: bool, x: str, name: str) -> str:
        forms = {**self.forms(x), **self.forms(name)} if name != x else self.forms(x)
        if rng.random() < CORRECTION_RATE:
            forms = _corrected(forms, self.forms(self.any_x(rng)), CORRECTIONS.say(rng, held_out))
        while True:
            template = self.template(rng, held_out)
            try:
                return formatted(template, forms)
            except KeyError:
                continue

    def template(self, rng: Random, held_out: bool) -> str:
        """A sentence with placeholders; if held_out, one of its frames is never trained on."""
        if self.phrases is not None and rng.random() < 0.6:
            frame_is_new = held_out and rng.random() < 0.5
            frame = PHRASES.say(rng, frame_is_new)
            phrase = self.phrases.say(rng, held_out and not frame_is_new)
            is_new = frame_is_new or not held_out or bool(self.phrases.held_out)
            sentence = frame.replace("{np}", phrase)
            if is_new:
                return sentence
        return question(self.questions, rng, held_out)


def question(questions: Grammar, rng: Random, held_out: bool) -> str:
    """A direct question, or the indirect form of one inside another sentence."""
    inside = rng.random() < 0.4
    frame_is_new = held_out and (not questions.held_out or (inside and rng.random() < 0.5))
    direct, _, indirect = questions.say(rng, held_out and not frame_is_new).partition(" => ")
    if frame_is_new:
        while not indirect:
            direct, _, indirect = questions.say(rng).partition(" => ")
        inside = True
    if indirect and inside:
        return INDIRECT.say(rng, frame_is_new).replace("{i}", indirect)
    return direct


def enumeration(names: list[str], rng: Random) -> str:
    """Names as a list in a sentence."""
    last = rng.choice((" and ", " and ", " and ", " & ", ", ", ", and ", " and also "))
    return ", ".join(names[:-1]) + last + names[-1]


def _corrected(forms: Mapping[str, str], other: Mapping[str, str], template: str) -> dict[str, str]:
    """The names of an x after those of another, which the speaker corrects; names that x lacks are omitted."""
    corrected = {}
    for key, text in forms.items():
        if key not in NAME_FORMS or other.get(key) == text:
            corrected[key] = text
        elif key in other:
            corrected[key] = template.format(x=text, z=other[key])
    return corrected


def formatted(template: str, forms: Mapping[str, str]) -> str:
    text = with_articles(template.format(**forms))
    text = re.sub(r"[,\s]+([,?.!:)])", r"\1", text)
    return text[:1].upper() + text[1:]
