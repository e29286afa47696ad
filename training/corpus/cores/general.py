"""General knowledge: facts of their own, and languages and currencies of countries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.countries import country_forms, no_country
from training.corpus.cores.relation import Relation, grammar, question
from training.corpus.tables.countries import CAPITALS, OTHER_NAMES
from training.corpus.tables.general import CURRENCIES, FACTS, LANGUAGES
from training.corpus.tables.knowledge import WORDINGS
from training.corpus.wording.grammar import Grammar
from training.corpus.wording.sentence_frames import PHRASES

KIND = "general knowledge"


@dataclass
class Fact:
    """One answer, the noun phrases that stand for it, and the questions that ask for it."""

    answer: str
    phrases: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    def grammars(self) -> tuple[Grammar | None, Grammar | None]:
        return (
            grammar("\n".join(self.phrases)) if self.phrases else None,
            grammar("\n".join(self.questions)) if self.questions else None,
        )


def _read(text: str) -> list[Fact]:
    """The facts of a text; an answer that stands there again adds wordings to its fact."""
    facts: dict[str, Fact] = {}
    answer = ""
    for line in text.strip().splitlines():
        if line.startswith("- "):
            facts[answer].phrases.append(line.removeprefix("- "))
        elif line.startswith("? "):
            facts[answer].questions.append(line.removeprefix("? "))
        else:
            answer = line
            facts.setdefault(answer, Fact(answer))
    return list(facts.values())


_WORDED = {fact.answer: fact.grammars() for fact in _read(FACTS.rstrip() + WORDINGS)}
_NAMED_FACTS = tuple((answer, phrases) for answer, (phrases, _) in _WORDED.items() if phrases is not None)


def named_fact(rng: Random) -> Core:
    """A noun phrase that stands for a fact, and the fact."""
    answer, phrases = rng.choice(_NAMED_FACTS)
    return Core(KIND, phrases.say(rng), answer)


def fact(rng: Random, held_out: bool = False) -> Core:
    return question_of(rng.choice(list(_WORDED)), rng, held_out)


def question_of(answer: str, rng: Random, held_out: bool = False) -> Core:
    """A question that has this answer, which must be that of a fact."""
    phrases, questions = _WORDED[answer]
    if phrases is not None and (questions is None or rng.random() < 0.5):
        text = PHRASES.say(rng, held_out).replace("{np}", phrases.say(rng))
    else:
        assert questions is not None
        text = question(questions, rng, held_out)
    names = tuple(word for word in text.split() if word[:1].isupper() and not text.startswith(word))
    return Core(KIND, text[:1].upper() + text[1:], answer, names)


def _other_country(rng: Random, known: Mapping[str, str]) -> str:
    if rng.random() < 0.5:
        return no_country(rng)
    return rng.choice([country for country in CAPITALS if country not in known])


LANGUAGE_OF = Relation(
    KIND,
    LANGUAGES,
    "{y} is spoken in {x}.",
    grammar(
        """
        [What|Which] language [is spoken|do people speak|do they speak] in {x}? => what language is spoken in {x}
        [What|Which] language do the people [of|in|from] {x} speak? => [what|which] language the people of {x} speak
        [What|Which] language does {x} [speak|have|use]? => [what|which] language {x} [speaks|has|uses]
        What [is spoken|do they speak|do people speak|is the language] in {x}? => what is spoken in {x}
        {bare} language[?|]
        language of {x}[?|]
        In {x} [they|people] speak[...|?| what?| which language?| ___]
        I [go|am going|travel|move] to {x}. [What|Which] language [do I need|should I learn|is spoken there]?
        {x}: [what|which] language[?| is spoken there?]
        [What|Which] language [would|will|can] I [hear|need|have to speak|speak] in {x}? => which language I need in {x}
        [What|Which] language [is it|do they use|do the locals use|is official] in {x}? => which language they use in \
        {x}
        [People|Folks|They|Children] in {x} [talk in|speak|use|learn] [which|what] language?
        [My|Our] [friend|pen pal|boss] [comes from|lives in] {x}. [What|Which] language [is that|does one speak there]?
        In [what|which] language do [they|people] [talk|greet each other] in {x}? => in what language they talk in {x}
        * How do people in {x} talk, in [which|what] language?
        * In [which|what] [tongue|language] do I order a coffee in {x}?
        """
    ),
    grammar(
        """
        the language [of|in|spoken in] {x}
        the [main|official|national] language [of|in] {x}
        {x}'s language
        * the tongue people speak in {x}
        """
    ),
    pronoun=grammar("What language is spoken there?\nAnd the language?\n* Which language do they speak there?"),
    topic="country",
    forms=country_forms,
    stranger=lambda rng: _other_country(rng, LANGUAGES),
    other_names=OTHER_NAMES,
)
CURRENCY_OF = Relation(
    KIND,
    CURRENCIES,
    "The {y} is used in {x}.",
    grammar(
        """
        [What|Which] [currency|money] is used in {x}? => [what|which] currency is used in {x}
        [What|Which] [currency|money] do [people|they] [use|pay with] in {x}? => [what|which] currency they use in {x}
        [What|Which] [currency|money] does {x} [use|have]? => [what|which] currency {x} [uses|has]
        [What|How] do [people|they|you] pay [with|] in {x}? => what people pay with in {x}
        {bare} [currency|money][?|]
        currency of {x}[?|]
        In {x} [they|people] pay with[...|?| what?| which currency?| ___]
        I [go|am going|travel] to {x}. [What|Which] [currency|money] do I need?
        {x}: [what|which] currency[?| is used there?]
        [What|Which] [money|currency] [would|will|should|must] I [need|take|have|bring] [in|for] {x}? => which money \
        I need in {x}
        [What|Which] [money|currency] [do shops take|is accepted|is official|do the people have] in {x}? => which \
        money shops take in {x}
        [People|Folks|They|Shops] in {x} [use|take|pay in] [which|what] [money|currency]?
        [My|Our] [holiday|trip] is in {x}. [What|Which] [money|currency] do [I|we] [need|change into|take along]?
        * With [which|what] [coins|money] do I buy bread in {x}?
        * In [which|what] currency are prices in {x}?
        """
    ),
    grammar(
        """
        the currency [of|in|used in] {x}
        the [official|national] currency [of|in] {x}
        the money [of|used in] {x}
        {x}'s currency
        * the coin of {x}
        """
    ),
    pronoun=grammar("What currency is used there?\nAnd the currency?\n* Which money do they use there?"),
    topic="country",
    forms=country_forms,
    stranger=lambda rng: _other_country(rng, CURRENCIES),
    other_names=OTHER_NAMES,
)
RELATIONS = (LANGUAGE_OF, CURRENCY_OF)
